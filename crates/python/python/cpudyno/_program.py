"""The command ``cpudyno``, which comes with this package."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from typing import Optional

__all__ = ["path"]


def path() -> Optional[str]:
    """Where the command is: with this interpreter, or in ``PATH``; ``None``: nowhere."""
    schemes = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    try:
        schemes.append(sysconfig.get_path("scripts", f"{os.name}_user"))
    except KeyError:
        pass
    for folder in schemes:
        program = os.path.join(folder, "cpudyno") if folder else ""
        if program and os.access(program, os.X_OK):
            return program
    return shutil.which("cpudyno")
