"""What mkdocs calls while it builds the site. Each part does one thing: pages from elsewhere, links, formulas, search from disk."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from scripts.documentation import formulas, links, navigation, reference, tutorials  # noqa: E402

#: Our own, in place of a script from the network that the offline plugin adds unless one of this name is there.
WORKER = "assets/iframe-worker.js"
WORKER_SOURCE = Path(__file__).parent / "search_from_disk.js"


def on_config(config: Any) -> Any:
    config.extra["polyfills"] = [WORKER]
    config.nav = navigation.complete(config.nav, Path(config.docs_dir), {**tutorials.pages(), **reference.pages()})
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    outside = {page: (ROOT / source).read_text(encoding="utf-8") for source, page in links.OUTSIDE.items()}
    for name, content in (outside | tutorials.pages() | tutorials.pictures() | reference.pages()).items():
        files.append(File.generated(config, name, content=content))
    files.append(File.generated(config, formulas.FONT, content=formulas.font()))
    files.append(File.generated(config, WORKER, content=WORKER_SOURCE.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    return links.for_site(markdown, page.file.src_uri)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    return formulas.as_mathml(html)
