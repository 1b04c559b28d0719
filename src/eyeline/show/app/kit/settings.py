"""How the app was started: set once by the command, read by every page."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from eyeline.look.embedded import default_model


@dataclass(frozen=True)
class Limits:
    """Limits for each visitor, so that the app can serve all of them.

    characters, tokens   of a text to look at
    pasted               characters of a corpus pasted into the page
    upload               bytes of an uploaded file
    documents            of a corpus; more are drawn at random
    points               heads × tokens of a space of queries and keys
    waiting              analyses of all visitors that may wait for their turn
    jobs_each            analyses of one visitor that may wait or run
    runs_each            runs that one visitor may keep
    bytes_each           bytes of these runs
    keep_days            days after which a visitor's run is deleted
    gone_minutes         minutes without an open page after which a visitor's analysis ends
    """

    characters: int = 4000
    tokens: int = 256
    pasted: int = 200_000
    upload: int = 2 * 1024 * 1024
    documents: int = 1000
    points: int = 400_000
    waiting: int = 8
    jobs_each: int = 2
    runs_each: int = 20
    bytes_each: int = 500_000_000
    keep_days: int = 30
    gone_minutes: float = 10


@dataclass(frozen=True)
class Settings:
    """workspace: the only folder that the app reads and writes. model: what pages begin with. allow_hub: visitors may name hub ids.

    own_process: analyses run in a process of their own, so that pages stay fast
    """

    workspace: Path = Path("eyeline-workspace")
    model: str = field(default_factory=default_model)
    allow_hub: bool = False
    own_process: bool = False
    limits: Limits = field(default_factory=Limits)


_current: Settings | None = None


def use(settings: Settings) -> None:
    """Set the settings that every page uses from now on."""
    global _current
    _current = settings


def current() -> Settings:
    """The settings in force: those given to `use`, else the defaults."""
    return Settings() if _current is None else _current
