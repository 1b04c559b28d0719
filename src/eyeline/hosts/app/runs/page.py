"""Runs: what was measured before, to look at again and to take home."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import streamlit as st

from eyeline.errors import EyelineError, StorageError
from eyeline.hosts.app.figures.files import zipped
from eyeline.hosts.app.jobs import owner_of
from eyeline.hosts.app.look import recipe
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.plain import refuse
from eyeline.hosts.app.runs.parts import called_by, opened, show_parts
from eyeline.hosts.app.runs.workspace import Workspace, plain_name
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.shell import heading, visitor
from eyeline.hosts.report.write import REPORT
from eyeline.plots.figures import FIGURES
from eyeline.results.folder import EXAMPLE, FACTS_FILE


def page(say: Say) -> None:
    heading(say, "runs")
    listed = mine(visitor())
    asked = st.query_params.get("run", "")
    if "run-name" not in st.session_state and plain_name(asked):
        st.session_state["run-name"] = asked
    name = st.session_state.get("run-name", "")
    if name and name not in listed and (found := linked(name)) is not None:
        listed = {name: found, **listed}
    if not listed:
        st.info(say("runs.none"), icon=":material/folder_open:")
        _recipe(say, "run", "entropy")
        return
    if name not in listed:
        if name:
            refuse(say("runs.unknown"))
        st.session_state["run-name"] = next(iter(listed))
    name = st.selectbox(say("runs.choose"), list(listed), format_func=lambda one: called(say, listed[one]), key="run-name")
    st.query_params["run"] = name
    folder, table = listed[name], "entropy"
    try:
        if not Workspace(current().workspace).whole(folder):
            raise StorageError(f"{name} holds a link that leads out of the workspace.", "Put a copy there instead.")
        run = opened(folder)
        table = next((one for one in FIGURES if one in run.tables), table)
        _downloads(say, folder, name)
        show_parts(say, run, folder)
    except EyelineError as error:
        refuse(say("runs.damaged"), error)
    st.caption(say("runs.link"))
    _recipe(say, str(folder), table)


def mine(who: str) -> dict[str, Path]:
    """The runs that a visitor may see in the list: his own, and those of the command line. Texts of others are none of his business."""
    return {name: path for name, path in Workspace(current().workspace).runs().items() if owner_of(path) in (None, who)}


def linked(name: str) -> Path | None:
    """A run by its whole name, which cannot be guessed: whoever has the link was given it."""
    return Workspace(current().workspace).runs().get(name) if plain_name(name) else None


def called(say: Say, folder: Path) -> str:
    """A run in the list: when, which model, how much."""
    try:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime((folder / FACTS_FILE).stat().st_mtime))
        return called_by(say, opened(folder), when)
    except (EyelineError, OSError, KeyError, TypeError):
        return folder.name


def _downloads(say: Say, folder: Path, name: str) -> None:
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


def _recipe(say: Say, folder: str, table: str) -> None:
    python = f'import eyeline as el\n\nrun = el.open_run({folder!r})\nrun.table("{table}").to_csv()\n'
    python += f'el.figure(run, "{table}").write_html("{table}.html")'
    recipe.box(say, python, shlex.join(["eyeline", "app", "--workspace", str(current().workspace)]))
