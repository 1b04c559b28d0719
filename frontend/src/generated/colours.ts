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
  "#ba6412",
  "#07c7c6",
  "#117068",
  "#a79bff",
  "#6f8a5c",
  "#5b8eb2",
  "#a7ba04",
  "#b0042a",
  "#e08995",
  "#ea2695",
  "#a00095",
  "#9e79f3",
  "#6d18c2",
  "#b69231",
  "#49aace",
  "#e7aa79",
  "#616dc2",
  "#ce0079",
  "#9eb6f3",
  "#799e6d",
  "#920ce7",
  "#f355b6",
  "#245518",
  "#b649db",
  "#aa5500",
  "#6d6d86",
  "#ceaaaa",
  "#b63daa",
  "#92aa61",
  "#c261db",
  "#db5549",
  "#ce7992",
  "#79c261",
  "#aa61ff",
  "#55863d",
  "#559eb6",
  "#ce86e7",
  "#867992",
  "#aaaa31",
  "#aa8600",
  "#92556d",
  "#aa86ff",
  "#ff92e7",
  "#8624aa",
  "#aa6d79",
  "#49316d",
  "#f361ce",
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

export const ROLE_COLOURS = {
  neighbours: { previous: "#0a4a45", next: "#0f766c", self: "#2f9e44", both_neighbours: "#2aa198" },
  grammar: { subject: "#4c1d95", object: "#7c22ce", noun_phrase: "#a45cf0", dependency: "#9a86c9" },
  reference: { antecedent: "#be123c" },
  induction: { induction: "#d45f0a" },
  special: { cls: "#877a1e", sep: "#5b4228", punctuation: "#a98a70" },
  broad: { broad: "#3b82c4" },
} as const;
