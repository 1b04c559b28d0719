"""Writes what the front end and the documentation take from Python: one place for each fact, its copies are generated.

    words/en/view.toml              → frontend/src/generated/labels.ts
    heads.py                        → frontend/src/generated/heads.ts
    look/palette.py                 → frontend/src/generated/colours.ts; colours.json: what its functions answer, for the front end's test
    look/views/state_schema.json    → frontend/src/generated/state.ts, look/views/options.py, the table of docs/view-format.md
    measure/*/options.py            → the keyword arguments of `el.space` and the like, and what their docstrings say of them

python scripts/generate.py          (make generated; tests/test_generated.py fails while a file differs)
"""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import asdict
from keyword import iskeyword
from pathlib import Path
from typing import Any

from eyeline.heads import FORM, PATTERN_OF_PAGES
from eyeline.kinds import VIEWS
from eyeline.look.palette import (
    ATTENTION,
    ATTENTION_DARK,
    DARK_PAGE,
    HEAD_COLOURS,
    LIGHT_PAGE,
    PART_COLOURS,
    ROLE_COLOURS,
    VIRIDIS,
    VIRIDIS_ON_BLACK,
    VIRIDIS_ON_WHITE,
    attention_colour,
    head_colour,
    layer_colour,
    part_colour,
)
from eyeline.look.views.state import SCHEMA
from eyeline.measure.causes.options import AttributeOptions, CausesOptions, CircuitOptions
from eyeline.measure.compare.options import CompareOptions
from eyeline.measure.coreference.options import CoreferenceOptions
from eyeline.measure.grammar.options import SyntaxOptions
from eyeline.measure.heads.options import GalleryOptions
from eyeline.measure.probes.options import ProbeOptions
from eyeline.measure.runs.options import Options, descriptions, signature_lines
from eyeline.measure.space.options import SpaceOptions
from eyeline.measure.statistics.options import AnalyseOptions
from eyeline.words import Words

ROOT = Path(__file__).resolve().parents[1]
SCHEMA_FILE = "look/views/state_schema.json"
DOCUMENT = "docs/view-format.md"
#: Positional arguments of analyses, as docstrings name them, and the longest line.
ARGUMENTS = ("model", "first", "second", "corpus", "statistics", "treebank", "documents", "clean", "corrupt")
WIDTH = 140
BEGIN, END = "<!-- state: begin -->", "<!-- state: end -->"


def generated() -> dict[str, str]:
    """The text of each generated file, by its path in the repository."""
    return {
        "frontend/src/generated/labels.ts": labels(),
        "frontend/src/generated/heads.ts": heads(),
        "frontend/src/generated/colours.ts": colours(),
        "frontend/src/generated/colours.json": answers_of_the_palette(),
        "frontend/src/generated/state.ts": state(),
        "src/eyeline/look/views/options.py": options(),
        DOCUMENT: document(),
        **{path: with_options(path, function, record) for path, (function, record) in ANALYSES.items()},
    }


def marked(source: str, lines: list[str]) -> str:
    """A TypeScript file that says where it comes from."""
    return "\n".join([f"// {note(source)}", "", *lines]) + "\n"


def note(source: str) -> str:
    return f"Written by scripts/generate.py from src/eyeline/{source}: change that file, and run the script."


# ---- The words of the views


def labels() -> str:
    """The English words; a page in another language brings its own."""
    words = [f"  {key}: {json.dumps(text, ensure_ascii=False)}," for key, text in Words("en").part("view").items()]
    return marked("words/en/view.toml", ["export const ENGLISH = {", *words, "} as const;"])


# ---- The name of a head


def heads() -> str:
    """How a head is printed and read."""
    lines = [
        "export interface HeadRef {",
        "  stack: string;",
        "  layer: number;",
        "  head: number;",
        "}",
        "",
        "/** The label of a head, with its stack before it where there is one. */",
        'export const headName = (layer: number, head: number, stack = ""): string =>',
        f"  `${{stack && `${{stack}} `}}{FORM.replace('{', '${')}`;",
        "",
        f"const LABEL = /^{PATTERN_OF_PAGES}$/;",
        "",
        "/** The head that a label names; null where it is no label of a head. */",
        "export function readHead(label: string): HeadRef | null {",
        "  const parts = LABEL.exec(label)?.groups;",
        '  return parts ? { stack: parts.stack ?? "", layer: Number(parts.layer), head: Number(parts.head) } : null;',
        "}",
    ]
    return marked("heads.py", lines)


# ---- The palette


def colours() -> str:
    """The tables of the palette: pages, heads, layers, attention, roles."""
    lines = ["export interface PageColours {", *(f"  {name}: string;" for name in asdict(LIGHT_PAGE)), "}"]
    for name, page in {"LIGHT_PAGE": LIGHT_PAGE, "DARK_PAGE": DARK_PAGE}.items():
        lines += ["", f"export const {name}: PageColours = {{", *(f'  {key}: "{colour}",' for key, colour in asdict(page).items()), "};"]
    for name, table in {
        "HEAD_COLOURS": HEAD_COLOURS,
        "PART_COLOURS": PART_COLOURS,
        "VIRIDIS": VIRIDIS,
        "ATTENTION": ATTENTION,
        "ATTENTION_DARK": ATTENTION_DARK,
    }.items():
        lines += ["", f"export const {name} = [", *(f'  "{colour}",' for colour in table), "];"]
    for name, ends in {"VIRIDIS_ON_WHITE": VIRIDIS_ON_WHITE, "VIRIDIS_ON_BLACK": VIRIDIS_ON_BLACK}.items():
        lines += ["", f"export const {name} = [{ends[0]}, {ends[1]}] as const;"]
    lines += ["", "export const ROLE_COLOURS = {"]
    for family, shades in ROLE_COLOURS.items():
        lines.append(f"  {family}: {{ {', '.join(f'{role}: {json.dumps(colour)}' for role, colour in shades.items())} }},")
    return marked("look/palette.py", [*lines, "} as const;"])


def answers_of_the_palette() -> str:
    """What Python's functions give 128 heads, 12 layers and 256 weights on both pages; the front end's functions give the same."""
    dark_pages = {"light": False, "dark": True}
    heads = {theme: [head_colour(head, dark=dark) for head in range(128)] for theme, dark in dark_pages.items()}
    layers = {theme: [layer_colour(layer, 12, dark=dark) for layer in range(12)] for theme, dark in dark_pages.items()}
    weights = {theme: [attention_colour(step / 255, dark=dark) for step in range(256)] for theme, dark in dark_pages.items()}
    parts = {theme: [part_colour(part, dark=dark) for part in range(30)] for theme, dark in dark_pages.items()}
    return json.dumps({"heads": heads, "parts": parts, "layers": layers, "weights": weights}, indent=1) + "\n"


# ---- The state of a view


TYPES = {
    "index": "number",
    "index or null": "number | null",
    "indices": "number[]",
    "switch": "boolean",
    "number": "number",
    "text": "string",
}
VALUES = {"index": "index in {counts}", "index or null": "index in {counts}, or null", "indices": "list of indices in {counts}"}


def type_of(row: dict[str, Any]) -> str:
    if row["type"] == "choice":
        return " | ".join(json.dumps(choice) for choice in row["choices"])
    if row["type"] == "parts":
        return f"{{ {'; '.join(f'{name}: number' for name in row['parts'])} }}"
    return TYPES[row["type"]]


def state() -> str:
    """The state's type, its choices and its bounds."""
    fields = [f"  /** {row['meaning'][0].upper()}{row['meaning'][1:]}. */\n  {row['key']}: {type_of(row)};" for row in SCHEMA]
    choices = [f"  {row['key']}: {json.dumps(row['choices'])}," for row in SCHEMA if row["type"] == "choice"]
    nullable = [row["key"] for row in SCHEMA if row["type"] == "index or null"]
    bounds = [f"  {row['key']}: [{row['low']}, {row['high']}]," for row in SCHEMA if row["type"] == "number"]
    for row in SCHEMA:
        bounds += [f"  {row['key']}_{name}: [{low}, {high}]," for name, (low, high) in row.get("parts", {}).items()]
    every = [row["key"] for row in SCHEMA if row["type"] == "indices" and row["default"] == "all"]  # depend on the view
    defaults = [f"  {row['key']}: {literal(row['default'])}," for row in SCHEMA if row["key"] not in every]
    lines = [
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
    return marked(SCHEMA_FILE, lines)


#: Types of options in Python. The indices are those of a list; a single number is a list with one entry.
PYTHON = {
    "index": "int",
    "index or null": "int | None",
    "indices": "Sequence[int] | int",
    "switch": "bool",
    "number": "float",
    "text": "str",
}
#: Parameters of their own in the functions that create views.
PARAMETERS = {"stack", "layer", "heads"}


def options() -> str:
    """The types of the options of each view, and of a state."""
    lines = [
        '"""The options of each view: the keywords of `head_view(trace, theme="dark")`. docs/view-format.md says what each does.',
        "",
        note(SCHEMA_FILE),
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Sequence",
        "from typing import Literal, TypedDict",
        "",
        "from eyeline.text.named_pairs import PairsGiven",
    ]
    for row in SCHEMA:
        if row["type"] == "parts":
            lines += record(row["key"].title(), f"Parts of `{row['key']}`", [f"{name}: float" for name in row["parts"]])
    types = {row["key"]: python_type(row) for row in SCHEMA}
    lines += ["", "", "#: A keyword of Python cannot be a field of a class."]
    bases = {key.title(): {key} for key in types if iskeyword(key)}
    lines += [f'{base} = TypedDict("{base}", {{"{key}": {types[key]}}}, total=False)' for base, (key,) in bases.items()]
    classes = {
        f"{view.title()}ViewOptions": (f"Options of `{view}_view`", {row["key"] for row in SCHEMA if view in row["views"]} - PARAMETERS)
        for view in VIEWS
    }
    classes["StateOptions"] = ("Every key of a state, as `view.starting(…)` and `view.update(…)` take them", set(types))
    for name, (meaning, keys) in classes.items():
        base = max((base for base in bases if bases[base] <= keys), key=lambda base: len(bases[base]), default="TypedDict")
        own = keys - bases.get(base, set())
        lines += record(name, meaning, [f"{key}: {of}" for key, of in types.items() if key in own], base)
        bases[name] = keys
    return "\n".join(lines) + "\n"


def record(name: str, meaning: str, fields: list[str], base: str = "TypedDict") -> list[str]:
    return [
        "",
        "",
        f"class {name}({base}, total=False):",
        f'    """{meaning}."""',
        *([""] if fields else []),
        *(f"    {field}" for field in fields),
    ]


def python_type(row: dict[str, Any]) -> str:
    if row["type"] == "choice":
        return f"Literal[{', '.join(map(json.dumps, row['choices']))}]"
    if row["type"] == "parts":
        return str(row["key"].title())
    return str(row.get("python") or PYTHON[row["type"]])


def literal(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name}: {item}' for name, item in value.items())} }}"
    return json.dumps(value)


def documented() -> str:
    """The table of docs/view-format.md."""
    lines = ["| key | values (default first) | views | meaning |", "|---|---|---|---|"]
    for row in SCHEMA:
        views = "all" if len(row["views"]) == len(VIEWS) else ", ".join(row["views"])
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
    text = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{documented()}\n{END}{rest.split(END)[1]}"


# ---- The options of analyses: their keyword arguments, and the lines of their docstrings


#: The file of each analysis, the function that users call, and the record of its options.
ANALYSES: dict[str, tuple[str, type[Options]]] = {
    "src/eyeline/measure/corpus/run.py": ("analyse", AnalyseOptions),
    "src/eyeline/measure/grammar/run.py": ("syntax", SyntaxOptions),
    "src/eyeline/measure/coreference/run.py": ("coreference", CoreferenceOptions),
    "src/eyeline/measure/probes/run.py": ("probe", ProbeOptions),
    "src/eyeline/measure/space/run.py": ("space", SpaceOptions),
    "src/eyeline/measure/compare/run.py": ("compare", CompareOptions),
    "src/eyeline/measure/causes/run.py": ("causes", CausesOptions),
    "src/eyeline/measure/causes/circuit.py": ("circuit", CircuitOptions),
    "src/eyeline/measure/causes/attribute.py": ("attribute", AttributeOptions),
    "src/eyeline/measure/gallery.py": ("measure_heads", GalleryOptions),
}

#: Keyword arguments that are no options: what is read, where it is computed and written, and what is told of it.
OTHERS = ("folder", "resume", "overwrite", "engine", "progress", "examples", "truncate")

ENTRY = re.compile(r"    (\w+(?:, \w+)*)  +(\S.*)")


def with_options(path: str, function: str, record: type[Options]) -> str:
    """The file of an analysis, with the keyword arguments and the docstring that the record of its options says."""
    text = (ROOT / path).read_text(encoding="utf-8")
    before, rest = text.split(f"\ndef {function}(\n", 1)
    positional, rest = rest.split("    *,\n", 1)
    keywords, rest = rest.split("\n) ->", 1)
    doc, rest = rest.split('\n    """\n', 1)
    return (
        f"{before}\ndef {function}(\n{positional}    *,\n{keywords_with(keywords, record)}\n) ->{docstring_with(doc, record)}\n"
        f'    """\n{rest}'
    )


def keywords_with(keywords: str, record: type[Options]) -> str:
    """The keyword arguments of a function: the options, between what stood before the first and after the last of them."""
    lines = [line.strip() for line in keywords.splitlines() if not line.strip().startswith("#")]
    is_option = [line.split(":")[0] not in OTHERS for line in lines]
    first = is_option.index(True)
    others = [line for line, of_record in zip(lines, is_option, strict=True) if not of_record]
    return "\n".join(f"    {line}" for line in (*others[:first], note_of(record), *signature_lines(record), *others[first:]))


def note_of(record: type[Options]) -> str:
    return f"# from {record.__name__}, as the docstring's lines on them: make generated"


def docstring_with(doc: str, record: type[Options]) -> str:
    """A docstring whose list of arguments says of each option what the record says; of others what it said before."""
    lines = doc.splitlines()
    starts = [number for number, line in enumerate(lines) if ENTRY.fullmatch(line)]
    begin = end = starts[0]
    entries: list[tuple[str, str]] = []
    while end < len(lines) and lines[end].strip() and (lines[end].startswith("     ") or ENTRY.fullmatch(lines[end])):
        if entry := ENTRY.fullmatch(lines[end]):
            entries.append((entry[1], entry[2]))
        else:
            entries[-1] = entries[-1][0], f"{entries[-1][1]} {lines[end].strip()}"
        end += 1
    about = descriptions(record)
    is_option = [not set(name.split(", ")) <= {*OTHERS, *ARGUMENTS} for name, _ in entries]
    first = is_option.index(True)
    others = [entry for entry, of_record in zip(entries, is_option, strict=True) if not of_record]
    every = [*others[:first], *about.items(), *others[first:]]
    column = 4 + max(len(name) for name, _ in every) + 2
    wrapped = [
        textwrap.fill(
            text, WIDTH, initial_indent=f"    {name}".ljust(column), subsequent_indent=" " * column, break_on_hyphens=False,
            break_long_words=False,
        )
        for name, text in every
    ]  # fmt: skip
    return "\n".join([*lines[:begin], *wrapped, *lines[end:]])


if __name__ == "__main__":
    for path, text in generated().items():
        (ROOT / path).write_text(text, encoding="utf-8")
