"""What keeps the package easy to read: imports that flow one way, one name for one thing, names that say what a thing is."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eyeline"
MODULES = sorted(PACKAGE.rglob("*.py"))


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


def test_no_top_level_name_is_assigned_twice():
    """A second constant or function of the same name would silently replace the first. Overloads and branches of `if` and `try` may."""
    twice = {}
    for path in MODULES:
        names = Counter(top_level_names(ast.parse(path.read_text(encoding="utf-8"))))
        if several := [name for name, count in names.items() if count > 1]:
            twice[str(path.relative_to(PACKAGE))] = several
    assert twice == {}


def test_a_second_assignment_would_be_seen():
    assert Counter(top_level_names(ast.parse("A, B = 1, 2\ndef f(): pass\nA = 3\nclass f: pass")))["A"] == 2
    assert Counter(top_level_names(ast.parse("def f(): pass\nclass f: pass")))["f"] == 2


def top_level_names(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name, decorator_list=decorators) | ast.ClassDef(name=name, decorator_list=decorators):
                names += [] if any(isinstance(each, ast.Name) and each.id == "overload" for each in decorators) else [name]
            case ast.Assign(targets=targets):
                names += [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
    return names


def test_the_label_of_a_head_is_written_in_one_place():
    written = [f"{path.relative_to(PACKAGE)}" for path in MODULES if "·H{" in path.read_text(encoding="utf-8") and path.name != "heads.py"]
    assert written == []


def test_code_of_eyeline_hands_no_model_out():
    """`model.hf`, `model.tokenizer` and `model.passes` are for users: from then on, nobody can know what is changed in a model."""
    handed = re.compile(r"\b\w*(?:model|loaded|opened)(?:_named\(\w+\))?\.(?:hf|tokenizer|passes)\b(?!\.save_pretrained)")
    handing_out = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        code = re.sub(r'"(?:[^"\\\n]|\\.)*"|`[^`\n]*`', "", path.read_text(encoding="utf-8"))
        if match := handed.search(code):
            handing_out[str(path.relative_to(ROOT))] = match[0]
    assert handing_out == {}


def test_show_computes_nothing():
    """What needs NumPy or torch is computed in a folder of a lower layer, where it can be tested without a command or a page."""
    imported = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in (PACKAGE / "show").rglob("*.py")
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
    """`show` is left out: what it defines is a command or a page, which has its own help."""
    without = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path in MODULES
        if "show" not in path.relative_to(PACKAGE).parts
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert without == []
