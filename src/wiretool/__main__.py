"""`python -m wiretool`."""

from wiretool.cli import main

main()
