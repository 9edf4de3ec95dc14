"""Keeps the records of batches for which an expression is true, without making records of them where it can."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from wiretool.batches.batch import Batch, FrameRun
from wiretool.filter import History, Names, Selection
from wiretool.filter.judge import judge_of, relation_of, with_times
from wiretool.filter.syntax import AnyOf, Comparison, Constant, Every, Node, Not, Operand, Truth, parse
from wiretool.protocols.base.columns import Group
from wiretool.sinks.arrow.filter_compare import Mask, both, compare, is_missing, is_true, negated
from wiretool.sinks.arrow.filter_history import begin_batch
from wiretool.sinks.arrow.filter_values import Rows, Same, Values

#: A test of frames, and one of the columns that operands lead to (of so many rows).
Test = Callable[[Rows], Mask]
Answer = Callable[[Sequence[Values], int], Mask]


class BatchFilter:
    """What `where.Selection` is to records."""

    def __init__(self, names: Names, history: History, *, expression: str = "", connection: int | None = None) -> None:
        """UsageError where the expression makes no sense."""
        self._selection = Selection(names, history, expression=expression, connection=connection)
        self._history = history
        #: Records that it was shown.
        self.seen = 0
        self._connection = connection
        self._test = _test_of(parse(expression), names, history) if expression else _keep_all

    def keep(self, batch: Batch) -> Batch:
        """Return the batch with only the records that are selected."""
        self.seen += batch.count
        self._begin(batch)
        records = [record for record in batch.records if self._selection.matches(record)]
        runs = [run for run in map(self._of_run, batch.runs) if run is not None]
        count = len(records) + sum(len(group.rows) for run in runs for group in run.groups)
        return Batch(batch.first_n, count, runs, records)

    def _begin(self, batch: Batch) -> None:
        """Show the history the batch: its first record, wherever that is, and what replies ask for."""
        firsts = [(record.n, record.time_ns) for record in batch.records[:1]]
        for run in batch.runs:
            firsts += [_first(run, group) for group in run.groups if len(group.rows)]
        if firsts:
            self._history.first_ns(min(firsts)[1])
        begin_batch(self._history, batch)

    def _of_run(self, run: FrameRun) -> FrameRun | None:
        in_hex: list[pa.Buffer] = []
        groups = [group for group in map(partial(self._of_connection, run), run.groups) if len(group.rows)]
        kept = [_kept(group, self._test(Rows(run, group, self._history, in_hex))) for group in groups]
        wanted = [group for group in kept if len(group.rows)]
        return replace(run, groups=wanted) if wanted else None

    def _of_connection(self, run: FrameRun, group: Group) -> Group:
        """Return the frames of a group that are of the connection that is asked for, if one is."""
        if self._connection is None:
            return group
        return _kept(group, run.numbers_of_connections(group.rows) == self._connection)


def _first(run: FrameRun, group: Group) -> tuple[int, int]:
    row = group.rows[0]
    return int(run.frames.numbers[row]), int(run.times[row])


def _kept(group: Group, mask: Mask) -> Group:
    if isinstance(mask, bool):
        return group if mask else group.take(np.zeros(len(group.rows), np.bool_))
    return group if mask.all() else group.take(mask)


def _keep_all(_: Rows) -> Mask:
    return True


# -- the test that a tree stands for; `Selection` has checked it before ------------------------------------------------


def _test_of(node: Node, names: Names, history: History) -> Test:
    match node:
        case Comparison():
            return _comparison(node, names, history)
        case Truth(operand):
            return _leaf(node, [operand], names, history, lambda values, _: is_true(values[0]))
        case Not(part):
            test = _test_of(part, names, history)
            return lambda rows: negated(test(rows))
        case Every(parts):
            tests = [_test_of(part, names, history) for part in parts]
            return lambda rows: _every(tests, rows)
        case AnyOf(parts):
            others = [_test_of(Not(part), names, history) for part in parts]
            return lambda rows: negated(_every(others, rows))


def _comparison(node: Comparison, names: Names, history: History) -> Test:
    leaf, node = node, with_times(node)
    operands = [node.left, node.right]
    if node.operator in ("==", "!=") and any(isinstance(each, Constant) and each.value is None for each in operands):
        return _leaf(leaf, operands, names, history, _absence(wants=node.operator == "=="))
    operator, relation = node.operator, relation_of(node)
    return _leaf(
        leaf, operands, names, history, lambda values, count: compare(operator, relation, values[0], values[1], count)
    )


def _absence(*, wants: bool) -> Answer:
    def answer(values: Sequence[Values], count: int) -> Mask:
        absent = both(is_missing(values[0]), is_missing(values[1]))
        return absent if wants else negated(absent)

    return answer


def _leaf(
    node: Comparison | Truth, operands: Sequence[Operand], names: Names, history: History, answer: Answer
) -> Test:
    """The test that `answer` gives for the operands' columns; where one has none, the records are asked."""
    judge = judge_of(node, names, history)

    def test(rows: Rows) -> Mask:
        values = []
        for operand in operands:
            found = Same(operand.value) if isinstance(operand, Constant) else rows.at(operand.steps)
            if found is None:
                return np.array([judge(record) for record in rows.records()], np.bool_)
            values.append(found)
        return answer(values, len(rows))

    return test


def _every(tests: Sequence[Test], rows: Rows) -> Mask:
    """Where all tests are true; each is asked only about what those before it left."""
    count, left = len(rows), None
    for test in tests:
        mask = test(rows)
        if mask is True:
            continue
        kept = np.flatnonzero(mask) if mask is not False else np.zeros(0, np.int64)
        if not len(kept):
            return False
        if len(kept) < len(rows):
            left = kept if left is None else left[kept]
            rows = rows.taken(kept)
    if left is None:
        return True
    every = np.zeros(count, np.bool_)
    every[left] = True
    return every
