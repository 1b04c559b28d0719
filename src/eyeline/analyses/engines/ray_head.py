"""Whether the head of a Ray cluster still answers: Ray itself waits for minutes, and then ends the whole process."""

from __future__ import annotations

import os
from socket import create_connection
from time import monotonic

from eyeline.errors import Advice, EyelineError

#: Seconds between two checks, and in which a connection must be accepted.
CHECK_EVERY = 2.0
#: Seconds without an answer after which a run ends. A cluster whose head comes back sets Ray's own variable for this.
PATIENCE = 20.0
PATIENCE_OF_RAY = "RAY_gcs_rpc_server_reconnect_timeout_s"


class RayHead:
    """The head at an address (host:port).

    answers   whether it did at the last check; one that cannot be reached from here at the start (ray://) is not checked, and left to Ray
    """

    def __init__(self, address: str) -> None:
        self.address, self.answers = address, True
        host, _, port = address.rpartition(":")
        self._target = host.strip("[]"), int(port)
        self._checked = self._answered = monotonic()
        self._is_checked = self._refusal() is None

    def check(self) -> None:
        """Called often: connects now and then; an error where nothing has listened for too long."""
        if not self._is_checked or monotonic() - self._checked < CHECK_EVERY:
            return
        refusal = self._refusal()
        self.answers, self._checked = refusal is None, monotonic()
        if refusal is None:
            self._answered = self._checked
        elif self._checked - self._answered > float(os.environ.get(PATIENCE_OF_RAY, PATIENCE)):
            raise EyelineError(
                f"The head of the Ray cluster at {self.address} has gone ({refusal}).",
                Advice("Start the cluster again, and go on with resume=True.", "Start the cluster again, and go on with --resume."),
            )

    def _refusal(self) -> OSError | None:
        """Why no connection is possible; None: it is."""
        try:
            create_connection(self._target, CHECK_EVERY).close()
        except OSError as error:
            return error
        return None
