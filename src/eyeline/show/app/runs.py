"""Runs: what was measured before, to look at again, to save, to rename and to delete."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from eyeline.errors import EyelineError, StorageError
from eyeline.figures import FIGURES
from eyeline.measure.runs.run import EXAMPLE, FACTS_FILE
from eyeline.show.app.kit import workspace
from eyeline.show.app.kit.figures import zipped
from eyeline.show.app.kit.page import heading, refuse, show_recipe, visitor
from eyeline.show.app.kit.settings import current
from eyeline.show.app.kit.workspace import RUNS, Workspace
from eyeline.show.app.run_parts import open_cached, run_label, show_parts
from eyeline.show.report import REPORT
from eyeline.storage.files import is_plain_name
from eyeline.words import Words


def page(say: Words) -> None:
    heading(say, "runs")
    workspace.remove_expired(_workspace(), current().limits)
    listed = listed_runs(visitor())
    name = _requested()
    if name and name not in listed and (folder := linked_run(name)) is not None:
        listed = {name: folder, **listed}
    _rule(say)
    if not listed:
        st.info(say("runs.none_of_yours" if _workspace().runs() else "runs.none"), icon=":material/folder_open:")
        _recipe(say, "run", "entropy")
        return
    if name not in listed:
        if name:
            refuse(say, "runs.unknown")
        st.session_state["run-name"] = next(iter(listed))
    name = st.selectbox(say("runs.choose"), list(listed), format_func=_labels(say, listed).__getitem__, key="run-name")
    st.query_params["run"] = name
    folder, table = listed[name], "entropy"
    try:
        if not _workspace().whole(folder):
            raise StorageError(f"{name} holds a link that leads out of the workspace.", "Put a copy there instead.")
        run = open_cached(folder)
        table = next((figure for figure in FIGURES if figure in run.tables), table)
        _downloads(say, folder, name)
        _manage(say, folder)
        show_parts(say, run, folder)
    except EyelineError as error:
        refuse(say, "runs.damaged", error)
        _manage(say, folder)
    st.caption(say("runs.link"))
    _recipe(say, f"{current().workspace.name}/{RUNS}/{name}", table)


def _workspace() -> Workspace:
    return Workspace(current().workspace)


def _requested() -> str:
    """The run that the visitor has chosen, or that the address names."""
    requested = st.query_params.get("run", "")
    if "run-name" not in st.session_state and is_plain_name(requested):
        st.session_state["run-name"] = requested
    return str(st.session_state.get("run-name", ""))


def listed_runs(visitor_id: str) -> dict[str, Path]:
    """The runs in a visitor's list: the visitor's own, and those of the command line. The texts of other visitors stay private."""
    runs = _workspace().runs()
    return {name: path for name, path in runs.items() if workspace.read_ownership(path) is None or workspace.is_own(path, visitor_id)}


def linked_run(name: str) -> Path | None:
    """A run by its whole name, which cannot be guessed: a visitor who has it was given the link."""
    return _workspace().runs().get(name) if is_plain_name(name) else None


def label(say: Words, folder: Path) -> str:
    """A run in the list: its title, when, which model, how much."""
    owner = workspace.read_ownership(folder)
    title = f"{owner.title} · " if owner is not None and owner.title else ""
    try:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime((folder / FACTS_FILE).stat().st_mtime))
        return title + run_label(say, open_cached(folder), when)
    except (EyelineError, OSError, LookupError, TypeError, ValueError, AttributeError, StopIteration):
        return title + folder.name


def _labels(say: Words, listed: Mapping[str, Path]) -> dict[str, str]:
    """Every run in the list by its label. Two runs never have the same: the browser answers with the label of the one that was chosen."""
    labels = {name: label(say, folder) for name, folder in listed.items()}
    shared = {text for text, n in Counter(labels.values()).items() if n > 1}
    return {name: f"{text} · {name}" if text in shared else text for name, text in labels.items()}


def _rule(say: Words) -> None:
    """How many runs a visitor may keep, and for how long."""
    limits, share = current().limits, workspace.share_of(_workspace(), visitor())
    most = f"{limits.bytes_each // 1_000_000:,}"
    st.caption(say("runs.rule", n=share.runs, mb=f"{share.bytes / 1e6:.1f}", runs=limits.runs_each, most=most, days=limits.keep_days))


def _manage(say: Words, folder: Path) -> None:
    """Rename and delete, for the visitor who ran it."""
    visitor_id = visitor()
    if not workspace.is_own(folder, visitor_id):
        return
    with st.expander(say("runs.manage"), icon=":material/edit:"):
        owner = workspace.read_ownership(folder)
        title_key = f"title-{folder.name}"
        with st.container(horizontal=True, vertical_alignment="bottom", key="run-rename"):
            st.text_input(
                say("runs.title_field"), owner.title if owner else "", max_chars=workspace.LONGEST_TITLE, key=title_key, width=420
            )
            st.button(say("runs.rename"), on_click=_rename, args=(say, folder, visitor_id, title_key), key="rename-run")
        with st.container(horizontal=True, vertical_alignment="center", key="run-delete"):
            is_confirmed = st.checkbox(say("runs.delete_sure"), key=f"sure-{folder.name}")
            st.button(
                say("runs.delete"),
                disabled=not is_confirmed,
                on_click=_delete,
                args=(folder, visitor_id),
                icon=":material/delete:",
                key="delete-run",
            )


def _rename(say: Words, folder: Path, visitor_id: str, key: str) -> None:
    title = st.session_state.get(key)
    if title is None:  # the button was pressed on a page that had been left: its field is gone
        return
    try:
        workspace.rename(folder, visitor_id, str(title))
        st.session_state["run-name"] = folder.name  # the browser still has the old label, which no run has any more
    except EyelineError as error:  # a full disk
        refuse(say, "runs.rename", error)


def _delete(folder: Path, visitor_id: str) -> None:
    workspace.delete(folder, visitor_id)
    st.session_state.pop("run-name", None)
    if "run" in st.query_params:
        del st.query_params["run"]


def _downloads(say: Words, folder: Path, name: str) -> None:
    with st.container(horizontal=True, key="run-files"):
        if (folder / REPORT).is_file():
            st.download_button(
                say("runs.report"), lambda: (folder / REPORT).read_bytes(), f"{name}.html", "text/html", on_click="ignore",
                icon=":material/article:", key="save-report",
            )  # fmt: skip
        st.download_button(
            say("runs.tables"), lambda: zipped(folder, "tables/*.csv"), f"{name}-tables.zip", "application/zip", on_click="ignore",
            icon=":material/table:", key="save-tables",
        )  # fmt: skip
        if (folder / EXAMPLE).is_file():
            st.download_button(
                say("runs.trace"), lambda: (folder / EXAMPLE).read_bytes(), f"{name}.safetensors", "application/octet-stream",
                on_click="ignore", icon=":material/database:", key="save-run-trace",
            )  # fmt: skip


def _recipe(say: Words, folder: str, table: str) -> None:
    python = f'import eyeline as el\n\nrun = el.runs.open_run({folder!r})\nrun.table("{table}").to_csv()\n'
    python += f'el.figure(run, "{table}").write_html("{table}.html")'
    show_recipe(say, python, shlex.join(["eyeline", "app", "--workspace", current().workspace.name]))
