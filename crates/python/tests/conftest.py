"""What tests share. They test the installed wheel: `cargo xtask wheel --test` builds, installs and tests it."""

from __future__ import annotations

import functools
import os
import pathlib
import signal
import sys
import types
from typing import Any

import cpudyno
import pytest

# What runs in the background inherits that interrupts are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

MACHINE = "sim:2s-56c"
ROOT = pathlib.Path(__file__).parents[3]


def measure(function: Any = None, /, **named: Any) -> Any:
    """`cpudyno.pmu.measure`, also where nothing counts."""
    made = cpudyno.pmu.measure(**{"missing": "reasons", **named})
    return made if function is None else made(function)


class Simulated(types.ModuleType):
    """The package as documents use it: it measures a simulated machine where they name none, and counts anywhere."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(cpudyno, name)
        if name == "pmu":
            pmu = types.SimpleNamespace(**vars(found))
            pmu.profile = functools.partial(found.profile, missing="reasons")
            pmu.profile_function = functools.partial(found.profile_function, missing="reasons")
            pmu.measure = measure
            return pmu
        measuring = set(cpudyno._measure.__all__) - {"ab"}
        return functools.partial(found, machine=MACHINE) if name in measuring else found


def run_document(code: str, name: str, names: "dict[str, Any]", folder: pathlib.Path) -> None:
    """Executes code of a document in a folder of its own."""
    here = os.getcwd()
    sys.modules["cpudyno"] = Simulated("cpudyno")
    os.chdir(folder)
    try:
        exec(compile(code, name, "exec"), names)
    finally:
        os.chdir(here)
        sys.modules["cpudyno"] = cpudyno


@pytest.fixture(scope="session")
def bandwidth() -> cpudyno.Bandwidth:
    """Memory bandwidth of a simulated machine."""
    return cpudyno.memory_bandwidth(machine=MACHINE)


@pytest.fixture(scope="session")
def record(bandwidth: cpudyno.Bandwidth) -> cpudyno.Record:
    """A record of a simulated machine."""
    return bandwidth.record
