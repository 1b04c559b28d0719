"""The pages, in the order of the bar. A new one is a module here with `page(say)`, a line below, and messages in each language."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from eyeline.hosts.app.messages import Say


@dataclass(frozen=True)
class Page:
    """A page: its name is its module, its address and the file of its messages (which has `name`, the word in the bar)."""

    name: str
    icon: str
    default: bool = False

    def shown(self, say: Say) -> Callable[[], None]:
        """What draws it; its module is imported when it is first opened."""

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
