"""Which protocol a connection speaks: by its port, then by what only one of them can say."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

from wiretool import limits
from wiretool.codec.frames.resync import chain_at_front
from wiretool.codec.frames.splitter import SURE_AT_START, Piece, Splitter
from wiretool.codec.message import SIDES, Side
from wiretool.errors import DecodeError
from wiretool.protocols.base.conversation import Conversation, let_go
from wiretool.protocols.base.protocol import Protocol

#: Points of evidence (see Conversation.trust) that decide at once when nothing else fits.
POINTS_SURE = 2
#: Points that a port nobody is expected on must show before its bytes are taken for a protocol of ours.
POINTS_UNEXPECTED = 4


#: First bytes of connections that are remembered: so many at most of one, and of so many.
START_BYTES_MAX, STARTS_MAX = 512, 256


class Chunk(NamedTuple):
    """Bytes of one side, in the order in which they were captured; a hole in front of them is `missing` bytes.

    It may be another number of bytes unless it `is_exact`.
    """

    side: Side
    data: bytes
    missing: int = 0
    is_exact: bool = True


class Verdict(NamedTuple):
    """The protocol, or None with the reason; `note` says where another would have fitted as well."""

    protocol: Protocol | None
    #: The conversation that read the first frames to find out.
    trial: Conversation | None = None
    why: str = ""
    note: str = ""
    #: Whether whole frames were read, so that not the port alone speaks for the protocol.
    has_frames: bool = False
    #: Whether the only chunk is known to be frames from its first byte on, the last of which may be unfinished.
    is_in_step: bool = False


@dataclass(slots=True)
class Evidence:
    """How well the first frames of a connection fit one protocol."""

    protocol: Protocol
    conversation: Conversation
    points: int = 0
    against: int = 0
    frames: int = 0

    @property
    def score(self) -> int:
        """For less against."""
        return self.points - 4 * self.against

    def verdict(self, note: str = "") -> Verdict:
        """That it is this protocol."""
        if self.conversation.doubt and not note:
            note = f"read as {self.protocol.name} because of its port: {self.conversation.doubt}"
        return Verdict(self.protocol, self.conversation, note=note, has_frames=self.frames > 0)


#: By the side and bytes of the first packet and the names of the protocols that are expected: the one they prove.
_STARTS: dict[tuple[Side, bytes, tuple[str, ...]], Protocol | None] = {}


def recognise(
    chunks: Sequence[Chunk],
    *,
    from_start: bool,
    expected: Sequence[Protocol],
    every: Collection[Protocol],
    final: bool,
) -> Verdict | None:
    """What the connection speaks, or None while more bytes may tell (never when `final`)."""
    foreign = describe_foreign(chunks)
    other = Verdict(None, why=f"{foreign}, on a port of {expected[0].name}" if foreign and expected else foreign)
    if foreign in UNMISTAKABLE:
        return other
    bytes_max = limits.RECOGNISE_BYTES_MAX if expected else limits.RECOGNISE_UNEXPECTED_BYTES_MAX
    full = final or sum(len(chunk.data) for chunk in chunks) > bytes_max
    if expected and foreign in (HTTP, HTTP_2):
        if not (owning := _without_disowning(expected, chunks, full)) and foreign == HTTP:
            return Verdict(None, why=f"{foreign} of another service")
        if not full and _without_disowning(expected, chunks, True) != owning:
            return None
        expected = owning
    proved = None
    if expected and not from_start:
        proved = expected[0].attempt(partial(_verdict_at_front, expected, chunks), otherwise=None)
    if proved is not None:
        return proved
    choices = expected or every
    found = _weigh_choices(choices, chunks, from_start=from_start, may_skip=bool(expected))
    if not full and not _is_decided(found, POINTS_SURE if expected else POINTS_UNEXPECTED):
        return None
    wanted = 1 if expected else POINTS_UNEXPECTED
    found = found if expected else _without_doubt(found)
    fits = [evidence for evidence in found if evidence.points >= wanted and not evidence.against]
    # Where several fit it is the first, the newest: more points only say that another has fewer required fields.
    best = fits[0] if fits else max(found, key=lambda evidence: evidence.score, default=None)
    if best is not None and best.points >= wanted and best.score > 0:
        return best.verdict(_also(found, best))
    if expected and best is not None:
        return _unexpected(chunks, expected, every, foreign, best, from_start=from_start)
    if expected and not found:  # their plugins failed
        others = [each for each in every if each not in expected]
        return recognise(chunks, from_start=from_start, expected=(), every=others, final=final)
    return other if foreign else Verdict(None, why="nothing of a protocol known here")


def protocol_of_start(
    side: Side, data: bytes, expected: Sequence[Protocol], every: Collection[Protocol]
) -> Protocol | None:
    """Return the protocol that the bytes of the first packet of a connection prove; None where `recognise` must tell.

    Thousands of connections may begin with the same bytes: short ones are remembered. Where any message may be the
    first, few do.
    """
    if not expected or not expected[0].first_messages or len(data) > START_BYTES_MAX:
        return None
    key = side, data, tuple(protocol.name for protocol in expected)
    if key not in _STARTS:
        if len(_STARTS) >= STARTS_MAX:
            _STARTS.clear()
        verdict = recognise([Chunk(side, data)], from_start=True, expected=expected, every=every, final=False)
        _STARTS[key] = verdict.protocol if verdict is not None and _is_memorable(verdict) else None
    return _STARTS[key]


def _is_memorable(verdict: Verdict) -> bool:
    """Return whether nothing but the protocol matters in a verdict: no note, nor what was learned on trial."""
    return not verdict.note and verdict.trial is not None and type(verdict.trial).recall is Conversation.recall


def _without_disowning(expected: Sequence[Protocol], chunks: Sequence[Chunk], full: bool) -> Sequence[Protocol]:
    """Return the protocols that do not disown what client and server send."""
    client, server = (b"".join(chunk.data for chunk in chunks if chunk.side == side) for side in SIDES)
    return [
        each
        for each in expected
        if each.disowns is None or not each.attempt(partial(each.disowns, client, server, full), otherwise=True)
    ]


def _unexpected(
    chunks: Sequence[Chunk],
    expected: Sequence[Protocol],
    every: Collection[Protocol],
    foreign: str,
    poor: Evidence,
    *,
    from_start: bool,
) -> Verdict:
    """A known port with little of its protocol on it: another one of ours, something foreign, or a broken peer."""
    others = _without_doubt(weigh_each([each for each in every if each not in expected], chunks, from_start=from_start))
    best = max(others, key=lambda evidence: evidence.score, default=None)
    # Chance makes a few points: only what fits throughout is taken for another than the port says.
    is_better = best is not None and best.points >= POINTS_UNEXPECTED and not (best.against and poor.points)
    if best is not None and is_better and best.score > 0:
        return best.verdict(f"the port is one of {expected[0].name}, the bytes are {best.protocol.name}")
    if poor.points:
        return poor.verdict(f"read as {poor.protocol.name} because of its port, although parts do not fit")
    if foreign:
        return Verdict(None, why=f"{foreign}, on a port of {expected[0].name}")
    return Verdict(expected[0], note=f"read as {expected[0].name} because of its port alone")


def _verdict_at_front(expected: Sequence[Protocol], chunks: Sequence[Chunk]) -> Verdict | None:
    """Return the verdict where the first bytes, of one side, prove what is expected first, and no other fits them.

    It is that of weighing each protocol, for one walk over the frames; None where that is not certain.
    """
    if len(chunks) != 1 or chunks[0].missing:
        return None
    side, data = chunks[0][:2]
    conversation = expected[0].open(False)
    if not conversation.is_proved_by_trust:
        return None
    chain = chain_at_front(conversation, side, data, SURE_AT_START)
    if chain is None or not (chain.is_read_to_end or chain.frames >= limits.RECOGNISE_FRAMES_MAX):
        return None
    if any(_may_fit(each, chunks) for each in expected[1:]):
        return None
    return Verdict(expected[0], conversation, has_frames=True, is_in_step=chain.is_read_to_end)


def _may_fit(protocol: Protocol, chunks: Sequence[Chunk]) -> bool:
    """Return whether bytes of a middle are not against a protocol."""
    if _is_refused(protocol, chunks, from_start=False):
        return False
    evidence = weigh(protocol, chunks, from_start=False)
    return evidence is not None and evidence.points > 0 and not evidence.against


def _without_doubt(found: Iterable[Evidence]) -> list[Evidence]:
    """Those that may be taken for what they are where the port does not say so."""
    return [evidence for evidence in found if not evidence.conversation.doubt]


def _is_decided(found: Sequence[Evidence], sure: int) -> bool:
    """Whether one protocol fits well and nothing fits beside it, or enough frames were seen."""
    fits = [evidence for evidence in found if evidence.points and not evidence.against]
    if len(fits) == 1 and fits[0].conversation.is_decided:
        return fits[0].points >= sure
    return any(evidence.frames >= limits.RECOGNISE_FRAMES_MAX for evidence in fits or found)


def _also(found: Sequence[Evidence], best: Evidence) -> str:
    """That another protocol fits exactly as well: a guess that must not be silent."""
    same = [other.protocol.name for other in found if other is not best and other.points and not other.against]
    if best.against or not same:
        return ""
    names = " and ".join([best.protocol.name, *same])
    return f"{names} both fit; read as {best.protocol.name}; --protocol NAME decides"


def _weigh_choices(
    choices: Collection[Protocol], chunks: Sequence[Chunk], *, from_start: bool, may_skip: bool
) -> list[Evidence]:
    """Return the evidence for each protocol; `may_skip` leaves out refused ones where another fits."""
    others = list(choices)[1:] if may_skip else []
    skipped = [each for each in others if _is_refused(each, chunks, from_start=from_start)]
    found = weigh_each([each for each in choices if each not in skipped], chunks, from_start=from_start)
    if any(evidence.points and not evidence.against for evidence in found):
        return found
    found += weigh_each(skipped, chunks, from_start=from_start)
    order = list(choices)
    return sorted(found, key=lambda evidence: order.index(evidence.protocol))


def _is_refused(protocol: Protocol, chunks: Sequence[Chunk], *, from_start: bool) -> bool:
    """Return whether no side begins with a frame of the protocol: evidence against it comes before any for it.

    False where the first bytes of each side do not prove that.
    """
    joined = list(_joined(chunks))
    if any(chunk.missing for chunk in joined) or len({chunk.side for chunk in joined}) < len(joined):
        return False
    return protocol.attempt(partial(_have_no_frame, protocol, joined, from_start=from_start), otherwise=True)


def _have_no_frame(protocol: Protocol, chunks: Sequence[Chunk], *, from_start: bool) -> bool:
    conversation = protocol.open(from_start)
    return all(_is_no_frame(conversation, chunk) for chunk in chunks)


def are_refused(conversations: Sequence[Conversation], side: Side, data: bytes) -> bool:
    """Return whether the first bytes of a side are no frame in any of these conversations, which have read nothing."""
    return all(_is_no_frame(each, Chunk(side, data)) for each in conversations)


def _is_no_frame(conversation: Conversation, chunk: Chunk) -> bool:
    try:
        length = conversation.extent(chunk.side, chunk.data, 0, len(chunk.data))
    except DecodeError as err:
        return err.kind != "incomplete"
    return 0 < length <= len(chunk.data) and not conversation.trust(chunk.side, chunk.data, 0, length)


def weigh(protocol: Protocol, chunks: Sequence[Chunk], *, from_start: bool) -> Evidence | None:
    """Return the evidence of the first frames for one protocol; None if its plugin fails on them."""
    return protocol.attempt(partial(_weighed, protocol, chunks, from_start=from_start), otherwise=None)


def weigh_each(protocols: Iterable[Protocol], chunks: Sequence[Chunk], *, from_start: bool) -> list[Evidence]:
    """Return the evidence for each protocol; there is none for a plugin that fails."""
    found = [weigh(each, chunks, from_start=from_start) for each in protocols]
    return [evidence for evidence in found if evidence is not None]


def _weighed(protocol: Protocol, chunks: Sequence[Chunk], *, from_start: bool) -> Evidence:
    conversation = protocol.open(from_start)
    evidence = Evidence(protocol, conversation)
    splitters: dict[Side, Splitter] = {
        "client": Splitter(conversation, "client", from_start=from_start),
        "server": Splitter(conversation, "server", from_start=from_start),
    }
    for chunk in _joined(chunks):
        splitter = splitters[chunk.side]
        pieces = splitter.gap(chunk.missing, is_exact=chunk.is_exact) if chunk.missing else []
        for piece in pieces + splitter.feed(chunk.data):
            _weigh_piece(evidence, conversation, chunk.side, piece)
            if evidence.frames >= limits.RECOGNISE_FRAMES_MAX:
                return evidence
    for side, splitter in splitters.items():
        if splitter.is_searching and splitter.held:
            for piece in splitter.end():
                _weigh_piece(evidence, conversation, side, piece)
    return evidence


def _joined(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """The chunks, those of one side that follow one another in one: each that is fed costs a walk where none fits."""
    for (side, missing), run in groupby(chunks, key=lambda chunk: (chunk.side, chunk.missing)):
        if missing:
            yield from run
        else:
            yield Chunk(side, b"".join(chunk.data for chunk in run))


def _weigh_piece(evidence: Evidence, conversation: Conversation, side: Side, piece: Piece) -> None:
    if piece.kind == "gap":
        conversation.hole(side)
    elif piece.kind == "lost":
        evidence.against += piece.error != "incomplete"
    else:
        points = conversation.trust(side, piece.data, piece.at, piece.end)
        evidence.points += points
        evidence.against += not points
        evidence.frames += 1
        let_go(conversation.read(side, piece.data, piece.at, piece.end, evidence.frames).defects)


#: What shows itself in its first bytes; nothing of ours begins so.
UNMISTAKABLE = ("TLS", "SSH")
HTTP = "HTTP"
HTTP_2 = "HTTP/2 without a call of Pravega's controller"
#: Whole frames at the beginning of both sides together that make a connection HTTP/2.
HTTP_2_FRAMES = 2
#: The last type of HTTP/2 frames (RFC 9113 §6).
HTTP2_KIND_MAX = 9
#: The first bytes of a side by which another protocol is described.
FOREIGN_BYTES = 16
#: The first chunks of a connection that are looked at for that.
FOREIGN_CHUNKS = 8
#: How foreign streams begin, and what they are.
_FOREIGN = (
    (b"\x16\x03", "TLS"),
    (b"PRI * HTTP/2.0", HTTP_2),
    (b"GET ", HTTP),
    (b"POST ", HTTP),
    (b"PUT ", HTTP),
    (b"HEAD ", HTTP),
    (b"OPTIONS ", HTTP),
    (b"DELETE ", HTTP),
    (b"HTTP/1.", HTTP),
    # HTTP/0.9 has no status line: what some servers send to bytes that they cannot read.
    (b"<!DOCTYPE HTML", HTTP),
    (b"<!doctype html", HTTP),
    (b"SSH-", "SSH"),
)


def describe_foreign(chunks: Sequence[Chunk]) -> str:
    """What a stream that is none of ours is, as far as its first bytes tell; empty when they do not."""
    frames = 0
    for side in SIDES:
        begun = b"".join(chunk.data for chunk in chunks[:FOREIGN_CHUNKS] if chunk.side == side)
        first = begun[:FOREIGN_BYTES]
        for begins, name in _FOREIGN:
            if first.startswith(begins) and not (name == "TLS" and (len(first) < 3 or first[2] > 4)):
                return name
        if len(first) > 3 and first[0] in (0x14, 0x15, 0x17) and first[1] == 3 and first[2] <= 4:
            return "TLS"
        frames += _http2_frames_at_front(begun)
    return HTTP_2 if frames >= HTTP_2_FRAMES else ""


def is_never_foreign(begins: bytes) -> bool:
    """Return whether the first four bytes of a side, or fewer, show that `describe_foreign` never names it."""
    return begins[:1] in (b"\0", b"\1") and (len(begins) < 4 or begins[3] > HTTP2_KIND_MAX)


def _http2_frames_at_front(data: bytes) -> int:
    """Return the number of whole HTTP/2 frames, at most HTTP_2_FRAMES, at the beginning of one side's bytes.

    0 if one of them is malformed. A frame has a length that all peers accept, a known type, and a stream identifier
    that its type permits (RFC 9113 §4.1, §4.2, §6). Connections begin so whose preface was not captured.
    """
    at = count = 0
    while count < HTTP_2_FRAMES and at + 9 <= len(data):
        length, kind = int.from_bytes(data[at : at + 3], "big"), data[at + 3]
        stream = int.from_bytes(data[at + 5 : at + 9], "big")
        has_stream_in_place = kind == 8 or (kind in (4, 6, 7)) == (stream == 0)
        if length > 16_384 or kind > HTTP2_KIND_MAX or stream >= 1 << 31 or not has_stream_in_place:
            return 0
        at += 9 + length
        count += at <= len(data)
    return count
