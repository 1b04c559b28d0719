"""What keeps the package easy to walk through: small modules, small folders, imports that flow one way, one name for one thing."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eyeline"
MODULES = sorted(PACKAGE.rglob("*.py"))
OLD_NAME = "sight" + "line"
#: Files that may name the package as it was called before: they read its files, test that, or tell the history.
MAY_NAME_THE_OLD = {"CHANGELOG.md"}
#: Words that say nothing about the thing that they name.
VAGUE_WORDS = {"one", "made", "place", "places", "found", "said", "told", "asked", "sound", "mine", "begun_with", "hand_on", "nowhere"}


def test_no_module_is_longer_than_300_lines():
    """Tests and scripts too: what is read at once is kept short."""
    modules = [*MODULES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").glob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in modules}
    assert {path: length for path, length in lengths.items() if length > 300} == {}


def test_no_folder_has_more_than_15_modules():
    """Tests and scripts too."""
    modules = [*MODULES, *(path for folder in ("tests", "scripts", "benchmarks") for path in (ROOT / folder).rglob("*.py"))]
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in modules if path.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > 15} == {}


def test_no_folder_of_the_front_end_has_more_than_15_modules():
    """Tests stand beside the modules that they test, and are not counted."""
    modules = [path for path in (ROOT / "frontend" / "src").rglob("*.ts") if not path.name.endswith((".test.ts", ".d.ts"))]
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in modules)
    assert len(modules) > 80
    assert {folder: count for folder, count in counts.items() if count > 15} == {}


def test_no_modules_import_each_other_in_a_circle():
    """Imports inside functions count, and those for the type checker alone: a reader follows them too."""
    graph = grimp.build_graph("eyeline", cache_dir=None)
    edges = {module: sorted(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    assert circles(edges) == []


def test_a_circle_would_be_seen():
    assert circles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}) == [["a", "b", "c"]]
    assert circles({"a": ["b"], "b": ["c"], "c": [], "d": ["a"]}) == []


def circles(edges: dict[str, list[str]]) -> list[list[str]]:
    """Groups of modules in which each imports every other, directly or through further modules."""
    reach = {module: reachable(module, edges) for module in edges}
    groups = {tuple(sorted(other for other in reach[module] if module in reach[other])) for module in edges if module in reach[module]}
    return sorted(map(list, groups))


def reachable(module: str, edges: dict[str, list[str]]) -> set[str]:
    """All modules that this one leads to; itself only if a circle leads back."""
    seen: set[str] = set()
    waiting = list(edges[module])
    while waiting:
        following = waiting.pop()
        if following not in seen:
            seen.add(following)
            waiting.extend(edges[following])
    return seen


def test_no_class_name_stands_for_two_classes():
    indices: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                indices.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in indices.items() if len(paths) > 1} == {}


def test_the_old_name_is_left_only_where_its_files_are_read():
    done = subprocess.run(["git", "grep", "-ilI", OLD_NAME], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    if done.returncode > 1:
        pytest.skip(f"not a clone: {done.stderr.strip()}")
    paths = {path for path in done.stdout.splitlines() if path not in MAY_NAME_THE_OLD}
    others = {path for path in paths if "old_name" not in path and f"written_by_{OLD_NAME}" not in path}
    assert others == set()


def test_the_label_of_a_head_is_written_in_one_place():
    written = [f"{path.relative_to(PACKAGE)}" for path in MODULES if "·H{" in path.read_text(encoding="utf-8") and path.name != "heads.py"]
    assert written == []


def test_no_identifier_is_a_vague_word():
    """Names say what a thing is: `index`, `results`, `message`, `path` … In tests, benchmarks and scripts too."""
    vague = {}
    for path in [*MODULES, *(path for folder in ("tests", "benchmarks", "scripts") for path in (ROOT / folder).rglob("*.py"))]:
        names = identifiers(ast.parse(path.read_text(encoding="utf-8"))) & VAGUE_WORDS
        if names:
            vague[str(path.relative_to(ROOT))] = names
    assert vague == {}


def test_no_identifier_of_the_front_end_is_a_vague_word():
    """Only what is declared counts: variables, functions, classes, parameters and fields. Words in comments and strings are free."""
    vague = {}
    for path in sorted((ROOT / "frontend" / "src").rglob("*.ts")):
        names = declared_in_typescript(path.read_text(encoding="utf-8")) & VAGUE_WORDS
        if names:
            vague[str(path.relative_to(ROOT))] = names
    assert vague == {}


def test_a_vague_word_of_the_front_end_would_be_seen():
    source = "const found = 1; for (const one of list) private asked = 0;\nfunction told(mine: number, said?: T) {}\nmap((place) => 1);"
    assert declared_in_typescript(source) & VAGUE_WORDS == {"found", "one", "asked", "told", "mine", "said", "place"}
    assert declared_in_typescript('// told: one\nconst x = { text: "made: one" };') & VAGUE_WORDS == set()


def declared_in_typescript(source: str) -> set[str]:
    """The names that TypeScript declares: after a keyword, before a type, as the parameter of an arrow function."""
    bare = re.sub(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|`[^`]*`", "", source, flags=re.DOTALL)
    keyword = r"\b(?:const|let|var|function|class|interface|type|private|readonly|public|static)\s+(\w+)"
    names = re.findall(keyword, bare) + re.findall(r"(\w+)\??:", bare) + re.findall(r"[(,]\s*(\w+)(?=[^()]*\)\s*=>)", bare)
    return {name.lower() for name in names}


def test_a_vague_word_would_be_seen():
    source = "import os as found\ndef told(one, *, mine=1):\n    [said for said in one]\n    self.places = lambda asked: 0\n"
    assert identifiers(ast.parse(source)) & VAGUE_WORDS == {"found", "told", "one", "mine", "said", "places", "asked"}


def identifiers(tree: ast.AST) -> set[str]:
    """Every name that a module gives to something: variables, parameters, functions, classes, attributes, imports under another name."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(asname=str(name)):
                names.add(name)
    return {name.strip("_").lower() for name in names}


def test_hosts_compute_nothing():
    """What needs NumPy or torch is computed in a folder of a lower layer, where it can be tested without a command or a page."""
    imported = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in (PACKAGE / "hosts").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imported_packages(node)
        if name in {"numpy", "torch", "scipy", "sklearn", "pandas"}
    }
    assert imported == set()


def imported_packages(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name.split(".")[0] for alias in names]
        case ast.ImportFrom(module=str(module), level=0):
            return [module.split(".")[0]]
    return []


def test_every_public_class_and_function_says_what_it_is():
    """Hosts are left out: what they define is a command or a page, which has its own help."""
    without = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path in MODULES
        if "hosts" not in path.relative_to(PACKAGE).parts
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert without == []
