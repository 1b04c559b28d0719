"""The pages, in the order of the bar. A new page is a folder NAME with `page(say)` in page.py, a line below, and messages/*/NAME.toml."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from eyeline.hosts.app.messages import Say


@dataclass(frozen=True)
class Page:
    """A page. Its name is its folder, its address, and the file of its messages; that file has at least name, title and about."""

    name: str
    icon: str
    default: bool = False

    def draw_with(self, say: Say) -> Callable[[], None]:
        """The function that draws it; its module is imported when it is first opened."""

        def draw() -> None:
            importlib.import_module(f"eyeline.hosts.app.{self.name}.page").page(say)

        return draw


PAGES = (
    Page("look", ":material/visibility:", default=True),
    Page("learn", ":material/school:"),
    Page("corpus", ":material/library_books:"),
    Page("grammar", ":material/account_tree:"),
    Page("space", ":material/scatter_plot:"),
    Page("runs", ":material/folder_open:"),
)
