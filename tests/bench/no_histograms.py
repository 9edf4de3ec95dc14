"""A load process that throws away every time it took: what its histograms cost is the difference.

    python -m tests.bench.no_histograms

For tests/bench/load.py; it is spoken with as wiretool.load.run.process is. Exchanges are counted by their events.
"""

from wiretool.load.measure.meter import Samples
from wiretool.load.run.process import main


def forget(self: Samples) -> None:
    """In place of counting them."""
    self.service.clear()
    self.response.clear()


if __name__ == "__main__":
    Samples.fold = forget  # type: ignore[method-assign]
    main()
