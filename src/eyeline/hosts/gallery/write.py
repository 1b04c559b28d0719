"""The gallery as a folder: scripts and style once, a folder for each model, a page for each head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from eyeline.errors import EyelineError
from eyeline.hosts.gallery.page import ModelPages, head_page, model_page, models_page
from eyeline.results.gallery.measured import MeasuredHeads, open_measured
from eyeline.results.gallery.portrait import portraits
from eyeline.storage.files import make_folder, write_whole
from eyeline.storage.names import path_in
from eyeline.views import head_view
from eyeline.views.code import joined
from eyeline.views.page import data_chunks
from eyeline.words import Words

#: The measurements of a model, inside its folder.
RUN = "run"


def write_gallery(folder: str | Path, about: Mapping[str, str] | None = None, language: str = "en") -> Path:
    """Write the pages of every model whose measurements lie in folder/MODEL/run; the path of the first page.

    about      what each model is, in a few words, by the name of its folder
    language   of the pages: en, ja or ko
    """
    folder, words = Path(folder), Words(language)
    names = sorted(path.parents[1].name for path in folder.glob(f"*/{RUN}/run.json"))
    if not names:
        raise EyelineError(f"{folder} holds no measured model.", "Measure one first: eyeline gallery minilm -o gallery")
    models = []
    for name in names:
        measured = open_measured(folder / name / RUN)
        models.append(ModelPages(name, (about or {}).get(name, ""), measured, portraits(measured.run)))
    _write(folder / "eyeline.js", [joined("core")])
    for file in ("gallery.js", "style.css"):
        _write(folder / file, [files("eyeline.hosts.gallery").joinpath(file).read_text(encoding="utf-8")])
    for model in models:
        _write_model(folder / model.name, model, words)
    _write(folder / "index.html", models_page(models, words))
    return folder / "index.html"


def _write_model(folder: Path, model: ModelPages, words: Words) -> None:
    make_folder(folder)
    write_whole(folder / "examples.js", _examples(model.measured, words.language))
    _write(folder / "index.html", model_page(model, words))
    for index, head in enumerate(model.heads):
        _write(path_in(folder, head.file), head_page(model, index, words))


def _examples(measured: MeasuredHeads, language: str) -> Iterator[bytes]:
    """The head views of all texts, as a script: a page opened from a disk may load scripts, but no data."""
    yield b"globalThis.eyelineExamples = ["
    for trace in measured.examples:
        yield from data_chunks(head_view(trace, layer=trace.layers[0]), language)
        yield b","
    yield b"];\n"


def _write(path: Path, pieces: Iterator[str] | list[str]) -> None:
    write_whole(path, (piece.encode() for piece in pieces))
