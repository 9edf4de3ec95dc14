"""The sentences of Wireshark's extcap interface (extcap(4)): interfaces, link types and options, a line each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: The name of the interface, which preferences of Wireshark contain: `extcap.wiretool.upstream`.
INTERFACE = "wiretool"
PAGE = "https://github.com/wiretool/wiretool/blob/main/docs/wireshark.md"
#: Options that Wireshark itself sets, and those of the command line: all others are shown in its dialog.
_OWN = ("--extcap-", "--capture", "--fifo", "--help")
#: The kinds of fields in the dialog, by the placeholder of an option's value in the help.
_KINDS: Mapping[str, str] = {"FILE": "fileselect", "N": "integer"}


def interface_sentences(version: str) -> Iterator[str]:
    """Yield the interfaces, and the version and help page of this program."""
    yield f"extcap {{version={version}}}{{help={PAGE}}}{{display=wiretool}}"
    yield f"interface {{value={INTERFACE}}}{{display=wiretool tap}}"


def link_type_sentences() -> Iterator[str]:
    """Yield the link types of the interface: a tap writes Ethernet packets (LINKTYPE 1)."""
    yield "dlt {number=1}{name=EN10MB}{display=Ethernet}"


def option_sentences(parameters: Sequence[Any], protocols: Mapping[str, str], required: str) -> Iterator[str]:
    """Yield the options of the interface from the parameters of the command.

    `protocols` has the title of each protocol by its name, the default first; `required` is an option that Wireshark
    asks for before it captures.
    """
    shown = [each for each in parameters if not each.opts[-1].startswith(_OWN)]
    for number, parameter in enumerate(shown):
        option = parameter.opts[-1]
        is_selector = option == "--protocol"
        kind = "selector" if is_selector else _kind(parameter)
        default = _default(parameter)
        yield (
            f"arg {{number={number}}}{{call={option}}}{{display={_label(option)}}}{{type={kind}}}"
            f"{{tooltip={_plain(parameter.help)}}}{{required={str(option == required).lower()}}}"
            + (f"{{default={default}}}" if default else "")
            + ("{mustexist=true}" if kind == "fileselect" else "")
        )
        for at, (name, title) in enumerate(protocols.items() if is_selector else ()):
            yield f"value {{arg={number}}}{{value={name}}}{{display={_plain(title)}}}{{default={str(not at).lower()}}}"


def _kind(parameter: Any) -> str:
    """Return the kind of field for an option."""
    return "boolflag" if parameter.is_flag else _KINDS.get(parameter.metavar or "", "string")


def _default(parameter: Any) -> str:
    """Return the default of an option, as Wireshark shows it; empty without one."""
    if parameter.is_flag:
        return str(bool(parameter.default)).lower()
    return "" if parameter.default in (None, "") else str(parameter.default)


def _label(option: str) -> str:
    """Return the words of an option: `Upstream controller` for `--upstream-controller`."""
    words = option.removeprefix("--").replace("-", " ")
    return (words[:1].upper() + words[1:]).replace(" tls", " TLS").replace(" ca", " CA").replace("Tls ", "TLS ")


def _plain(text: str) -> str:
    """Return text without the braces that end a value; the dialog has one value for an option."""
    return text.translate({ord("{"): "(", ord("}"): ")"}).removesuffix("; repeatable")
