"""A blocking connection to a server. Under Locust, whose sockets are gevent's, only the greenlet that waits is held."""

import socket
from contextlib import suppress

from wiretool.errors import PeerError, UsageError

#: How long a server may take to accept, and to answer what is asked outside of the load.
CONNECT_S = 10.0
ANSWER_S = 10.0
#: What timers of the event loop, which counts in milliseconds, may come too late by.
TIMER_S = 0.002
#: What one call takes from the kernel at most.
RECEIVE_BYTES = 64 * 1024


def check_free(host: str, port: int, *, option: str) -> None:
    """UsageError where nothing can be served at that address."""
    try:
        with socket.create_server((host, port)):
            pass
    except (OSError, UnicodeError) as err:
        raise UsageError(f"{option} {host}:{port}: {_why(err)}") from err


class Failed(PeerError):
    """An exchange that came to nothing: `kind` is what went wrong in a few words, the same ones each time."""

    def __init__(self, why: str, *, kind: str) -> None:
        super().__init__(why)
        self.kind = kind


class Link:
    """One connection. Failed, with the address, wherever the network says no."""

    def __init__(self, host: str, port: int) -> None:
        self.name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            self.socket = socket.create_connection((host, port), CONNECT_S)
        except (OSError, UnicodeError) as err:
            raise Failed(f"cannot reach {self.name}: {_why(err)}", kind=f"cannot connect: {_why(err)}") from err
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.wait(ANSWER_S)

    def wait(self, seconds: float | None) -> None:
        """From now on let `receive` and `send` take so long, None: as long as it takes."""
        self.socket.settimeout(seconds)

    def send(self, data: bytes | bytearray) -> None:
        """Send all of it."""
        try:
            self.socket.sendall(data)
        except OSError as err:
            raise self.lost(err) from err

    def receive(self) -> bytes:
        """What has come, at least a byte."""
        try:
            data = self.socket.recv(RECEIVE_BYTES)
        except OSError as err:
            raise self.lost(err) from err
        if not data:
            raise self.closed()
        return data

    def receive_within(self, seconds: float) -> bytes:
        """What comes in that time, or a little more, as timers have it; nothing if nothing does."""
        self.socket.settimeout(max(seconds, TIMER_S))
        try:
            data = self.socket.recv(RECEIVE_BYTES)
        except TimeoutError:
            return b""
        except OSError as err:
            raise self.lost(err) from err
        finally:
            self.wait(ANSWER_S)
        if not data:
            raise self.closed()
        return data

    def close(self) -> None:
        """Let go of it."""
        with suppress(OSError):  # closing what is lost already
            self.socket.close()

    def lost(self, err: OSError) -> Failed:
        """What such an error of its socket means."""
        if isinstance(err, TimeoutError):
            why = f"no answer in {self.socket.gettimeout():g} s"
            return Failed(f"{self.name}: {why}", kind=why)
        return Failed(f"lost {self.name}: {_why(err)}", kind=f"connection lost: {_why(err)}")

    def closed(self) -> Failed:
        """What it means that there is nothing more to receive."""
        return Failed(f"{self.name} closed the connection", kind="connection closed by the server")


def _why(err: Exception) -> str:
    if isinstance(err, TimeoutError):
        return f"no answer in {CONNECT_S:g} s"
    return getattr(err, "strerror", None) or str(err) or type(err).__name__
