"""The run of a script: its connections, deferred work, and time."""
