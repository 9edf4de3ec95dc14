"""Where the mock of the draft is patched."""

from collections.abc import Callable
from typing import Any

from wiretool.codec.message import Message
from wiretool.conformance.mutation.mutants import Patcher, Replace
from wiretool.protocols.pravega_draft.server import appends, link
from wiretool.protocols.pravega_draft.server.appends import Appends
from wiretool.protocols.pravega_draft.session import TABLE


def rehandle(patcher: Patcher, cls: type[Message], replace: Replace) -> None:
    """Replace how a message is served: a function of the link, the message and the time."""
    patcher.set(link, "_HANDLERS", {**link._HANDLERS, cls: replace(link._HANDLERS[cls])})


def allow(patcher: Patcher, phase: str, cls: type[Message], after: str) -> None:
    """Let a message come in a phase in which it must not."""
    patcher.set(appends, "TABLE", {**TABLE, (phase, "client", cls): after})


def rewrite(patcher: Patcher, method: str, change: Callable[[Any, Any], Any]) -> None:
    """Change the message that a method of the appends gets: a function of the appends and the message."""

    def replace(call: Any) -> Any:
        return lambda self, message, *rest: call(self, change(self, message), *rest)

    patcher.wrap(Appends, method, replace)
