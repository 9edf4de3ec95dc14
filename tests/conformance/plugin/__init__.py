"""A protocol from outside the package: the framing of the 2017 draft under a name, with cases of its own."""

from dataclasses import replace

from wiretool.protocols.pravega_draft import PROTOCOL as DRAFT

NAME, PORT = "plugin-draft", 23_451
PROTOCOL = replace(DRAFT, name=NAME, ports=(PORT,), conformance="tests.conformance.plugin.cases:CONFORMANCE")
