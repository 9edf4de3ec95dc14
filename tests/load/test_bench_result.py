"""What a run comes to, out of what its load processes said."""

import msgspec

from tests.helpers.intervals import interval_of
from wiretool.load.measure.intervals import Ended
from wiretool.load.measure.totals import Gathering
from wiretool.load.planning.plan import Plan
from wiretool.load.result import Result
from wiretool.load.run.whole_run import Bench


def report_of(*ended: Ended) -> Result:
    """What is reported of processes each of which counted three thousand appends in all."""
    bench = Bench(Plan(protocol="pravega", appenders=2, duration_s=10.0, run="run"))
    bench.gathering = Gathering(len(ended))
    for said in ended:
        bench.hear(interval_of(0, [0.001] * 3_000, worker=said.worker))
    for said in ended:
        bench.hear(said)
    return bench.result({}, None)


def test_rates_are_of_the_time_in_which_any_process_had_a_server() -> None:
    gone = Ended(worker="load 0", users=1, duration_s=5.0, absent_s=3.0, failure="the server is gone")
    stopped = Ended(worker="load 1", users=1, duration_s=5.0, absent_s=2.0)
    idle = Ended(worker="load 2", duration_s=5.0)
    whole = msgspec.structs.replace(stopped, absent_s=0.0)
    both = report_of(gone, stopped, idle)
    assert (both.duration_s, both.cut_short) == (3.0, "the server is gone")
    assert both.operations["append"].per_s == 3_000.0
    assert "no user had a connection in the last 2 s, which are in no rate" in both.remarks
    assert report_of(gone, whole, idle).duration_s == 5.0
    unnoticed = report_of(msgspec.structs.replace(gone, failure=""))
    assert unnoticed.cut_short == "no user had a connection in the last 3 s"
    assert report_of(whole, idle).cut_short == ""
