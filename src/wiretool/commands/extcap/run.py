"""The implementation of `wiretool extcap`: answers to Wireshark's questions, and a tap that writes into its pipe."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wiretool import __version__
from wiretool.commands.extcap.sentences import (
    INTERFACE,
    interface_sentences,
    link_type_sentences,
    option_sentences,
)
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.net.addresses import Address
    from wiretool.net.serving.run import Plan
    from wiretool.net.serving.tap import Tap

#: Printed for a capture filter: Wireshark takes any answer for the reason why it is not valid.
NO_FILTER = "not supported by a tap, which has all packets of its connections; expected a display filter"


@dataclass(frozen=True, slots=True)
class Question:
    """The options by which Wireshark asks: for interfaces, or for what belongs to one interface."""

    interfaces: bool
    interface: str
    link_types: bool
    config: bool
    capture_filter: str


@dataclass(frozen=True, slots=True)
class TapOptions:
    """The options of the interface."""

    protocol: str
    upstream: str
    listen: str
    controller: str
    upstream_controller: str
    advertise: str
    is_tls: bool
    authority: Path | None
    certificate: Path | None
    key: Path | None
    rules: Sequence[str]
    rules_file: Path | None
    seed: int


def answer(question: Question, parameters: Sequence[Any]) -> None:
    """Print the sentences that Wireshark asks for. UsageError for no question, or another interface."""
    from wiretool.sinks.output import open_output

    with open_output(None) as out:
        for sentence in sentences_for(question, parameters):
            out.write(sentence + "\n")


def sentences_for(question: Question, parameters: Sequence[Any]) -> Iterator[str]:
    """Yield the sentences of an answer."""
    if question.interfaces:
        yield from interface_sentences(__version__)
        return
    check_interface(question.interface)
    if question.link_types:
        yield from link_type_sentences()
    elif question.config:
        from wiretool.protocols.base.registry import PROTOCOLS

        titles = {name: protocol.title for name, protocol in PROTOCOLS.items()}
        yield from option_sentences(parameters, titles, required="--upstream")
    elif question.capture_filter.strip():
        yield f"{question.capture_filter}: {NO_FILTER}"


def check_interface(name: str) -> None:
    """Raise UsageError for the name of another interface, or where there is none."""
    if not name:
        raise UsageError(
            "no interface; expected --extcap-interfaces or --extcap-interface, which Wireshark gives; to install "
            "this command there, run wiretool export wireshark --install"
        )
    if name != INTERFACE:
        raise UsageError(f"--extcap-interface {name}: no such interface; expected {INTERFACE}")


def capture_into(fifo: Path | None, question: Question, options: TapOptions) -> None:
    """Run a tap until a signal stops it or the pipe has no reader. UsageError for options that make no sense."""
    from wiretool.net.serving.run import run

    check_interface(question.interface)
    if fifo is None:
        raise UsageError("--capture: requires --fifo")
    if question.capture_filter.strip():
        raise UsageError(f"--extcap-capture-filter {question.capture_filter}: {NO_FILTER}")
    if not options.upstream:
        raise UsageError("--upstream: missing; expected the address of the real server")
    with tapping_into(fifo, options) as (tap, plan):
        run(tap, plan)


@contextmanager
def tapping_into(fifo: Path, options: TapOptions) -> "Iterator[tuple[Tap, Plan]]":
    """A tap that records into a pipe, and what to run it with.

    Stderr has only failures: Wireshark shows all that is printed there as an error.
    """
    from wiretool.commands.serve.run import ServeOptions
    from wiretool.commands.serve.telemetry import both
    from wiretool.commands.tap.run import CONTROLLER, Side, tapping
    from wiretool.protocols.base.registry import PROTOCOLS

    protocol = options.protocol or next(iter(PROTOCOLS))
    sides = [
        Side(protocol, "--listen", options.listen, "--upstream", options.upstream),
        Side(CONTROLLER, "--controller", options.controller, "--upstream-controller", options.upstream_controller),
    ]
    serving = ServeOptions(
        seed=options.seed,
        rules=options.rules,
        rules_file=options.rules_file,
        control="",
        record=fifo,
        ready_file=None,
        certificate=options.certificate,
        key=options.key,
        connections_max=None,
        duration_s=None,
        inputs=(options.authority,),
    )
    with tapping(
        sides, serving, None, advertise=options.advertise, is_tls=options.is_tls, authority=options.authority
    ) as (tap, plan):

        def begin(bound: "Mapping[str, Address]") -> None:
            tap.record(lambda recording, _: recording.begin())

        def stop_without_reader() -> None:
            if tap.recording is not None and not tap.recording.has_reader():
                tap.fail(BrokenPipeError())

        yield tap, replace(plan, ready=begin, look=both(plan.look, stop_without_reader), has_totals=False)
