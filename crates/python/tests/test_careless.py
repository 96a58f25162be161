"""What scripts and notebooks do without thinking of it."""

import copy
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import cpudyno
from cpudyno import pmu

MACHINE = "sim:4c"


class Whole:
    """A whole number that is no int, as numpy has them."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __index__(self) -> int:
        return self._number

    def __float__(self) -> float:
        return float(self._number)


def test_numbers_of_other_libraries_are_numbers() -> None:
    found = cpudyno.memory_bandwidth(Whole(2), budget=Whole(9), machine=MACHINE)  # type: ignore[arg-type]
    assert found.threads == 2
    assert cpudyno.pause(cpus=[Whole(0), Whole(1)], machine=MACHINE).rows  # type: ignore[list-item]
    for wrong in (b"0-1", 3, [1.5]):
        with pytest.raises(TypeError, match="hint: such as cpus="):
            cpudyno.pause(cpus=wrong, machine=MACHINE)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="hint"):
        cpudyno.sheet(budget=10**400, machine=MACHINE)


def test_one_thread_of_several_types_of_cores_has_to_be_chosen() -> None:
    with pytest.raises(cpudyno.Unavailable, match="type of core"):
        cpudyno.benchmark(machine="sim:hybrid")
    fast, slow = (cpudyno.benchmark(machine="sim:hybrid", core_type=it).single for it in ("P", "LP-E"))
    assert fast.core_type == "P" and float(fast["triad"]) > 1.5 * float(slow["triad"])
    assert cpudyno.benchmark(machine=MACHINE).single.core_type is None


def test_answers_without_all_numbers_are_printed_and_have_no_median() -> None:
    short = cpudyno.memory_bandwidth(machine="sim:2s-56c", budget=0.5)
    assert "unavailable" in repr(short) and short.kernels.reasons
    with pytest.raises(cpudyno.Unavailable):
        _ = short.median
    assert "threads" in repr(short.kernels)
    assert repr(cpudyno.scaling_benchmark(machine="sim:2s-56c", budget=1)).startswith("<Scaling")


def test_files_are_written_where_they_lead(tmp_path: pathlib.Path) -> None:
    record = cpudyno.info(machine=MACHINE)
    link, target = tmp_path / "link.json", tmp_path / "target.json"
    target.write_text("{}")
    link.symlink_to(target)
    record.save(link)
    assert link.is_symlink() and cpudyno.Record.open(target) == record
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    record.save(pipe)
    assert cpudyno.Record.from_json(reader.communicate()[0]) == record and pipe.is_fifo()
    for name in ("folder.html", "folder.json"):
        (tmp_path / name).mkdir()
        with pytest.raises(cpudyno.Refused):
            record.save(tmp_path / name)
    record.save(tmp_path / "page.HTML")
    assert (tmp_path / "page.HTML").read_text().startswith("<!DOCTYPE html")
    assert sorted(it.name for it in tmp_path.iterdir() if it.name.startswith(".")) == []


def test_a_number_is_no_file(tmp_path: pathlib.Path) -> None:
    with (tmp_path / "file").open("w") as file:
        with pytest.raises(TypeError):
            cpudyno.Record.open(file.fileno())  # type: ignore[arg-type]
        file.write("still open")


def test_tables_are_copied_and_pickled() -> None:
    record = cpudyno.info(machine=MACHINE)
    assert dict(copy.deepcopy(record.run)) == dict(record.run)
    assert dict(pickle.loads(pickle.dumps(record.run))) == dict(record.run)
    assert dict(copy.copy(record.run)) == dict(record.run)


def test_a_standard_error_that_only_writes_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Writes:
        def write(self, text: str) -> int:
            raise OSError("full")

        def flush(self) -> None:
            pass

    for error in (Writes(), None):
        monkeypatch.setattr(sys, "stderr", error)
        assert cpudyno.pause(machine=MACHINE).rows
        monkeypatch.setattr(cpudyno._progress, "_tqdm", lambda: None)
        assert cpudyno.pause(machine=MACHINE, progress=True).rows


def test_what_only_begins_when_it_is_called_is_not_counted() -> None:
    async def coroutine() -> None:
        pass

    def generator() -> "object":
        yield 1

    for function in (coroutine, generator):
        with pytest.raises(TypeError, match="only begins"):
            pmu.measure(function)


def test_blocks_that_end_in_another_order_leave_the_thread_as_it_was() -> None:
    before = os.sched_getaffinity(0)
    one, other = (pmu.profile("page-faults", missing="reasons") for _ in range(2))
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    other.__exit__(None, None, None)
    assert os.sched_getaffinity(0) == before


def test_an_interrupted_comparison_ends_by_itself(tmp_path: pathlib.Path) -> None:
    runs = tmp_path / "runs"

    def press() -> None:
        # Only once it runs: an interrupt that comes after a failure would end all tests.
        deadline = time.monotonic() + 60
        while not runs.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        if runs.exists():
            os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press, daemon=True)
    pressing.start()
    command = ["--a", "env.X=1", "--b", "env.X=2", "--", "sh", "-c", f"sleep 0.1; touch {runs}"]
    with pytest.raises(KeyboardInterrupt) as raised:
        cpudyno.ab(*command, budget=60)
    pressing.join()
    record = raised.value.record  # type: ignore[attr-defined]
    assert record is not None and record.run.interrupted == "stopped by SIGINT"
