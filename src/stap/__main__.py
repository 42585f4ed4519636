"""`python -m stap`, and so `torchrun -m stap train ...`."""

from stap.cli import main

main()
