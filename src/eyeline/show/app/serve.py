"""`eyeline app`: the app on this machine, for this machine only unless --host says otherwise."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyeline.errors import EyelineError, install_hint
from eyeline.look.embedded import DEFAULTS, default_model
from eyeline.show.app.kit.settings import Limits, Settings, use
from eyeline.show.app.kit.workspace import Workspace, remove_expired

if TYPE_CHECKING:
    from eyeline.show.app.guard import Rules

EVERYWHERE, THIS_MACHINE = ("0.0.0.0", "::"), ("127.0.0.1", "localhost", "::1")  # noqa: S104 - what a person may choose


def app(
    model: Annotated[
        str,
        typer.Option(
            help="The model that pages open with: embedded, a local folder, or a hub id.",
            default_factory=default_model,
            show_default=DEFAULTS[0],
        ),
    ],
    port: Annotated[int, typer.Option(help="The port it listens on.", min=1, max=65535)] = 8501,
    host: Annotated[str, typer.Option(help="The address it listens on; 0.0.0.0 lets others in your network open it.")] = "127.0.0.1",
    workspace: Annotated[Path, typer.Option(help="The only folder that it reads and writes; created where it is missing.")] = Path(
        "eyeline-workspace"
    ),
    allow_hub: Annotated[bool, typer.Option("--allow-hub", help="Visitors may name models of the hub, which are then fetched.")] = False,
    token: Annotated[
        bool | None,
        typer.Option(
            "--token/--no-token",
            help="Visitors need the access token that is printed in the link.",
            show_default="with --host other than this machine",
        ),
    ] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help="A name under which the app may be opened; may be repeated.")] = None,
    samples: Annotated[bool, typer.Option(help="Compute the results of the built-in sample in the background, at the first start.")] = True,
    browser: Annotated[bool, typer.Option(help="Open a browser, where there is a screen.")] = True,
) -> None:
    """Everything in the browser: look at texts, measure a corpus, take a lesson. English, 日本語, 한국어.

    [dim]eyeline app --port 8501[/dim]
    """
    if importlib.util.find_spec("streamlit") is None:
        raise EyelineError("The app needs streamlit, which is not installed.", install_hint("app", "plots"))
    try:
        for folder in ("models", "runs"):
            (workspace / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EyelineError(f"{workspace}: cannot be created ({error.strerror}).", "Choose another with --workspace.") from error
    check_port_is_free(host, port)
    Workspace(workspace).sweep()
    remove_expired(Workspace(workspace), Limits())
    settings = Settings(workspace.resolve(), model, allow_hub, own_process=True)
    use(settings)
    # Visitors share the cores: as many run at once as there are, each on one. Threads that wait for each other would be slower by far.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    give_memory_back()
    import streamlit as st
    from starlette.middleware import Middleware

    from eyeline.show.app.guard import Guard
    from eyeline.show.app.jobs.queue import job_queue
    from eyeline.show.app.jobs.samples import prepare_in_background
    from eyeline.show.app.kit.models import warm_up
    from eyeline.show.app.options import streamlit_options

    job_queue()
    warm_up(model)
    if samples:
        prepare_in_background(settings)
    script = str(files("eyeline.show.app").joinpath("entry", "eyeline_app.py"))
    rules = replace(rules_for(host, allow_host or (), wants_token=token), script=script)
    address = f"http://{'localhost' if host in EVERYWHERE else f'[{host}]' if ':' in host else host}:{port}"
    link = f"{address}/?token={rules.token}" if rules.token else address
    typer.echo(f"eyeline is at {link} (Ctrl-C ends it); runs are kept in {workspace}.")
    if browser:
        open_when_ready(address, link)
    sys.argv[0] = (
        script  # Streamlit puts its folder first in sys.path. That of `python -m eyeline` has a statistics.py, which is not Python's
    )
    st.App(script, middleware=[Middleware(Guard, rules=rules)]).run(config=streamlit_options(host, port))
    sys.exit(0)


#: Options of glibc's malloc, by its numbers: arrays from this size on go back to the system when they are freed, and threads share so
#: many heaps. By default each new thread may get a heap of its own, whose gaps nobody else fills: pages are drawn in threads.
MALLOC = {"M_MMAP_THRESHOLD": (-3, 1 << 20), "M_ARENA_MAX": (-8, 4)}


def give_memory_back() -> None:
    """Freed arrays leave the process. Where the C library has no such options, nothing changes."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        for option, value in MALLOC.values():
            ctypes.CDLL(None).mallopt(option, value)


def rules_for(host: str, names: list[str] | tuple[str, ...], *, wants_token: bool | None) -> Rules:
    """The names under which the app answers, and its token, which is created where other machines can reach the app."""
    from eyeline.show.app.guard import Rules

    local = host in THIS_MACHINE
    hosts = {*THIS_MACHINE, *names} if local else {*THIS_MACHINE, host, socket.gethostname().lower(), socket.getfqdn().lower(), *names}
    token = secrets.token_urlsafe(24) if (not local if wants_token is None else wants_token) else ""
    return Rules(frozenset(hosts), any_address=host in EVERYWHERE, token=token, body=Limits().upload + 2 * 1024 * 1024 - 1)


def check_port_is_free(host: str, port: int) -> None:
    """Refuse a port that another program holds, before a model is opened in vain."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            attempt.bind((host, port))
    except OSError as error:
        raise EyelineError(
            f"Cannot listen on {host}, port {port} ({error.strerror}).", f"Choose another port, such as --port {port % 65535 + 1}."
        ) from error


# ---- A browser on the first page, as soon as the app answers, where there is a screen to open it on


#: Seconds that the app may take to answer, and between two tries.
PATIENCE, BETWEEN = 60.0, 0.2


def open_when_ready(address: str, link: str) -> None:
    """Wait in a thread of its own: the app itself runs in this one."""
    if has_screen(sys.platform, os.environ):
        threading.Thread(target=_wait_and_open, args=(address, link), name="opening", daemon=True).start()


def has_screen(platform: str, environment: Mapping[str, str]) -> bool:
    """Whether there is a screen: on Linux where the environment names a display, on other systems always.

    >>> has_screen("darwin", {}), has_screen("linux", {}), has_screen("linux", {"WAYLAND_DISPLAY": "wayland-0"})
    (True, False, True)
    """
    return platform != "linux" or bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def _wait_and_open(address: str, link: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if answers(f"{address}/_stcore/health"):
            webbrowser.open(link)
            return
        time.sleep(BETWEEN)


def answers(url: str) -> bool:
    """Whether something answers there with 200."""
    import urllib.request  # 30 ms, which `eyeline --help` need not wait for

    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except OSError:
        return False
