"""Defects of iterations over tables and of their deltas."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.conformance.mutants.patches import retable
from wiretool.protocols.pravega.server import pages, table_replies, tables
from wiretool.protocols.pravega.server.table_segment import Delta, TableSegment
from wiretool.protocols.pravega.structures import TableEntries
from wiretool.protocols.pravega.tables import ReadTableEntriesDelta, TableEntriesDeltaRead

MUTANTS = Mutants()
_MANY = 1_000


@MUTANTS.declare("page-size-ignored", "A page has all entries, however many were asked for.")
def _size_ignored(patcher: Patcher) -> None:
    patcher.wrap(pages, "_up_to", lambda up_to: lambda entries, count, size: up_to(entries, _MANY, size))


@MUTANTS.declare("page-repeats-last", "A page begins with the last entry of the page before it.")
def _repeats_last(patcher: Patcher) -> None:
    def replace(behind: Any) -> Any:
        return lambda self, rank: self.between(rank, None) if rank else behind(self, rank)

    patcher.wrap(TableSegment, "behind", replace)


@MUTANTS.declare("page-empty-with-token", "An empty page has a token.")
def _empty_with_token(patcher: Patcher) -> None:
    def replace(page_of: Any) -> Any:
        def always(table: Any, args: Any, count: int) -> Any:
            found, token = page_of(table, args, count)
            return found, token or pages._HASH_TOKEN + bytes(16)

        return always

    patcher.wrap(table_replies, "page_of", replace)


@MUTANTS.declare("page-token-optional", "The last page has no token.")
def _last_without_token(patcher: Patcher) -> None:
    def replace(page_of: Any) -> Any:
        def bare(table: Any, args: Any, count: int) -> Any:
            found, token = page_of(table, args, count)
            return found, token if len(found) == count else b""

        return bare

    patcher.wrap(table_replies, "page_of", replace)


@MUTANTS.declare("range-without-end", "A range of keys does not have its last key.")
def _without_end(patcher: Patcher) -> None:
    def replace(between: Any) -> Any:
        def shorter(self: Any, first: bytes, last: bytes | None) -> Any:
            return (entry for entry in between(self, first, last) if entry.key != last)

        return shorter

    patcher.wrap(TableSegment, "between", replace)


@MUTANTS.declare("range-of-hashes", "A range of keys is taken where keys are hashed, and means nothing.")
def _of_hashes(patcher: Patcher) -> None:
    def replace(page: Any) -> Any:
        def lax(table: Any, request: Any, count: int) -> Any:
            if table.is_hash:
                request = replaced(request, args=replaced(request.args, from_key=b"", to_key=b""))
            return page(table, request, count)

        return lax

    _repage(patcher, replace)


def _repage(patcher: Patcher, replace: Any) -> None:
    """Replace how a page is found: a function of the table, the request and the number of entries."""
    patcher.wrap(tables, "page_or_refusal", replace)


@MUTANTS.declare("token-of-fixed-keys", "A table of fixed keys accepts a token, and starts again at the first key.")
def _of_fixed_keys(patcher: Patcher) -> None:
    def replace(page: Any) -> Any:
        def lax(table: Any, request: Any, count: int) -> Any:
            if not table.is_hash:
                request = replaced(request, args=replaced(request.args, continuation_token=b""))
            return page(table, request, count)

        return lax

    _repage(patcher, replace)


@MUTANTS.declare("token-unchecked", "A token that the server did not issue starts the iteration again.")
def _token_unchecked(patcher: Patcher) -> None:
    def replace(rank_of: Any) -> Any:
        return lambda token: rank_of(token) if token.startswith(pages._HASH_TOKEN) else b""

    patcher.wrap(pages, "_rank_of", replace)


@MUTANTS.declare("prefix-kept", "A prefix filter is kept.")
def _prefix_kept(patcher: Patcher) -> None:
    def replace(page_of: Any) -> Any:
        def filtered(table: Any, args: Any, count: int) -> Any:
            found, token = page_of(table, args, count)
            return [entry for entry in found if entry.key.startswith(args.prefix_filter)], token

        return filtered

    patcher.wrap(table_replies, "page_of", replace)


@MUTANTS.declare("fixed-keys-as-put", "The keys of a table of fixed keys come as they were put.")
def _as_put(patcher: Patcher) -> None:
    def replace(between: Any) -> Any:
        def unsorted(self: Any, first: bytes, last: bytes | None) -> Any:
            return iter(sorted(between(self, first, last), key=lambda entry: int(entry.offset)))

        return unsorted

    patcher.wrap(TableSegment, "between", replace)


# -- deltas ------------------------------------------------------------------------------------------------------------


def _redelta(patcher: Patcher, change: Any) -> None:
    """Change the page of a delta: a function of the table, the position, the number of entries, and the page."""

    def replace(delta: Any) -> Any:
        return lambda self, position, count: change(self, position, count, delta(self, position, count))

    patcher.wrap(TableSegment, "delta", replace)


@MUTANTS.declare("delta-ends-at-last-entry", "A delta continues at its last entry, not after it.")
def _at_last_entry(patcher: Patcher) -> None:
    def change(table: Any, position: int, count: int, page: Any) -> Any:
        if page is None or not page.entries:
            return page
        return page._replace(last_position=max(entry.offset for entry in page.entries))

    _redelta(patcher, change)


@MUTANTS.declare("delta-always-at-end", "Every page of a delta has reached_end set.")
def _always_at_end(patcher: Patcher) -> None:
    _redelta(patcher, lambda table, position, count, page: page and page._replace(reached_end=True))


@MUTANTS.declare("delta-always-clears", "Every page of a delta has should_clear set.")
def _always_clears(patcher: Patcher) -> None:
    _redelta(patcher, lambda table, position, count, page: page and page._replace(should_clear=True))


@MUTANTS.declare("delta-inside-entry", "A delta from inside an entry begins with the next one.")
def _inside_entry(patcher: Patcher) -> None:
    def change(table: Any, position: int, count: int, page: Any) -> Any:
        return Delta((), False, False, position) if page is None else page

    _redelta(patcher, change)


@MUTANTS.declare("delta-has-all-values", "A delta has every value of a key that was put twice.")
def _all_values(patcher: Patcher) -> None:
    def change(table: Any, position: int, count: int, page: Any) -> Any:
        if page is None:
            return None
        every = [each for each in table._log if position <= each.offset and each.value is not None]
        return page._replace(entries=tuple(every[:count]))

    _redelta(patcher, change)


def _reask(patcher: Patcher, replace: Any) -> None:
    retable(patcher, ReadTableEntriesDelta, replace)


def _nothing(request: Any) -> TableEntriesDeltaRead:
    return TableEntriesDeltaRead(
        request_id=request.request_id,
        segment=request.segment,
        entries=TableEntries(entries=()),
        should_clear=False,
        reached_end=True,
        last_position=request.from_position,
    )


@MUTANTS.declare("delta-beyond-end", "A delta from beyond the end is an empty page.")
def _beyond_end(patcher: Patcher) -> None:
    def replace(read: Any) -> Any:
        def lax(self: Any, table: Any, request: Any, now_ns: int) -> Any:
            return _nothing(request) if request.from_position > table.length else read(self, table, request, now_ns)

        return lax

    _reask(patcher, replace)


@MUTANTS.declare("delta-of-fixed-keys", "A table of fixed keys has an empty delta.")
def _delta_of_fixed(patcher: Patcher) -> None:
    def replace(read: Any) -> Any:
        def lax(self: Any, table: Any, request: Any, now_ns: int) -> Any:
            return read(self, table, request, now_ns) if table.is_hash else _nothing(request)

        return lax

    _reask(patcher, replace)
