"""Corpus: measure a text of many sentences, in the background, and look at what its heads do."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path

import streamlit as st

from sightline.analyses.catalogue import STATISTICS
from sightline.errors import SightlineError, TextError
from sightline.hosts.app import recipe
from sightline.hosts.app.jobs import Job, desk, measure
from sightline.hosts.app.messages import Say
from sightline.hosts.app.models import choices, model_named, place_of
from sightline.hosts.app.plain import escaped, refuse
from sightline.hosts.app.run_view import show_run
from sightline.hosts.app.settings import current
from sightline.hosts.app.shelf import Shelf
from sightline.hosts.app.shell import heading, visitor
from sightline.hosts.app.workspace import Workspace
from sightline.results.run import ABOUT, Run, open_run
from sightline.text.corpora import Corpus, read_corpus

SOURCES = ("sample", "paste", "upload")
#: Endings of uploads → the kind that read_corpus takes.
ENDINGS = {"txt": "text", "jsonl": "jsonl", "conllu": "conllu"}
#: Analyses by name, in the order of the page.
ANALYSES = ("average_attention", "entropy", "distances", "importance")
_RUNS = Shelf(16)


def page(say: Say) -> None:
    heading(say, "corpus")
    asked = _asked(say)
    job = desk().job(st.session_state.get("job", ""))
    if job is not None and not job.ended:
        _progress(say)
    elif job is not None:
        _ended(say, job)
    place = place_of(asked[0], current()) if asked[0] in choices(current()) else asked[0]
    names = {name: kind.__name__ for name, kind in STATISTICS.items()}
    recipe.box(say, recipe.analysis_python(place, asked[1], names, asked[2]), recipe.analysis_console(place, asked[1], asked[2]))


def _asked(say: Say) -> tuple[str, list[str], int]:
    """The text, the model and the analyses; the button that begins."""
    limits = current().limits
    texts, side = st.columns([3, 2], gap="large")
    with texts:
        source = st.segmented_control(
            say("corpus.source"), SOURCES, format_func=lambda name: say(f"corpus.source_{name}"), default="sample", key="corpus-source",
            required=True,
        )  # fmt: skip
        text, upload = "", None
        if source == "sample":
            st.text_area(say("corpus.sample"), sample(), height=180, disabled=True, key="corpus-sample")
        elif source == "paste":
            text = st.text_area(
                say("corpus.paste"), height=180, max_chars=5 * limits.pasted, help=say("corpus.paste_help"), key="corpus-text"
            )
        else:
            size = max(1, limits.upload // (1024 * 1024))
            upload = st.file_uploader(
                say("corpus.upload", size=size), type=list(ENDINGS), max_upload_size=size, help=say("corpus.upload_help"), key="corpus-file"
            )
    with side:
        name = st.selectbox(say("look.model"), list(choices(current())), key="corpus-model")
        only = st.pills(
            say("corpus.analyses"), ANALYSES, format_func=lambda one: say(f"corpus.analysis_{one}"), selection_mode="multi",
            default=ANALYSES[:3], key="corpus-analyses", wrap=True, help=say("corpus.analyses_help"),
        )  # fmt: skip
        limit = int(
            st.number_input(
                say("corpus.limit"), 1, limits.documents, min(200, limits.documents), key="corpus-limit", help=say("corpus.limit_help")
            )
        )
        job = desk().job(st.session_state.get("job", ""))
        busy = job is not None and not job.ended
        if st.button(say("corpus.run"), type="primary", width="stretch", disabled=busy or not only, key="corpus-run"):
            _begin(say, source or "sample", text, upload, name, list(only), limit)
    return name, list(only) or list(ANALYSES[:1]), limit


def sample() -> str:
    return files("sightline.hosts.app").joinpath("sample.txt").read_text(encoding="utf-8")


def _begin(say: Say, source: str, text: str, upload: object, name: str, only: list[str], limit: int) -> None:
    """Read the corpus now, so that a bad file is named at once; measure it in the background."""
    try:
        if source == "upload":
            data, kind = _uploaded(say, upload)
        else:
            if len(text) > current().limits.pasted:
                refuse(say("corpus.too_long", n=f"{len(text):,}", most=f"{current().limits.pasted:,}"))
                return
            data, kind = (sample() if source == "sample" else text).encode("utf-8", "replace"), "text"
        if not data.strip():
            refuse(say("corpus.nothing"))
            return
        corpus = read_bytes(data, kind, say(f"corpus.called_{source}"))
        with st.spinner(say("look.loading", model=escaped(name))):
            model = model_named(name)
        folder = Workspace(current().workspace).new_run()
        job = desk().take(folder, measure(model, corpus, only, limit, visitor()))
    except SightlineError as error:
        refuse(say("corpus.bad_text"), error)
        return
    if job is None:
        refuse(say("corpus.too_many_waiting"))
        return
    st.session_state.job = job.number
    st.rerun()


def _uploaded(say: Say, upload: object) -> tuple[bytes, str]:
    """The bytes of an uploaded file, and its kind; too large or of another kind is refused."""
    if upload is None:
        return b"", "text"
    name, data = str(upload.name), bytes(upload.getvalue())  # type: ignore[attr-defined]
    if len(data) > current().limits.upload:
        raise TextError(say("corpus.too_large", n=f"{len(data):,}", most=f"{current().limits.upload:,}"))
    ending = name.rsplit(".", 1)[-1].lower()
    if ending not in ENDINGS:
        raise TextError(say("corpus.bad_ending", ending=ending[:20]))
    return data, ENDINGS[ending]


def read_bytes(data: bytes, kind: str, name: str) -> Corpus:
    """A corpus held in memory. It passes through a file of the system's, named as we like, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.{kind}"
        path.write_bytes(data)
        try:
            return Corpus.from_texts([document.item for document in read_corpus(path, kind=kind)], name)
        except TextError as error:
            raise TextError(str(error).replace(str(path), name)) from error


@st.fragment(run_every=0.5)
def _progress(say: Say) -> None:
    """How far the job is, and the button that stops it."""
    job = desk().job(st.session_state.get("job", ""))
    if job is None or job.ended:
        st.rerun()
    bar, button = st.columns([4, 1], vertical_alignment="center")
    with bar:
        of = job.of or 0
        said = (
            say("corpus.waiting") if job.state == "waiting" else say("corpus.running", n=job.done, of=of) if of else say("corpus.reading")
        )
        st.progress(min(1.0, job.done / of) if of else 0.0, text=said)
    if button.button(say("corpus.stop"), icon=":material/stop_circle:", width="stretch", key="corpus-stop"):
        job.stop.set()


def _ended(say: Say, job: Job) -> None:
    if job.state == "stopped":
        st.info(say("corpus.stopped"), icon=":material/stop_circle:")
    elif job.state == "failed":
        refuse(say("corpus.failed"), job.error)
    else:
        try:
            run = opened(str(job.folder))
        except SightlineError as error:
            refuse(say("corpus.failed"), error)
            return
        st.success(say("corpus.saved"), icon=":material/check:")
        show_run(say, run, job.folder.name)


def opened(folder: str) -> Run:
    """A finished run, read once; again where it was written anew."""
    about = Path(folder) / ABOUT
    return _RUNS.get((folder, about.stat().st_mtime_ns if about.is_file() else 0), lambda: open_run(folder), lambda _: 1)
