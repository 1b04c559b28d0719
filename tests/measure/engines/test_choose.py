"""Engines by name, and the options that each can have."""

from __future__ import annotations

import pickle
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec

import pytest

import eyeline as el
from eyeline.errors import EyelineError, TextError
from eyeline.look.embedded import Embedded
from eyeline.measure.coreference.antecedents import AntecedentWork
from eyeline.measure.engines import ray as ray_module
from eyeline.measure.engines.local import as_engine
from eyeline.measure.engines.worker import Assignment, Worker, begin, versions
from eyeline.models.model import ModelSource
from eyeline.show.cli.options import engine_of_options


def test_engines_have_names():
    assert as_engine("local") is None
    assert as_engine("processes") == el.runs.Processes()
    assert as_engine("ray") == el.Ray()
    assert as_engine(el.Ray(8, "auto")) == el.Ray(workers=8, address="auto")
    with pytest.raises(EyelineError, match=r"(?s)'rya'.*Did you mean ray"):
        as_engine("rya")


def test_the_options_of_a_command_make_an_engine():
    assert engine_of_options("local", None, None, None) is None
    assert engine_of_options("processes", 3, None, None) == el.runs.Processes(3)
    assert engine_of_options("ray", 3, "auto", 0.5) == el.Ray(3, "auto", 0.5)


def test_an_engine_of_another_kind_is_not_taken_for_the_local_one(monkeypatch: pytest.MonkeyPatch):
    other = object()
    monkeypatch.setattr("eyeline.measure.engines.local.as_engine", lambda _: other)
    assert engine_of_options("other", None, None, None) is other
    with pytest.raises(EyelineError, match="--workers 2 with --engine other"):
        engine_of_options("other", 2, None, None)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("local", (2, None, None), "--workers 2 with --engine local"),
        ("processes", (2, "auto", None), "--address auto with --engine processes"),
        ("local", (None, None, 1.0), "--gpus-per-worker 1.0 with --engine local"),
    ],
)
def test_an_option_that_an_engine_has_no_use_for_is_refused(name, given, message):
    with pytest.raises(EyelineError, match=message):
        engine_of_options(name, *given)


@pytest.mark.parametrize("engine", [el.runs.Processes(0), el.Ray(-1), el.Ray(1, gpus_per_worker=-1), el.runs.Processes(1, threads=0)])
def test_numbers_that_cannot_be_are_refused(engine):
    with pytest.raises(TextError, match="Give"):
        engine.check()


def test_a_worker_with_another_version_is_refused_before_it_reads_anything():
    with pytest.raises(EyelineError, match=r"(?s)the run was started with 9\.9\.9.*Install the same version"):
        Worker({**versions(), "eyeline": "9.9.9"}, b"this is never read", 1)


@pytest.mark.parametrize(("name", "why"), [("/models/of/another/machine", "There is no folder"), ("minilm", "is not installed")])
def test_a_worker_without_the_model_is_refused_with_its_name(name, why, monkeypatch):
    monkeypatch.setattr(Embedded, "find", lambda self: None)
    assignment = pickle.dumps(Assignment(AntecedentWork(None), ModelSource(name, "cpu", "float32"), "of the first machine"))
    worker, (kind, error) = begin(versions(), assignment, 1)
    assert (worker, kind) == (None, "refused")
    assert isinstance(error, EyelineError)
    for part in ("The worker on ", "cannot begin", name, why, "each machine of the run needs it"):
        assert part in str(error)


def test_an_address_at_which_nothing_listens_is_refused_before_the_model_is_opened():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(EyelineError, match=f"(?s)No Ray cluster answers at 127.0.0.1:{port}.*ray start --head"):
        el.analyse("no-such-model", ["a text"], engine=el.Ray(2, f"127.0.0.1:{port}"))


NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="the extra ray is not installed")


@NEEDS_RAY
@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"+OK", None])
def test_an_address_where_something_else_listens_is_refused_before_the_model_is_opened(answer, monkeypatch):
    monkeypatch.setattr(ray_module, "ANSWERS_WITHIN", 5.0 if answer is not None else 0.2)
    with listening(answer) as port, pytest.raises(EyelineError, match=f"(?s)listens at 127.0.0.1:{port}, but it is not a Ray.*6379"):
        el.analyse("no-such-model", ["a text"], engine=el.Ray(2, f"127.0.0.1:{port}"))


@NEEDS_RAY
def test_an_address_of_the_environment_is_checked_like_a_given_one(monkeypatch):
    with listening(b"") as port:
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
        with pytest.raises(EyelineError, match=f"(?s)listens at 127.0.0.1:{port}, but it is not a Ray.*6379"):
            el.analyse("no-such-model", ["a text"], engine="ray")


@contextmanager
def listening(answer: bytes | None) -> Iterator[int]:
    """A server that is not Ray, and its port: it gives each caller this answer and closes; None: it never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as callers:

        def serve() -> None:
            with suppress(OSError):  # the server was closed
                while True:
                    caller = callers.enter_context(server.accept()[0])
                    if answer is not None:
                        caller.sendall(answer)
                        caller.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)  # ends the wait for callers
            thread.join()


def test_without_ray_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EyelineError, match=r"(?s)Ray is not installed.*\[ray\]"):
        el.Ray(2).check()
