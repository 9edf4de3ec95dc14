"""Lists that the controller gives out page by page: where one page ends is the server's choice, as is their order."""

from collections.abc import Iterator, Mapping
from typing import Any

from wiretool.analysis.dialogues import Recording
from wiretool.records import Record
from wiretool.replay.adapter import Excuse, Verdict

PAGES = Excuse(Verdict.EXPLAINED, "the server chooses the order of a list and where its pages end")
OTHERS = Excuse(Verdict.EXPLAINED, "the server has more entries than the recording shows")
#: Method -> the field with the names.
FIELDS: Mapping[str, str] = {
    "listScopes": "scopes",
    "listStreamsInScope": "streams",
    "listStreamsInScopeForTag": "streams",
    "listKeyValueTablesInScope": "kvtables",
}
#: What a thing in a list is called.
_NAMES = ("stream", "kvtName")


class _List:
    """One list from its first page to its last."""

    def __init__(self) -> None:
        self.names: list[str] = []
        #: The numbers of the requests for its pages, and how many names there are up to each.
        self.pages: dict[int, int] = {}
        #: The names of it that the live server has told, once a page of that was another; and the page of each name.
        self.heard: set[str] = set()
        self.told: dict[str, int] = {}
        self.is_cut_otherwise = False


class Lists:
    """The lists of a recording."""

    def __init__(self, recording: Recording, protocol: str) -> None:
        self._of: dict[int, _List] = {}
        self._named: set[str] = set()
        asked: dict[int, Record] = {}
        begun: dict[tuple[int, str, str], _List] = {}
        for dialogue in recording.of(protocol):
            for record in dialogue.records:
                fields = record.fields
                if record.kind != "frame" or not isinstance(fields, Mapping):
                    continue
                if record.side == "client":
                    asked[record.n] = record
                    self._named.update(_names_in(fields))
                elif record.message in FIELDS and record.reply_to in asked:
                    self._add(asked[record.reply_to], record.message, fields, begun)

    def _add(
        self, request: Record, method: str, answer: Mapping[str, Any], begun: dict[tuple[int, str, str], _List]
    ) -> None:
        assert isinstance(request.fields, Mapping)
        token = (request.fields.get("continuationToken") or {}).get("token", "")
        key = request.connection, method, repr({**request.fields, "continuationToken": None})
        if not token or key not in begun:
            begun[key] = _List()
        found = self._of[request.n] = begun[key]
        found.names += names_of(answer[FIELDS[method]])
        found.pages[request.n] = len(found.names)

    def excuse(self, recorded: Record, live: Record, request: Record) -> Excuse | None:
        """Return why a page differs; None where names are missing, repeated or foreign, or more than names differs."""
        found = self._of.get(request.n)
        if found is None or not isinstance(live.fields, Mapping) or not isinstance(recorded.fields, Mapping):
            return None
        field = FIELDS[live.message]
        told = names_of(live.fields[field])
        if any(name not in found.names and self._is_known(name) for name in told):
            return None
        if not all(_is_asked(each, request) for each in live.fields[field]):
            return None
        self._count_pages_before(found, request.n)
        if len(set(told)) < len(told) or any(found.told.setdefault(name, request.n) != request.n for name in told):
            return None
        found.heard.update(name for name in told if name in found.names)
        expected = set(names_of(recorded.fields[field]))
        if expected == {name for name in told if name in found.names}:
            return OTHERS
        is_last = found.pages[request.n] == len(found.names) or not told
        missing = {name for name in found.names if self._is_known(name)} - found.heard
        return None if is_last and missing else PAGES

    def _is_known(self, name: str) -> bool:
        """Whether the recording is about it: a call names it."""
        return name in self._named

    def _count_pages_before(self, found: _List, n: int) -> None:
        """The pages before the first that was another were the same."""
        if not found.is_cut_otherwise:
            found.is_cut_otherwise = True
            before = [count for request, count in found.pages.items() if request < n]
            found.heard.update(found.names[: max(before, default=0)])
            found.told |= dict.fromkeys(found.heard, -1)


def names_of(entries: Any) -> list[str]:
    """The names of what is in a list."""
    return [
        each if isinstance(each, str) else next(str(each[name]) for name in _NAMES if name in each) for each in entries
    ]


def _is_asked(entry: Any, request: Record) -> bool:
    """Return whether an entry is in the scope whose list was requested, and says nothing else than its name."""
    if not isinstance(entry, Mapping):
        return True
    assert isinstance(request.fields, Mapping)
    scope = (request.fields.get("scope") or {}).get("scope")
    return entry.get("scope") == scope and entry.get("accessOperation", "UNSPECIFIED") == "UNSPECIFIED"


def _names_in(form: Any) -> Iterator[str]:
    """All text in a request."""
    if isinstance(form, str):
        yield form
    elif isinstance(form, Mapping):
        for each in form.values():
            yield from _names_in(each)
    elif isinstance(form, list | tuple):
        for each in form:
            yield from _names_in(each)
