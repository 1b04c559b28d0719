"""The engine of many machines: a Ray cluster, or Ray on this machine alone."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from eyeline.errors import Advice, EyelineError, install_hint
from eyeline.measure.engines.processes import Engine, EngineName, check_counts
from eyeline.measure.engines.schedule import Needs, Pool
from eyeline.measure.engines.work import Work
from eyeline.measure.engines.worker import assignment_by_name, assignment_packed, pack
from eyeline.models.model import Model

#: Seconds in which a cluster must answer at its address.
ANSWERS_WITHIN = 5.0
#: What a client of HTTP/2 sends first (RFC 9113, 3.4): a fixed line, and a frame of settings without any.
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
#: Bytes of a frame's header, and the number in it that says "settings".
FRAME_HEADER, SETTINGS_FRAME = 9, 4
#: How often Ray is started on this machine before that is an error: it gives up where a busy machine starts too slowly.
STARTS = 3
#: Bytes of the object store of a cluster on this machine, beside the model: descriptions and sums are small.
STORE = 256 * 2**20


@dataclass(frozen=True)
class Ray(Engine):
    """A Ray cluster.

    workers          how many; without it, as many as the cluster has room for
    address          of the cluster: "auto" for the one that this machine belongs to, or host:port; without it, that of RAY_ADDRESS, or
                     else Ray is started on this machine for the time of the run
    gpus_per_worker  0, 1 or more, or a share such as 0.5
    threads          of each worker: another number may round sums differently, another number of workers never does
    """

    workers: int | None = None
    address: str | None = None
    gpus_per_worker: float = 0
    threads: int = 1
    name: ClassVar[EngineName] = "ray"

    def check(self) -> None:
        check_counts(self.workers, self.threads, self.gpus_per_worker)
        if importlib.util.find_spec("ray") is None:
            raise EyelineError("Ray is not installed.", install_hint("ray"), Advice('Or: engine="processes".', "Or: --engine processes"))
        if self._address() == "local":
            return
        _check_answers(self._address())  # here too: it needs no import of Ray, which takes seconds
        if self._connect(0):  # a cluster that cannot be used is refused now, before a model is opened or anything written
            import ray

            try:
                self._check_room()
            finally:
                ray.shutdown()

    def needs(self) -> Needs:
        return Needs(self.workers or self._room(), self.threads, self.gpus_per_worker)

    def pool(self, work: Work[Any, Any], model: Model) -> Pool:
        from eyeline.measure.engines.ray_pool import RayPool

        packed = pack(model)
        assignment = assignment_by_name(work, model) if packed is None else assignment_packed(work, model)
        is_new = self._connect(0 if packed is None else packed.n_bytes)
        import ray

        try:
            self._check_room()
            return RayPool(assignment, packed, self.needs(), shut_down=is_new)
        except BaseException:
            if is_new:
                ray.shutdown()
            raise

    def _check_room(self) -> None:
        import ray

        if not self._room():
            raise EyelineError(
                f"No machine of the cluster has room for a worker of {self.threads} cores and {self.gpus_per_worker:g} GPUs.",
                f"The cluster has: {_resources(ray.cluster_resources())}.",
            )

    def _room(self) -> int:
        """For how many workers the cluster has room, machine by machine."""
        import ray

        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        return sum(
            min(int(has.get("CPU", 0) // self.threads), int(has.get("GPU", 0) / self.gpus_per_worker) if self.gpus_per_worker else 10**6)
            for has in machines
        )

    def _address(self) -> str:
        return self.address or os.environ.get("RAY_ADDRESS") or "local"

    def _connect(self, n_bytes: int) -> bool:
        """Connect to the cluster; returns whether the connection is new, and so ends with the run. n_bytes: of the model."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray starts: nothing is reported to anyone
        import ray

        if ray.is_initialized():
            return False
        address = self._address()
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address == "local":
            _start_here(max(os.cpu_count() or 1, (self.workers or 1) * self.threads), STORE + n_bytes, quiet)
            return True
        _check_answers(address)
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:  # none there, or another version of Ray or Python
            raise EyelineError(
                f"No Ray cluster at {address} that can be used.", str(error).splitlines()[0], HOW_TO_START, NEEDS_LOGIN
            ) from error
        return True


HOW_TO_START = "Start one: ray start --head. Or leave out the address: Ray is then started on this machine."
WHICH_PORT = (
    "The port is the one that `ray start --head` prints (6379 without --port); with ray:// before it, that of Ray's clients (10001)."
)
NEEDS_LOGIN = "A cluster that asks for a token needs RAY_AUTH_MODE=token in the environment (Ray's token authentication)."


def _start_here(n_cpus: int, store: int, quiet: dict[str, Any]) -> None:
    import ray

    for attempt in range(STARTS):
        try:
            with _on_loopback():
                ray.init(
                    address="local", num_cpus=n_cpus, include_dashboard=False, object_store_memory=store, _node_ip_address="127.0.0.1",
                    **quiet,
                )  # fmt: skip
            return
        except Exception as error:  # Ray raises a plain Exception where a machine starts too slowly
            ray.shutdown()
            if attempt == STARTS - 1:
                raise EyelineError("Ray cannot be started on this machine.", str(error).splitlines()[0]) from error


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """What is started here listens on loopback alone.

    Ray replaces a loopback address by that of the network card, and listens on every card, unless clusters are switched off, as they are
    on Windows and macOS. The setting is read when Ray is imported, and by the processes that it starts.
    """
    from ray._private import ray_constants

    before, variable = ray_constants.ENABLE_RAY_CLUSTER, ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR
    in_environment = os.environ.get(variable)
    ray_constants.ENABLE_RAY_CLUSTER, os.environ[variable] = False, "0"
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
        if in_environment is None:
            del os.environ[variable]
        else:
            os.environ[variable] = in_environment


def _check_answers(address: str) -> None:
    """An address at which nothing listens, or something that is not Ray, is refused at once: Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWERS_WITHIN) as connection:
            speaks = os.environ.get("RAY_USE_TLS", "0") != "0" or _speaks_http2(connection)  # under TLS, Ray itself checks
    except (OSError, OverflowError) as error:
        raise EyelineError(f"No Ray cluster answers at {address} ({error}).", HOW_TO_START) from error
    if not speaks:
        raise EyelineError(f"Something listens at {address}, but it is not a Ray cluster.", WHICH_PORT, HOW_TO_START)


def _speaks_http2(connection: socket.socket) -> bool:
    """Whether the other side greets as HTTP/2 does, on which Ray's own messages travel: its first frame holds settings."""
    deadline, answer = time.monotonic() + ANSWERS_WITHIN, b""
    with contextlib.suppress(OSError):  # silent for too long, or closed
        connection.sendall(HTTP2_GREETING)
        while len(answer) < FRAME_HEADER and (left := deadline - time.monotonic()) > 0:
            connection.settimeout(left)
            received = connection.recv(FRAME_HEADER - len(answer))
            if not received:
                break
            answer += received
    return len(answer) == FRAME_HEADER and answer[3] == SETTINGS_FRAME


def _resources(resources: dict[str, float]) -> str:
    return ", ".join(f"{amount:g} {name}" for name, amount in sorted(resources.items()) if name in ("CPU", "GPU")) or "nothing"
