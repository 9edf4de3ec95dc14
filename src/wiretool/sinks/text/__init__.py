"""Text for people."""

from wiretool.sinks.text.sink import TextSink as TextSink
