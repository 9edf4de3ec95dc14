"""Conformance: cases that judge a server, a client or a capture against the requirements of a protocol.

`case.py` is the interface that `protocols/NAME/conformance/` imports. `active/` runs cases against servers, `clients/`
against client programs, `recorded/` finds them in captures, and `mutation/` measures which defects they notice.
"""
