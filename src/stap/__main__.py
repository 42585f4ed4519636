"""`python -m stap` is `stap`."""

from stap.cli import main

main()
