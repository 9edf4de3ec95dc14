"""Users of two classes over several load processes. Locust, which changes the standard library, has a process here."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
from types import SimpleNamespace

from locust import User
from wiretool.load.users.spreading import EvenDispatcher

appenders, fetchers, workers = map(int, sys.argv[1:])
classes = [
    type(name, (User,), {"fixed_count": users})
    for name, users in (("PravegaAppender", appenders), ("PravegaFetcher", fetchers))
    if users
]
dispatcher = EvenDispatcher([SimpleNamespace(id=f"here_{number}") for number in range(workers)], classes)
dispatcher.new_dispatch(appenders + fetchers, appenders + fetchers)
for spread in dispatcher:
    pass
print(json.dumps([[users.get("PravegaAppender", 0), users.get("PravegaFetcher", 0)] for users in spread.values()]))
"""


@pytest.mark.parametrize(
    ("users", "spread"),
    [
        ((64, 64, 2), [[32, 32], [32, 32]]),
        ((8, 4, 3), [[3, 1], [3, 1], [2, 2]]),
        ((2, 2, 2), [[1, 1], [1, 1]]),
        ((5, 0, 2), [[3, 0], [2, 0]]),
    ],
)
def test_users_of_each_class_are_spread_evenly(users: tuple[int, int, int], spread: list[list[int]]) -> None:
    command = [sys.executable, "-c", SCRIPT, *map(str, users)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == spread
