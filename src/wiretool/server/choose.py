"""The mock for a protocol."""

from collections.abc import Callable, Mapping

from wiretool.codec.jsonform import nearest
from wiretool.errors import UsageError
from wiretool.server.mock import Mock
from wiretool.server.options import MockOptions, check_options


def mock_for(protocol: str, options: MockOptions) -> Mock:
    """A new mock server of a protocol. UsageError for a protocol without one, or options that are not its."""
    make = MAKERS.get(protocol)
    if make is None:
        raise UsageError(f"no server for {protocol!r}{nearest(protocol, MAKERS)}: there is one for {', '.join(MAKERS)}")
    check_options(protocol, options)
    return make(options)


def _pravega(options: MockOptions) -> Mock:
    from wiretool.protocols.pravega.server.mock import RELEASED_VERSION, PravegaMock

    return PravegaMock(
        wire_version=RELEASED_VERSION if options.wire_version is None else options.wire_version,
        seed=options.seed,
        retain_bytes=options.retain_bytes,
        like_real=options.like_real,
        auth=options.auth,
        advertise=options.advertise,
        has_admin=options.has_admin,
        has_leases=options.leases,
        is_paced=options.is_paced,
    )


def _pravega_draft(options: MockOptions) -> Mock:
    from wiretool.protocols.pravega_draft.server.mock import DraftMock

    return DraftMock(segments=options.segments, starts=options.segment_starts, retain_bytes=options.retain_bytes)


def _sbp(options: MockOptions) -> Mock:
    from wiretool.protocols.sbp.server.mock import SbpMock

    is_apart = options.range_servers > 0
    return SbpMock(
        has_two_doors=is_apart,
        like_real=options.like_real,
        servers={} if is_apart else None,
        range_servers=options.range_servers or 1,
        followers=options.followers,
        retain_bytes=options.retain_bytes,
    )


def _sbp_0_1(options: MockOptions) -> Mock:
    from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock

    is_apart = options.range_servers > 0
    return Sbp01Mock(
        has_two_doors=is_apart,
        schema=options.schema,
        like_real=options.like_real,
        nodes={} if is_apart else None,
        retain_bytes=options.retain_bytes,
    )


def _offramp(options: MockOptions) -> Mock:
    from wiretool.protocols.offramp.server.mock import OfframpMock

    return OfframpMock(
        roads=options.roads,
        feed=options.feed,
        rate=options.rate,
        starts=options.road_starts,
        retain_bytes=options.retain_bytes,
        auth=None if options.auth is None else dict([options.auth]),
        seed=options.seed,
        like_real=options.like_real,
    )


#: A mock's modules are imported when it is wanted.
MAKERS: Mapping[str, Callable[[MockOptions], Mock]] = {
    "pravega": _pravega,
    "pravega-draft": _pravega_draft,
    "sbp": _sbp,
    "sbp-0.1": _sbp_0_1,
    "offramp": _offramp,
}
