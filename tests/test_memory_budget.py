"""One bound on what many holders keep."""

from wiretool.memory_budget import MemoryBudget


def test_the_largest_let_go_first_until_a_quarter_is_free() -> None:
    budget: MemoryBudget[str] = MemoryBudget(1_000)
    for name, size in {"small": 100, "middle": 300, "large": 600}.items():
        budget.note(name, size)
    assert not budget.is_exceeded
    assert list(budget.excess()) == []
    budget.note("small", 101)
    asked = []
    for name in budget.excess():
        asked.append(name)
        budget.note(name, 0)
    assert asked == ["large"]
    assert budget.size == 401


def test_of_equal_holders_the_number_decides_and_without_one_the_age() -> None:
    by_number: MemoryBudget[str] = MemoryBudget(10, len)
    by_age: MemoryBudget[str] = MemoryBudget(10)
    for name in ("third", "one", "four"):
        by_number.note(name, 6)
        by_age.note(name, 6)
    assert next(by_number.excess()) == "one"
    assert next(by_age.excess()) == "third"


def test_a_size_that_is_set_again_counts_once() -> None:
    budget: MemoryBudget[int] = MemoryBudget(10)
    for size in (5, 7, 7, 0, 0, 3):
        budget.note(1, size)
    assert budget.size == 3


def test_who_does_not_let_go_is_asked_once() -> None:
    budget: MemoryBudget[int] = MemoryBudget(10)
    budget.note(1, 8)
    budget.note(2, 9)
    assert list(budget.excess()) == [2, 1]
