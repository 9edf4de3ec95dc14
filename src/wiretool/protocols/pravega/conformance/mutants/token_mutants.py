"""Defects of delegation tokens, of the admin port and of index segments."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.conformance.mutants.patches import reanswer, rehandle
from wiretool.protocols.pravega.messages import SetupAppend
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    CreateTransientSegment,
    DeleteSegment,
    FlushToStorage,
    ListStorageChunks,
    LocateOffset,
    MergeSegments,
    OffsetLocated,
    SealSegment,
    SegmentDeleted,
    StorageChunksListed,
)
from wiretool.protocols.pravega.server import index, link, store, tokens
from wiretool.protocols.pravega.server.index import SegmentIndex
from wiretool.protocols.pravega.server.refusals import violation
from wiretool.protocols.pravega.server.store import SegmentStore
from wiretool.protocols.pravega.server.tokens import Failure, TokenChecker
from wiretool.protocols.pravega.structures import ChunkInfo

MUTANTS = Mutants()


def _recheck(patcher: Patcher, change: Any) -> None:
    """Change what is wrong with a token: a function of the token, resource, permission, time and failure."""

    def replace(check: Any) -> Any:
        return lambda self, *arguments: change(*arguments, check(self, *arguments))

    patcher.wrap(TokenChecker, "check", replace)


@MUTANTS.declare("token-never-checked", "Requests are served with any token, and with none.")
def _never_checked(patcher: Patcher) -> None:
    patcher.wrap(SegmentStore, "refused", lambda refused: lambda self, request, now_ns: None)


@MUTANTS.declare("token-expired-is-wrong", "A token that has expired is refused like any other.")
def _expired_is_wrong(patcher: Patcher) -> None:
    _recheck(
        patcher,
        lambda token, resource, needed, now_s, why: Failure.CHECK_FAILED if why is Failure.EXPIRED else why,
    )


@MUTANTS.declare("token-wrong-is-expired", "A token that is wrong is refused as expired.")
def _wrong_is_expired(patcher: Patcher) -> None:
    _recheck(patcher, lambda token, resource, needed, now_s, why: None if why is None else Failure.EXPIRED)


@MUTANTS.declare("token-does-not-expire", "The expiry of a token is not checked.")
def _does_not_expire(patcher: Patcher) -> None:
    patcher.set(tokens, "_expiry", lambda claims: None)


@MUTANTS.declare("token-signature-unchecked", "The signature of a token is not checked.")
def _signature_unchecked(patcher: Patcher) -> None:
    def replace(check: Any) -> Any:
        def unsigned(self: Any, token: str, *rest: Any) -> Any:
            signed = token.rpartition(".")[0]
            return check(self, f"{signed}.{tokens._base64(self._signature(signed))}", *rest)

        return unsigned

    patcher.wrap(TokenChecker, "check", replace)


@MUTANTS.declare("token-read-is-enough", "A token for reading is enough to write.")
def _read_is_enough(patcher: Patcher) -> None:
    patcher.set(store, "_UPDATES", ())


@MUTANTS.declare("token-write-for-all", "Every request needs the right to write.")
def _write_for_all(patcher: Patcher) -> None:
    patcher.set(store, "_UPDATES", (object,))


@MUTANTS.declare("token-prefix-of-name", "A token for a name is valid for all names that begin with it.")
def _prefix_of_name(patcher: Patcher) -> None:
    def replace(covers: Any) -> Any:
        return lambda claim, resource: covers(claim, resource) or resource.startswith(_bare(claim))

    patcher.wrap(tokens, "_covers", replace)


def _bare(claim: str) -> str:
    for prefix in tokens._PREFIXES:
        claim = claim.replace(prefix, "")
    return claim


@MUTANTS.declare("token-exact-name", "A token is valid only for exactly its name.")
def _exact_name(patcher: Patcher) -> None:
    patcher.set(tokens, "_covers", lambda claim, resource: claim == "*" or _bare(claim) == resource)


@MUTANTS.declare("token-star-unknown", "A token for everything is valid for nothing.")
def _star_unknown(patcher: Patcher) -> None:
    patcher.set(tokens, "_EVERYTHING", "(everything)")


@MUTANTS.declare("token-of-another", "A token for any stream is valid for every stream.")
def _of_another(patcher: Patcher) -> None:
    patcher.set(tokens, "_covers", lambda claim, resource: claim not in ("sub", "aud", "iat", "exp"))


@MUTANTS.declare("token-for-transient", "A transient segment needs a token.")
def _for_transient(patcher: Patcher) -> None:
    def replace(refused: Any) -> Any:
        def strict(self: Any, request: Any, now_ns: int) -> Any:
            if isinstance(request, CreateTransientSegment):
                like = CreateSegment(
                    request_id=request.request_id,
                    segment=request.parent_segment,
                    target_rate=0,
                    scale_type=0,
                    delegation_token=request.delegation_token,
                )
                return refused(self, like, now_ns)
            return refused(self, request, now_ns)

        return strict

    patcher.wrap(SegmentStore, "refused", replace)


@MUTANTS.declare("token-for-target", "The token of a merge is checked for the target.")
def _for_target(patcher: Patcher) -> None:
    def replace(refused: Any) -> Any:
        def target(self: Any, request: Any, now_ns: int) -> Any:
            like = replaced(request, source=request.target) if isinstance(request, MergeSegments) else request
            return refused(self, like, now_ns)

        return target

    patcher.wrap(SegmentStore, "refused", replace)


@MUTANTS.declare("token-checked-too-late", "A segment is sealed or deleted before the token of the request is checked.")
def _too_late(patcher: Patcher) -> None:
    def replace(refused: Any) -> Any:
        def late(self: Any, request: Any, now_ns: int) -> Any:
            why = refused(self, request, now_ns)
            if why is not None and isinstance(request, SealSegment | DeleteSegment):
                self.answer(request, now_ns)
            return why

        return late

    patcher.wrap(SegmentStore, "refused", replace)


@MUTANTS.declare(
    "token-expired-set-up", "The set-up of a writer with an expired token is refused, and its connection stays open."
)
def _expired_set_up(patcher: Patcher) -> None:
    def replace(set_up: Any) -> Any:
        def lax(self: Any, setup: SetupAppend, now_ns: int) -> None:
            why = self._store.refused(setup, now_ns)
            if why is not None:
                self.reply(why)
            else:
                set_up(self, setup, now_ns)

        return lax

    rehandle(patcher, (SetupAppend,), replace)


# -- the admin port ----------------------------------------------------------------------------------------------------


@MUTANTS.declare("admin-any-container", "A missing container is flushed.")
def _any_container(patcher: Patcher) -> None:
    def replace(flush: Any) -> Any:
        return lambda each, request, now_ns: flush(each, replaced(request, container_id=0), now_ns)

    reanswer(patcher, FlushToStorage, replace)


@MUTANTS.declare("admin-first-container", "Only the first container is flushed.")
def _first_container(patcher: Patcher) -> None:
    def replace(flush: Any) -> Any:
        def first(each: Any, request: Any, now_ns: int) -> Any:
            if request.container_id:
                raise violation("no-container", f"container {request.container_id}", "FlushToStorage")
            return flush(each, request, now_ns)

        return first

    reanswer(patcher, FlushToStorage, replace)


@MUTANTS.declare("admin-chunks-of-nothing", "A missing segment has no chunks.")
def _chunks_of_nothing(patcher: Patcher) -> None:
    reanswer(
        patcher,
        ListStorageChunks,
        lambda chunks: lambda each, request, now_ns: StorageChunksListed(request_id=request.request_id, chunks=()),
    )


@MUTANTS.declare("admin-chunks-made-up", "A segment in memory has a chunk.")
def _chunks_made_up(patcher: Patcher) -> None:
    chunk = ChunkInfo(
        length_in_metadata=1, length_in_storage=1, start_offset=0, chunk_name="chunk", exists_in_storage=True
    )
    reanswer(
        patcher,
        ListStorageChunks,
        lambda chunks: lambda each, request, now_ns: replaced(chunks(each, request, now_ns), chunks=(chunk,)),
    )


@MUTANTS.declare("admin-takes-writers", "The admin port sets writers up.")
def _takes_writers(patcher: Patcher) -> None:
    patcher.wrap(
        link, "_routes", lambda routes: lambda version, port: {**routes(version, "main"), **routes(version, port)}
    )


# -- index segments ----------------------------------------------------------------------------------------------------


@MUTANTS.declare("index-after", "An offset at the end of an append is located at the end of the next one.")
def _after(patcher: Patcher) -> None:
    def replace(locate: Any) -> Any:
        return lambda self, segment, target: locate(self, segment, target + 1)

    patcher.wrap(SegmentIndex, "locate", replace)


@MUTANTS.declare("index-beyond-as-asked", "An offset beyond the last append is located where it is.")
def _as_asked(patcher: Patcher) -> None:
    def replace(locate: Any) -> Any:
        return lambda self, segment, target: max(target, locate(self, segment, target))

    patcher.wrap(SegmentIndex, "locate", replace)


@MUTANTS.declare("index-for-all", "Every segment has an index.")
def _for_all(patcher: Patcher) -> None:
    patcher.set(index, "is_indexed", lambda name: not name.endswith("#index"))


@MUTANTS.declare("index-without-entries", "Appends have no entries in the index.")
def _without_entries(patcher: Patcher) -> None:
    patcher.wrap(SegmentIndex, "note", lambda note: lambda self, segment, now_ns: None)


@MUTANTS.declare("index-stays", "The index of a segment that is deleted stays.")
def _stays(patcher: Patcher) -> None:
    patcher.wrap(SegmentIndex, "delete", lambda delete: lambda self, name, now_ns: None)


@MUTANTS.declare("index-deleted-plainly", "An index segment that is deleted by its own name is reported as deleted.")
def _deleted_plainly(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def plain(each: Any, request: Any, now_ns: int) -> Any:
            answer(each, request, now_ns)
            return SegmentDeleted(request_id=request.request_id, segment=request.segment)

        return plain

    reanswer(patcher, DeleteSegment, replace)


@MUTANTS.declare("locate-missing-at-zero", "An offset of a missing segment is located at 0.")
def _missing_at_zero(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def lax(each: Any, request: Any, now_ns: int) -> Any:
            if not each.segments.exists(request.segment):
                return OffsetLocated(request_id=request.request_id, segment=request.segment, offset=0)
            return answer(each, request, now_ns)

        return lax

    reanswer(patcher, LocateOffset, replace)
