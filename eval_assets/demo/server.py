"""
The demo's agent server: a port on the loopback interface, a thread that serves it, and the command that does so.

What is answered is `desk.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import socket
import sys
import threading
from collections.abc import Iterator, Sequence

import uvicorn
from starlette.applications import Starlette

from eval_assets.demo import desk
from eval_assets.demo.models import DEFAULT_SEED, MODELS

HOST = "127.0.0.1"
PREFERRED_PORT = 8765
_GRACE_SECONDS = 2

__all__ = ["DEFAULT_SEED", "HOST", "PREFERRED_PORT", "demo_server", "main"]


@contextlib.contextmanager
def demo_server(*, port: int = PREFERRED_PORT, seed: int = DEFAULT_SEED) -> Iterator[str]:
    """
    Serve the demo's models from a thread of this process for as long as the block lasts.

    Args:
        port: Where to listen. Any free port when it is taken, or 0.
        seed: What all chance follows from. The same seed gives the same runs, whatever the concurrency.

    Yields:
        The base URL, ending in `/v1`. The server answers from the first line of the block on.

    Raises:
        RuntimeError: The server could not start.
    """
    listening = _listen(port)
    server = _Server(desk.application(seed))
    thread = threading.Thread(target=server.serve_on, args=(listening,), name="eval-assets-demo-server", daemon=True)
    thread.start()
    try:
        server.wait_until_ready()
        yield _base_url(listening)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted: `python -m eval_assets.demo.server`."""
    parser = argparse.ArgumentParser(prog="python -m eval_assets.demo.server", description="The demo's agent server.")
    parser.add_argument("--port", type=int, default=PREFERRED_PORT, help="another free one is taken when it is in use")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="what all chance follows from")
    options = parser.parse_args(arguments)
    with contextlib.closing(_listen(options.port)) as listening:
        models = ", ".join(MODELS)
        sys.stdout.write(f"Serving {models} at {_base_url(listening)}\nStop with Ctrl-C.\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            _Server(desk.application(options.seed)).serve_on(listening)


class _Server(uvicorn.Server):
    """A uvicorn server that says by an event when it is ready, instead of being polled."""

    def __init__(self, app: Starlette) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            log_config=None,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        super().__init__(config)
        self._settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._settled.set()

    def serve_on(self, listening: socket.socket) -> None:
        try:
            self.run([listening])
        finally:
            self._settled.set()

    def wait_until_ready(self) -> None:
        self._settled.wait()
        if not self.started:
            raise RuntimeError("the demo server could not start; its error is above")


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return socket.create_server((HOST, 0))


def _base_url(listening: socket.socket) -> str:
    host, port = listening.getsockname()
    return f"http://{host}:{port}/v1"


if __name__ == "__main__":
    main()
