from wiretool.load.run.session import Session


def test_users_are_numbered_in_the_order_they_come_among_those_who_do_the_same() -> None:
    session = Session(run="run")
    told = [session.next_user(operation) for operation in ("append", "append", "fetch", "append", "fetch")]
    assert told == [0, 1, 0, 2, 1]


def test_what_is_unfinished_is_summed_by_operation() -> None:
    session = Session(run="run")
    session.due += [
        ("append", lambda now: (3, now - 0.5)),
        ("append", lambda now: (1, now - 2)),
        ("fetch", lambda _: (0, 0)),
    ]
    assert session.unfinished(10.0) == {"append": (4, 2_000_000)}


def test_the_first_reason_for_a_failure_is_kept_and_nobody_waits_any_longer() -> None:
    session = Session(run="run")
    session.fail("one")
    session.fail("two")
    assert session.failure == "one"
    assert session.is_over
    assert session.gate.is_set()


def test_lateness_is_the_greatest_of_each_second() -> None:
    session = Session(run="run", worker_number=2)
    session.late(1.002, [1.0])
    session.late(2.001, [2.0])
    first, second = session.pulse(), session.pulse()
    assert (first.worker, first.lateness_us, second.lateness_us) == ("load 2", 2_000, 0)


def test_late_arrivals_are_counted_in_each_second() -> None:
    session = Session(run="run")
    session.arrivals = 7
    session.late(1.0, [0.97, 0.98, 0.995])
    session.late(1.0, [0.995])
    first, second = session.pulse(), session.pulse()
    assert (first.arrivals, first.late_arrivals) == (7, 2)
    assert (second.arrivals, second.late_arrivals) == (0, 0)
