"""``python -m isthmus``."""

from isthmus.cli import main

main()
