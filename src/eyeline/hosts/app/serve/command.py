"""`eyeline app`: the app on this machine, for this machine unless told otherwise."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from eyeline.errors import EyelineError, install_hint
from eyeline.hosts.app.settings import Limits, Settings, use
from eyeline.hosts.app.workspace import Workspace

EVERYWHERE, HERE = ("0.0.0.0", "::"), ("127.0.0.1", "localhost", "::1")  # noqa: S104 - what a person may ask for


def app(
    port: Annotated[int, typer.Option(help="Where it listens.", min=1, max=65535)] = 8501,
    host: Annotated[str, typer.Option(help="The address it listens on; 0.0.0.0 lets others in your network come.")] = "127.0.0.1",
    workspace: Annotated[Path, typer.Option(help="The only folder that it reads and writes: models/ and runs/, made if need be.")] = Path(
        "eyeline-workspace"
    ),
    model: Annotated[str, typer.Option(help="The model that pages begin with: embedded, a local folder, or a hub id.")] = "minilm",
    allow_hub: Annotated[bool, typer.Option("--allow-hub", help="Visitors may name models of the hub, which are then fetched.")] = False,
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
        raise EyelineError(f"{workspace}: cannot be made ({error.strerror}).", "Choose another with --workspace.") from error
    _free(host, port)
    Workspace(workspace).sweep()
    use(Settings(workspace.resolve(), model, allow_hub))
    # Visitors share the cores: as many run at once as there are, each on one. Threads that wait for each other would be slower by far.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from streamlit.web import bootstrap

    from eyeline.hosts.app.jobs.queue import job_queue
    from eyeline.hosts.app.models import warm_up
    from eyeline.hosts.app.serve.open_browser import open_when_ready

    job_queue()
    warm_up(model)
    bootstrap.load_config_options(options := _options(host, port))
    address = f"http://{'localhost' if host in EVERYWHERE else f'[{host}]' if ':' in host else host}:{port}"
    typer.echo(f"eyeline is at {address} (Ctrl-C ends it); runs are kept in {workspace}.")
    if browser:
        open_when_ready(address)
    bootstrap.run(str(files("eyeline.hosts.app").joinpath("entry", "eyeline_app.py")), False, [], options)
    sys.exit(0)


def _free(host: str, port: int) -> None:
    """Refuse a port that another program holds, before a model is opened for nothing."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except OSError as error:
        raise EyelineError(
            f"Cannot listen on {host}, port {port} ({error.strerror}).", f"Choose another port, such as --port {port % 65535 + 1}."
        ) from error


def _options(host: str, port: int) -> dict[str, Any]:
    """Streamlit's options: nothing is sent anywhere, nothing of the code is shown, and our own look."""
    from eyeline.hosts.app.serve.theme import THEME

    server = {
        "address": host,
        "port": port,
        # Streamlit's word for: offers nobody to install things. The browser is opened by us.
        "headless": True,
        "showEmailPrompt": False,
        "fileWatcherType": "none",
        "runOnSave": False,
        "enableStaticServing": False,
        "enableAgentApi": False,
        # on this machine alone, a page of elsewhere cannot reach us by pretending to be this machine
        "allowedHosts": list(HERE) if host in HERE else [],
        "maxUploadSize": -(-Limits().upload // (1024 * 1024)),
        "maxWidgetStateSize": 8,
        "disconnectedSessionTTL": 60,
    }
    rest = {
        "browser_gatherUsageStats": False,
        "logger_hideWelcomeMessage": True,  # the welcome asks a server outside for this machine's address
        "client_toolbarMode": "minimal",
        "client_showErrorDetails": "none",
        "client_showErrorLinks": False,
        "global_developmentMode": False,
        "runner_magicEnabled": False,
        # else all objects are walked after every run of a script, twice a second while a bar moves: an analysis took several times as long
        "runner_postScriptGC": False,
    }
    return (
        {f"server_{name}": value for name, value in server.items()}
        | rest
        | {f"theme_{name.replace('.', '_')}": value for name, value in THEME.items()}
    )
