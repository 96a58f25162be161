"""``python -m cpudyno`` is the command ``cpudyno``."""

import os
import sys

from . import _program


def main() -> None:
    """Becomes the command."""
    program = _program.path()
    if program is None:
        sys.exit("error: the command `cpudyno` is not there\nhint: install the package again: pip install cpudyno")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
