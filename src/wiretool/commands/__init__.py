"""The commands of `wiretool`: options in, one call, values out.

A command is a module, or a folder with its signature in `__init__.py`, its options and its run. `cli.py` lists them.
"""
