"""nginx before several apps, with the configuration of docs/app.md on ports of its own."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.show.app.browser.serving import free_port

DOCS = Path(__file__).parents[4] / "docs" / "app.md"
#: What the whole file of a system holds around it. Everything is written into one folder.
AROUND = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
access_log off;
client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{inner}
}}
"""


def documented() -> str:
    """The configuration as docs/app.md has it."""
    match = re.search(r"```nginx\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None, "docs/app.md has no configuration for nginx"
    return match[1]


@contextmanager
def proxied(ports: Sequence[int], folder: Path) -> Iterator[str]:
    """nginx before the apps on two ports, until the block ends; its address."""
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    front = free_port()
    inner = documented()
    for before, after in zip((8501, 8502), ports, strict=True):
        inner = inner.replace(f":{before}", f":{after}")
    inner = inner.replace("listen 8500", f"listen 127.0.0.1:{front}")
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder, inner=inner), encoding="utf-8")
    process = subprocess.Popen([nginx, "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.PIPE)
    try:
        while not _listens(front):
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.05)
        yield f"http://127.0.0.1:{front}"
    finally:
        process.terminate()
        process.wait(30)


def _listens(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0
