"""Writes what follows from src/eyeline/views/state_schema.json: the types of the front end and the table of docs/view-format.md.

python scripts/state_schema.py            (tests/views/test_state_schema.py fails while they differ)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "src/eyeline/views/state_schema.json"
TYPESCRIPT = ROOT / "frontend/src/core/state/state-schema.ts"
DOCUMENT = ROOT / "docs/view-format.md"
BEGIN, END = "<!-- state: begin -->", "<!-- state: end -->"
TYPES = {
    "index": "number",
    "index or null": "number | null",
    "indices": "number[]",
    "switch": "boolean",
    "number": "number",
    "text": "string",
}
VALUES = {"index": "index in {counts}", "index or null": "index in {counts}, or null", "indices": "list of indices in {counts}"}


def rows() -> list[dict[str, Any]]:
    return list(json.loads(SCHEMA.read_text(encoding="utf-8")))


def type_of(row: dict[str, Any]) -> str:
    if row["type"] == "choice":
        return " | ".join(json.dumps(choice) for choice in row["choices"])
    if row["type"] == "parts":
        return f"{{ {'; '.join(f'{name}: number' for name in row['parts'])} }}"
    return TYPES[row["type"]]


def typescript() -> str:
    """The state's type, its choices and its bounds."""
    table = rows()
    fields = [f"  /** {row['meaning'][0].upper()}{row['meaning'][1:]}. */\n  {row['key']}: {type_of(row)};" for row in table]
    choices = [f"  {row['key']}: {json.dumps(row['choices'])}," for row in table if row["type"] == "choice"]
    nullable = [row["key"] for row in table if row["type"] == "index or null"]
    bounds = [f"  {row['key']}: [{row['low']}, {row['high']}]," for row in table if row["type"] == "number"]
    for row in table:
        bounds += [f"  {row['key']}_{name}: [{low}, {high}]," for name, (low, high) in row.get("parts", {}).items()]
    every = [row["key"] for row in table if row["type"] == "indices" and row["default"] == "all"]  # depend on the view
    defaults = [f"  {row['key']}: {literal(row['default'])}," for row in table if row["key"] not in every]
    lines = [
        "// Written by scripts/state_schema.py from src/eyeline/views/state_schema.json: change that file, and run the script.",
        "",
        "export interface State {",
        *fields,
        "}",
        "",
        "export const CHOICES: { [K in keyof State]?: readonly State[K][] } = {",
        *choices,
        "};",
        "",
        f"export const NULLABLE: readonly (keyof State)[] = {json.dumps(nullable)};",
        "",
        "/** The lowest and the highest value of each number. */",
        "export const BOUNDS = {",
        *bounds,
        "} as const;",
        "",
        "/** Without the lists that begin as all there are. */",
        f"export const defaultValues = (): Omit<State, {' | '.join(map(json.dumps, every))}> => ({{",
        *defaults,
        "});",
    ]
    return "\n".join(lines) + "\n"


def literal(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name}: {item}' for name, item in value.items())} }}"
    return json.dumps(value)


def documented() -> str:
    """The table of docs/view-format.md."""
    lines = ["| key | values (default first) | views | meaning |", "|---|---|---|---|"]
    for row in rows():
        views = "all" if len(row["views"]) == 4 else ", ".join(row["views"])
        lines.append(f"| `{row['key']}` | {values_of(row)} | {views} | {row['meaning']} |")
    return "\n".join(lines)


def values_of(row: dict[str, Any]) -> str:
    if row["type"] == "choice":
        return ", ".join(f'`"{choice}"`' for choice in sorted(row["choices"], key=lambda choice: choice != row["default"]))
    if row["type"] == "number":
        return f"{row['default']}; from {row['low']} to {row['high']}"
    if row["type"] == "parts":
        return f"`{literal(row['default'])}`"
    if row["type"] == "switch":
        return "false, true"
    if row["type"] == "text":
        return '`""`'
    default = row["default"] if row["default"] == "all" else json.dumps(row["default"])
    return f"{default}; {VALUES[row['type']].format(counts=row['counts'])}"


def document() -> str:
    """docs/view-format.md with the table as the schema says it."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{documented()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    TYPESCRIPT.write_text(typescript(), encoding="utf-8")
    DOCUMENT.write_text(document(), encoding="utf-8")
