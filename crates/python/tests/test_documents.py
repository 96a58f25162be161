"""What documents say is executed: docstrings, the READMEs, the guide with its tables, the notebook."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import pathlib
import pkgutil
import re
from typing import Any

import cpudyno
import pytest
from conftest import ROOT, run_document

MODULES = [it.name for it in pkgutil.iter_modules(cpudyno.__path__) if it.name not in ("_native", "__main__")]
GUIDE = ROOT / "docs/guide/python.md"
NOTEBOOK = ROOT / "docs/python.ipynb"


@pytest.mark.parametrize("name", ["cpudyno", *(f"cpudyno.{name}" for name in MODULES)])
def test_examples_of_docstrings_are_true(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_everything_public_is_documented() -> None:
    for name in cpudyno.__all__:
        assert getattr(cpudyno, name).__doc__, name
        for attribute, value in vars(getattr(cpudyno, name)).items():
            if not attribute.startswith("_") and getattr(value, "__module__", "").startswith("cpudyno"):
                assert value.__doc__, f"{name}.{attribute}"


@pytest.mark.parametrize("page", ["README.md", "crates/python/README.md", "docs/guide/python.md"])
def test_code_of_pages_runs(page: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: "dict[str, Any]" = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    for code in blocks:
        run_document(code, page, names, tmp_path)


def rows() -> "list[str]":
    """The right column of each table that begins with what one wrote elsewhere."""
    tables = [it for it in GUIDE.read_text().split("\n\n") if re.match(r"\| .*you write \|\n", it)]
    lines = [line for table in tables for line in table.splitlines()[2:]]
    return [line.rsplit("| `", 1)[1].rsplit("` |", 1)[0] for line in lines]


def test_there_are_tables_for_those_who_come_from_elsewhere() -> None:
    text = GUIDE.read_text()
    assert len(rows()) >= 20 and "In STREAMBenchmark.jl" in text and "In lib.pmu" in text


@pytest.mark.parametrize("code", rows())
def test_each_line_of_the_tables_runs(
    code: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: "dict[str, Any]" = {"f": lambda: None, "n": 1000, "url": "stream.c"}
    run_document("import cpudyno\nfrom cpudyno import pmu\npmu = cpudyno.pmu\n" + code, code, names, tmp_path)


def test_the_notebook_has_ten_cells_and_runs(tmp_path: pathlib.Path) -> None:
    cells = [it for it in json.loads(NOTEBOOK.read_text())["cells"] if it["cell_type"] == "code"]
    assert len(cells) == 10
    names: "dict[str, Any]" = {}
    for cell in cells:
        with contextlib.redirect_stdout(io.StringIO()):
            run_document("".join(cell["source"]), "notebook", names, tmp_path)
        assert cell["outputs"] == [], "outputs are of whoever runs it"
