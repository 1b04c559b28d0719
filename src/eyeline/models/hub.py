"""Whether the model hub can be reached: checked in seconds, where its client would retry for half a minute."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from huggingface_hub import constants

TIMEOUT = 3.0  # seconds


def only_local(source: str) -> bool:
    """Whether the network must not be used: for folders, when the user has set HF_HUB_OFFLINE, or when the hub does not answer."""
    return Path(source).is_dir() or constants.HF_HUB_OFFLINE or not reachable(constants.ENDPOINT)


def reachable(endpoint: str) -> bool:
    """Whether the endpoint takes connections. Behind a proxy this cannot be checked, so the answer is yes."""
    address = urlsplit(endpoint)
    if getproxies().get(address.scheme):
        return True
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), timeout=TIMEOUT).close()
    except OSError:
        return False
    return True
