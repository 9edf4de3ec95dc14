"""Reader groups: their configuration, the stream that holds their state, and how far they say they have read."""

from random import Random
from uuid import UUID

from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.lifecycle import Streams
from wiretool.protocols.pravega_controller.server.names import READER_GROUP, is_user_name
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.scopes import ReaderGroup, Scope, Scopes
from wiretool.protocols.pravega_controller.server.streams import Cut, Stream, Subscription

#: Of the stream that holds a group's state.
_ROLLOVER_BYTES = 4 * 1024 * 1024
_UUID_BITS = 128


class ReaderGroups:
    """The reader groups of all scopes. A group whose retention type is not NONE subscribes to the streams it reads."""

    def __init__(self, scopes: Scopes, streams: Streams, random: Random) -> None:
        self._scopes = scopes
        self._streams = streams
        self._random = random

    def create(self, config: pb.ReaderGroupConfiguration, now_ns: int) -> pb.ReaderGroupConfiguration:
        """Make a group and its stream; the configuration it has, of an older group of this name if there is one."""
        if not is_user_name(config.readerGroupName):
            raise Refused(Why.INVALID_RG_NAME, config.readerGroupName)
        scope = self._scopes.find(config.scope)
        known = scope.groups.get(config.readerGroupName)
        if known is not None:
            return known.config
        group = ReaderGroup(pb.ReaderGroupConfiguration())
        group.config.CopyFrom(config)
        if _id(config.readerGroupId) is None:
            group.config.readerGroupId = str(UUID(int=self._random.getrandbits(_UUID_BITS), version=4))
        state = pb.StreamConfig(streamInfo=pb.StreamInfo(scope=scope.name, stream=_state_stream(group)))
        state.scalingPolicy.minNumSegments = 1
        state.rolloverSizeBytes = _ROLLOVER_BYTES
        if state.streamInfo.stream not in scope.streams:
            self._streams.create(state, now_ns)
        scope.groups.add(config.readerGroupName, group)
        self._subscribe(group)
        return group.config

    def config(self, scope: str, name: str) -> pb.ReaderGroupConfiguration:
        """The configuration of a group."""
        return self._find(scope, name).config

    def update(self, config: pb.ReaderGroupConfiguration) -> int:
        """Give a group another configuration; its generation, one more than the old one, which must be named."""
        group = self._find(config.scope, config.readerGroupName)
        is_current = config.generation == group.config.generation
        if not is_current or _id(config.readerGroupId) != _id(group.config.readerGroupId):
            raise Refused(Why.INVALID_CONFIG, f"generation {config.generation} of {config.readerGroupName}")
        old = _subscribed(group)
        group.config.CopyFrom(config)
        group.config.generation += 1
        self._unsubscribe(group, old - _subscribed(group))
        self._subscribe(group)
        return group.config.generation

    def delete(self, scope: str, name: str, group_id: str, now_ns: int) -> None:
        """Remove a group and its stream."""
        group = self._find(scope, name)
        if _id(group_id) != _id(group.config.readerGroupId):
            raise Refused(Why.RG_NOT_FOUND, f"{scope}/{name} with id {group_id}")
        self.remove(self._scopes.find(scope), group, now_ns)

    def remove(self, scope: Scope, group: ReaderGroup, now_ns: int) -> None:
        """Remove a group of a scope as it is."""
        self._unsubscribe(group, _subscribed(group))
        state = scope.streams.get(_state_stream(group))
        if state is not None:
            self._streams.remove(state, now_ns)
        scope.groups.remove(group.config.readerGroupName)

    def subscribers(self, scope: str, stream: str) -> list[str]:
        """The full names of the groups that subscribe to a stream."""
        return list(self._scopes.stream(scope, stream).subscriptions)

    def note_cut(self, scope: str, stream: str, subscriber: str, group_id: str, generation: int, cut: Cut) -> None:
        """A subscriber needs nothing before this cut any more."""
        found = self._scopes.stream(scope, stream)
        subscription = found.subscriptions.get(subscriber)
        if subscription is None or _id(group_id) != self._subscriber_id(subscriber):
            raise Refused(Why.SUBSCRIBER_NOT_FOUND, subscriber)
        if generation != subscription.generation:
            raise Refused(Why.GENERATION_MISMATCH, f"generation {generation} of {subscriber}")
        if not found.is_cut(cut) or not found.is_at_or_behind(cut, subscription.cut):
            raise Refused(Why.STREAM_CUT_NOT_VALID, f"{scope}/{stream}")
        subscription.cut = dict(cut)

    def _find(self, scope: str, name: str) -> ReaderGroup:
        found = self._scopes.all.get(scope)
        group = None if found is None else found.groups.get(name)
        if group is None:
            raise Refused(Why.RG_NOT_FOUND, f"{scope}/{name}")
        return group

    def _subscriber_id(self, subscriber: str) -> UUID | None:
        scope, _, name = subscriber.partition("/")
        return _id(self._find(scope, name).config.readerGroupId)

    def _subscribe(self, group: ReaderGroup) -> None:
        """Subscribe to the streams that are there, with the generation of now; a cut that is known stays."""
        for scope, name in _subscribed(group):
            stream = self._stream(scope, name)
            if stream is not None:
                subscription = stream.subscriptions.setdefault(_full_name(group), Subscription(0))
                subscription.generation = group.config.generation

    def _unsubscribe(self, group: ReaderGroup, streams: set[tuple[str, str]]) -> None:
        for scope, name in streams:
            stream = self._stream(scope, name)
            if stream is not None:
                stream.subscriptions.pop(_full_name(group), None)

    def _stream(self, scope: str, name: str) -> Stream | None:
        found = self._scopes.all.get(scope)
        return None if found is None else found.streams.get(name)


def _id(text: str) -> UUID | None:
    """A group's id; None where there is none: nothing, or zeros."""
    try:
        uuid = UUID(text)
    except ValueError:
        return None
    return uuid if uuid.int else None


def _full_name(group: ReaderGroup) -> str:
    return f"{group.config.scope}/{group.config.readerGroupName}"


def _state_stream(group: ReaderGroup) -> str:
    return READER_GROUP + group.config.readerGroupName


def _subscribed(group: ReaderGroup) -> set[tuple[str, str]]:
    """The streams to which a group subscribes, by scope and name."""
    if group.config.retentionType == pb.ReaderGroupConfiguration.NONE:
        return set()
    return {(cut.streamInfo.scope, cut.streamInfo.stream) for cut in group.config.startingStreamCuts}
