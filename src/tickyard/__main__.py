"""`python -m tickyard`: the same as the `tickyard` command."""

from tickyard.cli import main

main()
