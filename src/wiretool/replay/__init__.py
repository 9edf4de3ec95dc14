"""A recording replayed: its requests are sent to a server, and the live replies are compared with the recorded ones.

`recording.py` reads captures, `script.py` orders the requests, `playing/` sends them, `judging/` compares replies, and
`report/` writes results. `adapter/` is the interface of the protocols; `diff/` compares two captures.
"""
