"""Records of many machines, held against each other."""

from __future__ import annotations

import json
import os
from typing import Dict, List, Tuple, Union

from . import _native
from ._record import Fields

__all__ = ["Fleet", "read"]


class Fleet:
    """What is known of a fleet. ``str()`` gives the survey that ``cpudyno fleet`` prints."""

    def __init__(self, told: Tuple[List[Tuple[str, str]], List[Tuple[str, str]], str, str]) -> None:
        machines, left_out, survey, self._text = told
        #: The digest of the newest record of each machine, by its name: that of its file, up to ``_`` and a time.
        self.machines: Dict[str, Fields] = {name: Fields(json.loads(text)) for name, text in machines}
        #: Files that hold no record of measurements, and why.
        self.left_out: Dict[str, str] = {os.fspath(file): why for file, why in left_out}
        #: Kinds of machines, what is usual of each, and which machines are not.
        self.survey = Fields(json.loads(survey))

    def __len__(self) -> int:
        return len(self.machines)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Fleet of {len(self.machines)} machines, {len(self.left_out)} files left out>"


def read(folder: Union[str, "os.PathLike[str]"]) -> Fleet:
    """Reads the records of a folder: its files that end in ``.json`` or ``.html``.

    Raises ``OSError`` where the folder cannot be read.
    """
    name = os.fspath(folder)
    os.listdir(name)
    return Fleet(_native.fleet(name))
