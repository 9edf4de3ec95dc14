"""How many lies of a server `replay`, `replay --against` and `diff` find.

    python -m tests.bench.census [--quick] [--seed N] [--count N] [--protocol NAME] [--capture FILE]

Plays captures to mocks in memory that lie once in a run: two to four fields of a reply are changed at once, a reply is
replaced by another, sent twice, dropped, or sent behind the next one, or one field is changed in every reply of a kind.
What is allowed is what a clause of the protocol's reference allows (`allowed.py`), never what the engine explains; all
else has to be a finding. Prints the share of that by protocol, kind of lie and way, then each lie that was not found
with the verdict and reason that swallowed it. The exit code is 1 where a way finds less than 99 %.
"""
