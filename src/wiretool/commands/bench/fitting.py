"""`wiretool bench --from-capture FILE`: what the command line leaves open is as in a recording."""

from dataclasses import replace
from typing import TYPE_CHECKING

from wiretool.commands.bench.options import BenchOptions, check_options
from wiretool.commands.interrupts import stoppable
from wiretool.commands.options import keys_from, report_keys, report_unread, sources_from, tell
from wiretool.commands.slice.run import up_to_damage
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.errors import CaptureError
    from wiretool.load.planning.recorded import Recorded


def fitted(options: BenchOptions) -> BenchOptions:
    """Return the options with their load fitted to the recording, and report the fit; the same options without one.

    CaptureError where nothing in it can be loaded; UsageError where it has to be said what.
    """
    if options.from_capture is None:
        if options.keylog is not None:
            raise UsageError("--keylog: has the secrets of a capture; requires --from-capture")
        return options
    from wiretool.load.part import load_part
    from wiretool.load.planning.fitting import OPTION, fitted

    if options.load.protocol is not None:
        load_part(options.load.protocol)  # which must be there
    name = str(options.from_capture)
    found, damage = recorded(options)
    fit = fitted(
        options.load,
        found,
        name=name,
        is_verified=options.is_verified,
        has_target=options.has_target,
    )
    tell(f"{OPTION} {name}: {fit.recorded}, as: wiretool bench {fit.words}")
    if fit.remarks:
        tell(f"{OPTION} {name}: {'; '.join(fit.remarks)}")
    to_run = replace(options, load=fit.load, fitted=fit.words, damage=damage)
    check_options(to_run)
    return to_run


def recorded(options: BenchOptions) -> "tuple[Recorded, CaptureError | None]":
    """Return the load in a capture before its damage, and the damage, which is reported.

    Raises the errors of `decode` if nothing was read.
    """
    from wiretool.dissect.columns.read import read_batches
    from wiretool.ledger import Ledger
    from wiretool.load.planning.recorded import Recorded

    assert options.from_capture is not None
    sources = sources_from([options.from_capture], tells_empty=False)
    found, book, keys = Recorded(), Ledger(), keys_from(options.keylog)
    with stoppable("wiretool.dissect.columns.read"):
        damage = up_to_damage(
            sources, "fitting", lambda files: read_batches(files, ledger=book, notes=tell, keys=keys), found.add
        )
    if damage is not None:
        if not any(seen.appends for seen in found.seen.values()):
            raise damage
        tell(f"{damage}: only the part before that is used")
    report_unread(book, [options.from_capture])
    report_keys(options.keylog, book)
    return found, damage
