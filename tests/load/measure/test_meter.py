from hypothesis import given
from hypothesis import strategies as st

from wiretool.load.measure.histograms import Histogram
from wiretool.load.measure.intervals import Tally
from wiretool.load.measure.meter import Meter

TIMES = st.lists(st.floats(0, 10), max_size=50)


def test_a_tally_is_what_was_counted_and_then_it_begins_anew() -> None:
    meter = Meter()
    samples = meter.samples("append")
    service, response = samples.service.append, samples.response.append
    for _ in range(2):
        for seconds in (0.001, 0.002, 0.003):
            service(seconds)
            response(seconds * 10)
        samples.events += 30
        samples.bytes += 3000
        samples.errors["no answer in 10 s"] += 1
        assert samples.count == 3
        assert not samples.is_empty
        tally = meter.drain()["append"]
        assert (tally.count, tally.events, tally.bytes, tally.errors) == (3, 30, 3000, {"no answer in 10 s": 1})
        assert Histogram.from_text(tally.service).recorded()[0].tolist() == [1000, 2000, 3001]
        assert Histogram.from_text(tally.response).quantiles().p50 == 20_015
        assert meter.drain() == {}


def test_without_a_schedule_both_times_are_the_same() -> None:
    meter = Meter()
    alone, shared = meter.samples("append"), meter.samples("fetch")
    shared.response = shared.service
    for samples in (alone, shared):
        samples.service.extend([0.001, 0.5])
    tallies = meter.drain()
    for tally in tallies.values():
        assert tally.count == Histogram.from_text(tally.service).count == 2
        assert tally.response == tally.service


def test_folding_changes_nothing_but_when_the_work_is_done() -> None:
    folded, plain = Meter(), Meter()
    for meter in (folded, plain):
        open_loop, closed, shared = (meter.samples(name) for name in ("open", "closed", "shared"))
        shared.response = shared.service
        for number in range(1, 100):
            for samples in (open_loop, closed, shared):
                samples.service.append(number / 1000)
            open_loop.response.append(number / 10)
            if meter is folded and number % 7 == 0:
                meter.fold()
                assert open_loop.service == open_loop.response == closed.service == []
            assert open_loop.count == closed.count == shared.count == number
    tallies = folded.drain()
    assert tallies == plain.drain()
    assert tallies["closed"].response == tallies["closed"].service == tallies["shared"].response
    assert tallies["open"].response != tallies["open"].service
    assert folded.drain() == {}


def test_what_was_folded_is_discarded_too() -> None:
    meter = Meter()
    meter.samples("append").service.append(1.0)
    meter.fold()
    meter.discard()
    assert meter.drain() == {}


def test_an_operation_keeps_its_samples() -> None:
    meter = Meter()
    samples = meter.samples("append")
    note = samples.service.append
    meter.discard()
    meter.drain()
    note(0.5)
    assert meter.samples("append") is samples
    assert meter.drain()["append"].count == 1


def test_what_is_discarded_is_never_seen() -> None:
    meter = Meter()
    samples = meter.samples("append")
    samples.service.append(1.0)
    samples.response.append(1.0)
    samples.events += 1
    samples.bytes += 1
    samples.errors["lost"] += 1
    meter.discard()
    assert samples.is_empty
    assert meter.drain() == {}


def test_errors_alone_are_a_tally_without_times() -> None:
    meter = Meter()
    meter.samples("append").errors["connection lost"] += 4
    assert meter.drain() == {"append": Tally(errors={"connection lost": 4})}


@given(st.lists(TIMES, min_size=1, max_size=5))
def test_seconds_sum_up_to_the_whole(seconds: list[list[float]]) -> None:
    meter, whole, drained = Meter(), Histogram(), Histogram()
    for times in seconds:
        meter.samples("append").service.extend(times)
        whole.add_seconds(times)
        for tally in meter.drain().values():
            drained.merge(Histogram.from_text(tally.service))
    assert drained.text() == whole.text()
