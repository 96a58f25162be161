"""Exceptions of this package, and reasons for what is absent."""

from __future__ import annotations

import re
from typing import Optional, Tuple

__all__ = ["Bug", "Busy", "Error", "Refused", "Unavailable"]


class Error(Exception):
    """Why there is no answer: what failed and why, then what would help.

    ``message`` and ``hint`` are the two parts; the hint is ``None`` where nothing is known to help.
    """

    def __init__(self, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class Busy(Error):
    """Another measurement runs on this host, and two would measure each other.

    ``holder`` says which process. The argument ``wait=SECONDS`` of measuring functions waits for it.
    """

    def __init__(self, message: str, hint: Optional[str] = None, holder: str = "") -> None:
        super().__init__(message, hint)
        self.holder = holder


class Refused(Error):
    """The machine, its kernel or a file did not allow it."""


class Bug(Error):
    """A fault of cpudyno itself; the interpreter goes on. Please report its text."""


class Unavailable(Error):
    """What is missing, why, and what would make it available.

    It is raised where a missing number is asked for, and it is the value where reasons are listed:
    absence is never 0 and never NaN.

    Attributes
    ----------
    what: what is missing: a quantity, an instrument, an event.
    why: why, with the object that was touched and what it answered.
    remedy: what would help, often a command; ``None`` where nothing is known to.
    obstacle: what stands in the way: ``hardware``, ``permission``, ``cpudyno`` or ``measurement``.
    """

    def __init__(
        self, what: str, why: str, remedy: Optional[str] = None, obstacle: str = "cpudyno"
    ) -> None:
        if remedy is not None:
            # In words of this package.
            remedy = re.sub(r"--budget ([0-9.]+)s", r"budget=\1", remedy)
            remedy = re.sub(r"--length ([0-9]+)", r"elements=\1", remedy)
        super().__init__(f"{what}: {why}", remedy)
        self.what = what
        self.why = why
        self.remedy = remedy
        self.obstacle = obstacle

    def __reduce__(self) -> Tuple[type, Tuple[str, str, Optional[str], str]]:
        return (type(self), (self.what, self.why, self.remedy, self.obstacle))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unavailable) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((self.what, self.why))

    def __repr__(self) -> str:
        return f"Unavailable({self.what!r}, {self.why!r})"


def unavailable(reason: object) -> Unavailable:
    """The reason that a record holds as a table."""
    if not isinstance(reason, dict):
        raise TypeError(f"this is no reason: {reason!r}")
    return Unavailable(
        str(reason.get("what", "")),
        str(reason.get("why", "")),
        reason.get("remedy"),
        str(reason.get("obstacle", "cpudyno")),
    )
