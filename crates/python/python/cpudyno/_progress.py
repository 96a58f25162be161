"""What is shown while a measurement runs."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any, Callable, Optional, Union

Progress = Callable[[float, str], object]
#: ``None``: as fits the place; ``False``: nothing; a function: it is called with a share (0 to 1) and what is done.
Shown = Union[None, bool, Progress]


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None and hasattr(shell, "get_ipython") else None
    return found is not None and hasattr(found, "kernel")


def _is_terminal() -> bool:
    try:
        return bool(sys.stderr.isatty())
    except Exception:  # It is closed, none, or something that only writes.
        return False


class _Bar:
    """A bar of tqdm."""

    def __init__(self, tqdm: Any) -> None:
        form = "{desc}: {percentage:3.0f} % |{bar}| {elapsed}"
        self._bar = tqdm(total=1.0, leave=False, desc="cpudyno", bar_format=form)

    def __call__(self, share: float, doing: str) -> None:
        self._bar.set_description_str(doing, refresh=False)
        self._bar.update(share - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class _Line:
    """A line on standard error that is written over, ten times a second at most."""

    _STEP = 0.1

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, share: float, doing: str) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._STEP
        _say(f"\r\x1b[K{share:4.0%} {doing[:60]}")

    def close(self) -> None:
        _say("\r\x1b[K")


def _say(text: str) -> None:
    """What cannot be shown ends no measurement."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:
        pass


class _Hidden:
    """Nothing."""

    def __call__(self, share: float, doing: str) -> None:
        pass

    def close(self) -> None:
        pass


class _Callers:
    """A function of the caller's."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __call__(self, share: float, doing: str) -> None:
        self._progress(share, doing)

    def close(self) -> None:
        pass


def shown(progress: Shown) -> Union[_Bar, _Line, _Hidden, _Callers]:
    """What shows it: tqdm where it is installed, else a line, in terminals and notebooks alone."""
    if progress is False:
        return _Hidden()
    if progress is not None and progress is not True:
        if not callable(progress):
            raise TypeError(f"progress is a function of a share and a text, or False, not {progress!r}")
        return _Callers(progress)
    if progress is None and not (_in_notebook() or _is_terminal()):
        return _Hidden()
    tqdm = _tqdm()
    return _Line() if tqdm is None else _Bar(tqdm)


def _tqdm() -> Optional[Any]:
    try:
        return importlib.import_module("tqdm.auto").tqdm
    except Exception:  # Whatever is wrong with it is no reason not to measure.
        return None
