"""What tests know of each protocol, found in `tests/protocols/NAME/` for those that are registered.

A test that takes the capture or messages of one protocol as its example says so with `needs_protocol`. Where that
protocol is not registered, the test is skipped, and the report of pytest counts it.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any

import pytest

from wiretool.protocols.base.registry import PROTOCOLS

#: The protocols that tests take as examples.
EXAMPLES = frozenset(("pravega", "pravega-controller", "pravega-draft", "sbp", "sbp-0.1", "offramp"))
#: Those that are not registered, which is so in a copy of the project without them.
ABSENT = EXAMPLES - set(PROTOCOLS)
#: Their names in a text or path, the longest first: no word begins before one or goes on after it.
_NAMES = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, sorted(EXAMPLES, key=len, reverse=True)))})(?![^\W_])")
FOLDER = Path(__file__).parents[1] / "protocols"


def folder_name(protocol: str) -> str:
    """Return the name of the folder of a protocol."""
    return re.sub(r"\W", "_", protocol)


@cache
def parts(module: str, attribute: str) -> Mapping[str, Any]:
    """Return an attribute of `tests.protocols.NAME.MODULE` by protocol, of all registered protocols that have it."""
    found = {}
    for protocol in PROTOCOLS:
        name = f"tests.protocols.{folder_name(protocol)}"
        if (FOLDER / folder_name(protocol)).is_dir() and find_spec(f"{name}.{module}") is not None:
            part = import_module(f"{name}.{module}")
            if hasattr(part, attribute):
                found[protocol] = getattr(part, attribute)
    return found


def needs_protocol(*names: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test where one of the protocols is not registered."""
    unknown = set(names) - EXAMPLES
    assert not unknown, f"no example is called {unknown}"
    absent = sorted(ABSENT.intersection(names))
    return pytest.mark.skipif(bool(absent), reason=f"needs the protocol {', '.join(absent)}")


def protocols_in(value: object) -> frozenset[str]:
    """Return the example protocols that a parameter of a test names: as a word of a text or path, or as its own."""
    if isinstance(value, (str, PurePath)):
        return frozenset(_NAMES.findall(str(value)))
    if isinstance(value, (tuple, list, frozenset)):
        return frozenset().union(*map(protocols_in, value))
    if isinstance(value, Mapping):
        return protocols_in((*value, *value.values()))
    named = getattr(value, "protocol", None)
    return protocols_in(named) if isinstance(named, str) else frozenset()
