"""`python -m gaussnet` is the same as `gaussnet`."""

from gaussnet.cli.app import main

main()
