"""Links of a page, for the site: pages outside docs/ have a copy there, files of the repository that the site does not hold are named."""

from __future__ import annotations

import posixpath
import re

#: A page outside docs/ → its page in the site.
OUTSIDE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changes.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
#: The way back: a page of the site → its file in the repository.
SOURCES = {page: source for source, page in OUTSIDE.items()}
#: Readers of the site who follow a link to these want its first page.
READMES = {"README.md": "index.md", "README.ja.md": "ja/start.md", "README.ko.md": "ko/start.md"}
LINK = r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\]|!\[[^\]]*\]\([^)]*\))*)\]\(([^()\s]+)\)"
#: Code, which stays as it is, or a link, whose text may have code in it: whichever begins first.
CODE_OR_LINK = re.compile(rf"^```.*?^```$|`[^`\n]+`|{LINK}", re.DOTALL | re.MULTILINE)


def for_site(markdown: str, page: str) -> str:
    """The text of a page with links that hold in the site. page: its path there."""
    source = SOURCES.get(page, f"docs/{page}")
    return CODE_OR_LINK.sub(lambda match: match[0] if match[3] is None else _link(match, source, page), markdown)


def _link(link: re.Match[str], source: str, page: str) -> str:
    picture, text, target = link.groups()
    if re.match(r"https?:|#|mailto:|attachment:", target):
        return link[0]
    path, hash_, anchor = target.partition("#")
    return named(picture, text, posixpath.normpath(posixpath.join(posixpath.dirname(source), path)), hash_ + anchor, page)


def named(picture: str, text: str, path: str, anchor: str, page: str) -> str:
    """A link to a file of the repository, from a page of the site.

    >>> named("", "how", "docs/app.md", "", "how-to/space.md")
    '[how](../app.md)'
    >>> named("", "the lesson", "notebooks/lesson.en.ipynb", "", "app.md")
    '[the lesson](tutorials/lesson.en.md)'
    >>> named("", "names", "src/eyeline/storage/files.py", "", "trust.md")
    'names (`src/eyeline/storage/files.py`)'
    >>> named("", "`names.py`", "src/eyeline/storage/files.py", "", "trust.md")
    '`src/eyeline/storage/files.py`'
    """
    if path in OUTSIDE or path in READMES:
        inside = (OUTSIDE | READMES)[path]
    elif path.startswith("docs/"):
        inside = path.removeprefix("docs/")
    elif path.startswith("notebooks/") and path.endswith(".ipynb"):
        inside = f"tutorials/{path.removeprefix('notebooks/').removesuffix('.ipynb')}.md"
    else:
        return f"`{path}`" if re.fullmatch("`[^`]+`", text) else f"{text} (`{path}`)"
    return f"{picture}[{text}]({posixpath.relpath(inside, posixpath.dirname(page) or '.')}{anchor})"
