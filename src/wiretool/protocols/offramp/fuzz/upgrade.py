"""Mutations of the request for an upgrade (RFC 9112, RFC 6455 §4.1): its line, headers, key, line ends and body."""

import random
from abc import abstractmethod

from wiretool.fuzz.mutations.base import MessageMutation, Mutation, MutationContext
from wiretool.fuzz.sequences.sequence import Change, Sending, Splice

_END = b"\r\n\r\n"
_KEY, _VERSION, _HOST = b"sec-websocket-key", b"sec-websocket-version", b"host"
_HEADER_BYTES = (1024, 8192, 20_000, 70_000)
METHODS = (b"POST", b"HEAD", b"PUT", b"OPTIONS", b"CONNECT", b"PRI", b"get", b"G", b"GET\t", b"", b"M" * 300)
HTTP_VERSIONS = (
    b"HTTP/1.0",
    b"HTTP/0.9",
    b"HTTP/2.0",
    b"HTTP/1.10",
    b"http/1.1",
    b"HTTP/",
    b"",
    b"HTTP/1.1 ",
    b"XYZ/1.1",
)
WEBSOCKET_VERSIONS = (b"12", b"0", b"8", b"14", b"-1", b"", b"13, 8", b"013", b"abc", b"256", b"9" * 400)
#: Not base64, of other lengths than 16 bytes, with bits that no byte has, empty.
KEYS = (b"", b"?", b"dGhlIHNhbXBsZQ==", b"dGhlIHNhbXBsZSBub25jZQ", b"dGhlIHNhbXBsZSBub25jZR==", b"A" * 24, b"====",
        b"\xff\xfe\xfd", b"d Ghl IHNhbXBsZSBub25jZQ==", b"Z" * 4096, b"\x00" * 24)  # fmt: skip


class RequestHead:
    """The lines of a request, and what follows them in the same message."""

    def __init__(self, data: bytes) -> None:
        head, end, self.rest = data.partition(_END)
        self.is_whole = bool(end)
        self.line, *self.headers = head.split(b"\r\n")

    def place(self, name: bytes) -> int | None:
        """Return the index of the first header of a name, in lower case; None for none."""
        places = (at for at, header in enumerate(self.headers) if header.partition(b":")[0].lower() == name)
        return next(places, None)

    def data(self, line_end: bytes = b"\r\n") -> bytes:
        """Return the bytes of the request."""
        return line_end.join((self.line, *self.headers, b"", b"")) + self.rest


class _HeadMutation(MessageMutation):
    """A mutation of the request for an upgrade."""

    is_of_clients = True

    def fits(self, sending: Sending) -> bool:
        return sending.data[:4] == b"GET " and _END in sending.data

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        head = RequestHead(sending.data)
        region, made = self.remake(head, rng)
        splice = Splice(0, len(sending.data), made)
        return context.edited(sending, (splice,), Change(self.name, region))

    @abstractmethod
    def remake(self, head: RequestHead, rng: random.Random) -> tuple[str, bytes]:
        """Return the part of the request that is changed, and its bytes."""


class RequestLine(_HeadMutation):
    name = "upgrade/line"
    description = "another method, HTTP version or target; a long request line, or one with other spaces"

    def remake(self, head: RequestHead, rng: random.Random) -> tuple[str, bytes]:
        method, _, rest = head.line.partition(b" ")
        target, _, version = rest.rpartition(b" ")
        part = rng.choice(("method", "target", "version", "spaces"))
        if part == "method":
            method = rng.choice(METHODS)
        elif part == "version":
            version = rng.choice(HTTP_VERSIONS)
        elif part == "target":
            target = rng.choice(_targets(target, rng))
        space = rng.choice((b"  ", b"\t", b"", b" \x0b")) if part == "spaces" else b" "
        head.line = space.join((method, target, version))
        return f"request {part}", head.data()


def _targets(target: bytes, rng: random.Random) -> tuple[bytes, ...]:
    return (
        b"", b"*", b"/", b"//", b"http://other" + target, target + b"#fragment", target + b"%00", target + b"%zz",
        target + b"?" * 3, target + b"&a=" + b"b" * rng.choice(_HEADER_BYTES), target.replace(b"/", b"/../"),
        target + b"\x00", target + b"\xff", target.replace(b"v2", b"v1"), target + b" x", target.upper(),
        target.replace(b"roads/", b"roads/%2e%2e%2f"), b"/a" * 10_000,
    )  # fmt: skip


class HeaderLine(_HeadMutation):
    name = "upgrade/header"
    description = "a header is missing, doubled, in odd case, empty, long, folded, without a colon, or not text"

    def remake(self, head: RequestHead, rng: random.Random) -> tuple[str, bytes]:
        if not head.headers:
            return "headers", head.data()
        at = rng.randrange(len(head.headers))
        header = head.headers[at]
        name, _, value = header.partition(b":")
        head.headers[at : at + 1] = rng.choice(
            (
                [],
                [header, header],
                [header, name + b": " + rng.choice((b"", b"other", b"1"))],
                [name.swapcase() + b":" + value],
                [name + b":" + value.swapcase()],
                [name + b":"],
                [name + b" :" + value],
                [b" " + header],
                [name + value],
                [b":" + value],
                [name + b":" + value[: len(value) // 2], b" " + value[len(value) // 2 :]],
                [name + b":" + value + b", " + value.strip()],
                [name + b":" + value + b"\x00" + b"\xff"],
                [name + b":" + value + b"x" * rng.choice(_HEADER_BYTES)],
                [header, *(b"X-%d: y" % number for number in range(rng.choice((100, 1000, 5000))))],
            )
        )
        return name.decode("latin-1"), head.data()


class _OneHeader(_HeadMutation):
    """A mutation of the value of one header."""

    header = b""
    values: tuple[bytes, ...] = ()

    def remake(self, head: RequestHead, rng: random.Random) -> tuple[str, bytes]:
        at = head.place(self.header)
        line = self.header.title() + b": " + rng.choice(self.values)
        if at is None:
            head.headers.append(line)
        elif rng.random() < 0.2:
            head.headers.insert(at + rng.randrange(2), line)
        else:
            head.headers[at] = line
        return self.header.decode(), head.data()


class SocketVersion(_OneHeader):
    name = "upgrade/version"
    description = "a Sec-WebSocket-Version that the server does not have, or that is not a number"
    header, values = _VERSION, WEBSOCKET_VERSIONS


class SocketKey(_OneHeader):
    name = "upgrade/key"
    description = "a Sec-WebSocket-Key that is not base64, of another length, or a second one"
    header, values = _KEY, KEYS


class HostHeader(_HeadMutation):
    name = "upgrade/host"
    description = "no Host, two, or an invalid one"

    def remake(self, head: RequestHead, rng: random.Random) -> tuple[str, bytes]:
        at = head.place(_HOST)
        kept = [each for number, each in enumerate(head.headers) if number != at]
        hosts = rng.choice(
            ([], [], [b"a", b"b"], [b""], [b"a b"], [b"[::1"], [b"h:99999"], [b"/"], [b"h" * 5000], [b"127.0.0.1:x"])
        )
        head.headers = [*(b"Host: " + host for host in hosts), *kept]
        return "host", head.data()


class LineEnds(_HeadMutation):
    name = "upgrade/line-ends"
    description = "lines end in LF or CR alone, empty lines come first, the last empty line is missing"

    def remake(self, head: RequestHead, rng: random.Random) -> tuple[str, bytes]:
        usual = head.data()
        made = rng.choice(
            (
                head.data(b"\n"),
                head.data(b"\r"),
                head.data(b"\r\r\n"),
                head.data(b"\n\r"),
                b"\r\n" * rng.choice((1, 2, 1000)) + usual,
                b"\n" + usual,
                usual.replace(_END, b"\r\n", 1),
                usual.replace(_END, b"\r\n\n", 1),
                usual.replace(_END, b"\n\r\n", 1),
                usual.replace(b"\r\n", b"\n", 1),
            )
        )
        return "line ends", made


class RequestBody(_HeadMutation):
    name = "upgrade/body"
    description = "the request has a body, by length or in chunks, or a length that does not fit"

    def remake(self, head: RequestHead, rng: random.Random) -> tuple[str, bytes]:
        headers, body = rng.choice(
            (
                (b"Content-Length: 5", b"hello"),
                (b"Content-Length: 0", b""),
                (b"Content-Length: 100", b"hello"),
                (b"Content-Length: -1", b""),
                (b"Content-Length: 18446744073709551616", b"x"),
                (b"Content-Length: 5\r\nContent-Length: 6", b"hello!"),
                (b"Content-Length: five", b"hello"),
                (b"Transfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n"),
                (b"Transfer-Encoding: chunked", b"5;a=b\r\nhello\r\n0\r\nTrailer: x\r\n\r\n"),
                (b"Transfer-Encoding: chunked", b"ffffffffffffffff\r\nhello\r\n"),
                (b"Transfer-Encoding: chunked", b"-1\r\nhello\r\n"),
                (b"Transfer-Encoding: chunked", b"5\r\nhel"),
                (b"Transfer-Encoding: gzip, chunked\r\nContent-Length: 3", b"0\r\n\r\n"),
                (b"Expect: 100-continue\r\nContent-Length: 2", b"ok"),
                (b"X-Frame: 1", b"\x81\x80\x00\x00\x00\x00"),
                (b"X-Request: 2", head.line + b"\r\nHost: a\r\n\r\n"),
            )
        )
        head.headers += headers.split(b"\r\n")
        head.rest = body + head.rest
        return "body", head.data()


MUTATIONS: tuple[Mutation, ...] = (
    RequestLine(), HeaderLine(), SocketVersion(), SocketKey(), HostHeader(), LineEnds(), RequestBody(),
)  # fmt: skip
