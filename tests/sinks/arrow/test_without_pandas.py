"""PyArrow without pandas: it is not loaded with the first list, and a program that imports it still gets it."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
import pyarrow as pa
from wiretool.sinks.arrow.without_pandas import forgo_pandas
finders = list(sys.meta_path)
forgo_pandas()
assert pa.array([1, None]).to_pylist() == [1, None]
# six, which PyArrow loads with dateutil where that is installed, has a finder of its own
assert [each for each in sys.meta_path if type(each).__module__ != "six"] == finders
print("pandas" in sys.modules)
import pandas
print(pandas.__name__)
"""


def test_pandas_is_not_loaded_with_the_first_list(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = [sys.executable, "-c", SCRIPT]
    ended = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.split() == ["False", "pandas"]
