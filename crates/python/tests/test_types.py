"""Types: the checkers have nothing to say, and the stub is what the module has."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[1]


def run(*words: str, folder: pathlib.Path = FOLDER) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_has_nothing_to_say() -> None:
    pytest.importorskip("mypy")
    run(sys.executable, "-m", "mypy", "--strict", "python/cpudyno", "--cache-dir", os.devnull)


def test_the_stub_is_what_the_module_has(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("mypy")
    # Not below the sources: the module is that of the wheel.
    run(sys.executable, "-m", "mypy.stubtest", "cpudyno._native", folder=tmp_path)


def test_pyright_has_nothing_to_say() -> None:
    pyright = shutil.which("basedpyright") or shutil.which("pyright")
    if pyright is None:
        pytest.skip("needs basedpyright or pyright")
    run(pyright, "--pythonpath", sys.executable)
