// Written by scripts/generate.py from src/eyeline/look/palette.py: change that file, and run the script.

export interface PageColours {
  ground: string;
  text: string;
  muted: string;
  faint: string;
  hairline: string;
  accent: string;
  mark: string;
  query: string;
  key: string;
  link: string;
  pair: string;
  negative: string;
  positive: string;
}

export const LIGHT_PAGE: PageColours = {
  ground: "#ffffff",
  text: "#1a1d23",
  muted: "#5b6472",
  faint: "#f3f5f8",
  hairline: "#d9dde3",
  accent: "#2563eb",
  mark: "#fde68a",
  query: "#2563eb",
  key: "#ea580c",
  link: "#475063",
  pair: "#d00000",
  negative: "#2563eb",
  positive: "#ea580c",
};

export const DARK_PAGE: PageColours = {
  ground: "#0f1115",
  text: "#e6e8ec",
  muted: "#9aa3b0",
  faint: "#191d24",
  hairline: "#2a2f37",
  accent: "#6b9bff",
  mark: "#6b4e00",
  query: "#6b9bff",
  key: "#fb8a4c",
  link: "#c3cad6",
  pair: "#ff5f57",
  negative: "#6b9bff",
  positive: "#fb8a4c",
};

export const HEAD_COLOURS = [
  "#9640ff",
  "#e90000",
  "#0b9bd3",
  "#bc164e",
  "#2c6fbc",
  "#a6906f",
  "#0b1664",
  "#e96f21",
  "#7a859b",
  "#c864ff",
  "#b137a6",
  "#de64c8",
  "#907a64",
  "#3716d3",
  "#7a6f00",
  "#f4379b",
  "#006f4e",
  "#7a64de",
  "#9b647a",
  "#4ea62c",
  "#a6376f",
  "#8500f4",
  "#d32c43",
  "#6485e9",
  "#b16f85",
  "#d300bc",
  "#64642c",
  "#c80090",
  "#9085bc",
  "#9b21a6",
  "#d35964",
  "#a64ec8",
  "#d37a59",
  "#9b5964",
  "#439b37",
  "#f44eb1",
  "#4e854e",
  "#9064f4",
  "#1664b1",
  "#850b2c",
  "#003785",
  "#8543e9",
  "#a62100",
  "#7a85ff",
  "#217ac8",
  "#c8649b",
  "#de6400",
  "#e94ede",
];

export const PART_COLOURS = [
  "#8a93a3",
  "#475569",
  "#9333ea",
  "#0e7fc0",
  "#c2570c",
  "#be123c",
  "#4d7c0f",
  "#0f766e",
  "#a21caf",
  "#1d4ed8",
  "#92740c",
  "#7c2d12",
];

export const VIRIDIS = [
  "#440154",
  "#482878",
  "#3e4989",
  "#31688e",
  "#26828e",
  "#1f9e89",
  "#35b779",
  "#6ece58",
  "#b5de2b",
  "#fde725",
];

export const ATTENTION = [
  "#ffffff",
  "#dbe7fd",
  "#a9c6fa",
  "#6f9df3",
  "#2f67e3",
  "#1d40a8",
  "#10225f",
];

export const ATTENTION_DARK = [
  "#0f1115",
  "#14264d",
  "#1d3f8f",
  "#2f66d8",
  "#6f9df3",
  "#b5cffb",
  "#f2f6ff",
];

export const VIRIDIS_ON_WHITE = [0.0, 0.59] as const;

export const VIRIDIS_ON_BLACK = [0.33, 1.0] as const;

export const ROLE_COLOURS = {
  neighbours: { previous: "#0a4a45", next: "#0f766c", self: "#2f9e44", both_neighbours: "#2aa198" },
  grammar: { subject: "#4c1d95", object: "#7c22ce", noun_phrase: "#a45cf0", dependency: "#9a86c9" },
  reference: { antecedent: "#be123c" },
  induction: { induction: "#d45f0a" },
  special: { cls: "#877a1e", sep: "#5b4228", punctuation: "#a98a70" },
  broad: { broad: "#3b82c4" },
} as const;
