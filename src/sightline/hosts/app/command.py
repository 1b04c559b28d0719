"""`sightline app`: the app on this machine, for this machine unless told otherwise."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from sightline.errors import SightlineError
from sightline.hosts.app.settings import Limits, Settings, use


def app(
    port: Annotated[int, typer.Option(help="Where it listens.", min=1, max=65535)] = 8501,
    host: Annotated[str, typer.Option(help="The address it listens on; 0.0.0.0 lets others in your network come.")] = "127.0.0.1",
    workspace: Annotated[Path, typer.Option(help="The only folder that it reads and writes: models/ and runs/, made if need be.")] = Path(
        "sightline-workspace"
    ),
    model: Annotated[str, typer.Option(help="The model that pages begin with: embedded, a local folder, or a hub id.")] = "minilm",
    allow_hub: Annotated[bool, typer.Option("--allow-hub", help="Visitors may name models of the hub, which are then fetched.")] = False,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Everything in the browser: look at texts, measure a corpus, take a lesson. English, 日本語, 한국어.

    [dim]sightline app --port 8501[/dim]
    """
    if importlib.util.find_spec("streamlit") is None:
        raise SightlineError("The app needs streamlit, which is not installed.", "pip install 'sightline[app,plots]'")
    try:
        for folder in ("models", "runs"):
            (workspace / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SightlineError(f"{workspace}: cannot be made ({error.strerror}).", "Choose another with --workspace.") from error
    use(Settings(workspace.resolve(), model, allow_hub))
    # Visitors share the cores: as many run at once as there are, each on one. Threads that wait for each other would be slower by far.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from streamlit.web import bootstrap

    from sightline.hosts.app.models import warm_up

    warm_up(model)
    options = {f"server_{name}": value for name, value in _server(host, port, browser).items()} | _rest()
    bootstrap.load_config_options(options)
    bootstrap.run(str(files("sightline.hosts.app").joinpath("entry", "sightline_app.py")), False, [], options)
    sys.exit(0)


def _server(host: str, port: int, browser: bool) -> dict[str, Any]:
    return {
        "address": host,
        "port": port,
        "headless": not browser,
        "showEmailPrompt": False,
        "fileWatcherType": "none",
        "runOnSave": False,
        "enableStaticServing": False,
        "maxUploadSize": -(-Limits().upload // (1024 * 1024)),
        "disconnectedSessionTTL": 60,
    }


def _rest() -> dict[str, Any]:
    """Nothing is sent anywhere, nothing of the code is shown, and our own look."""
    from sightline.hosts.app.theme import THEME

    return {
        "browser_gatherUsageStats": False,
        "client_toolbarMode": "minimal",
        "client_showErrorDetails": "none",
        "client_showErrorLinks": False,
        "global_developmentMode": False,
        "runner_magicEnabled": False,
        **{f"theme_{name.replace('.', '_')}": value for name, value in THEME.items()},
    }
