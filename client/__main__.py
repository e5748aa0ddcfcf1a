"""`python -m client COMMAND`: what a caller of an endpoint runs."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    """What it runs is imported here, for that takes a while, and Ctrl-C has one meaning all the time."""
    from client.errors import INTERRUPTED

    try:
        from client import program

        return program.run(arguments)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
