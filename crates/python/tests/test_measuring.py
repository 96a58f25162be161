"""Measuring: answers, errors, signals, threads, processes."""

from __future__ import annotations

import os
import pathlib
import pty
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable

import cpudyno
import pytest
from conftest import MACHINE
from cpudyno import _program


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    program = _program.path()
    assert program is not None, "the wheel has the command"
    return subprocess.run([program, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("arguments", [[], ["--threads", "4"]])
def test_bandwidth_is_that_of_the_command(arguments: "list[str]", tmp_path: pathlib.Path) -> None:
    file = tmp_path / "r.json"
    done = command("memory", "--machine", MACHINE, *arguments, "--json", str(file))
    assert done.returncode == 0, done.stderr
    threads = int(arguments[1]) if arguments else None
    found = cpudyno.memory_bandwidth(threads, machine=MACHINE).record
    assert cpudyno.Record.open(file).frame() == found.frame()


def test_bandwidth_has_median_minimum_and_maximum_of_four_kernels(bandwidth: cpudyno.Bandwidth) -> None:
    four = sorted(float(bandwidth.kernels[name]) for name in ("copy", "scale", "add", "triad"))
    assert (bandwidth.minimum, bandwidth.maximum) == (four[0], four[3])
    assert bandwidth.median == (four[1] + four[2]) / 2
    assert bandwidth.threads == 112 and [it.threads for it in bandwidth.fewer] == [1]
    assert bandwidth.triad.minimum <= bandwidth.triad.median <= bandwidth.triad.maximum
    assert bandwidth.record.run.command == ["cpudyno.memory_bandwidth"]


def test_write_allocates_are_counted_or_not() -> None:
    how: "dict[str, Any]" = {"nthreads": 1, "variant": "avx", "machine": MACHINE}
    counted = cpudyno.memory_bandwidth(**how)
    not_counted = cpudyno.memory_bandwidth(write_allocate=False, **how)
    assert float(counted.copy) == pytest.approx(1.5 * float(not_counted.copy))
    assert float(counted.triad) == pytest.approx(4 / 3 * float(not_counted.triad))


def test_verbose_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    found = cpudyno.memory_bandwidth(2, verbose=True, machine=MACHINE)
    assert capsys.readouterr().out == str(found) + "\n"


def test_scaling_has_a_number_for_each_number_of_threads() -> None:
    scaling = cpudyno.scaling_benchmark(machine=MACHINE, cpus="0-7", every=True)
    assert scaling.threads == list(range(1, 9)) and len(scaling) == 8
    assert scaling[0] < scaling[-1] and scaling[1:3] == [scaling[1], scaling[2]]


def test_every_question_has_an_answer() -> None:
    assert cpudyno.benchmark(machine=MACHINE).single.threads == 1
    assert len(cpudyno.vector_length_dependence(machine=MACHINE)) == 4
    clocks = cpudyno.turbo(["scalar_iadd"], active="all", machine=MACHINE)
    assert [it.active for it in clocks.clocks] == [112]
    latencies = cpudyno.cores("cas", machine=MACHINE, cpus="0-2")
    assert latencies.matrix()[0][1] == latencies.between(1, 0).median
    assert cpudyno.wake("futex", machine=MACHINE).rows[0].workload == "futex"
    assert cpudyno.wake(question="timer", machine=MACHINE).record.select(quantity="lateness")
    assert cpudyno.pause(machine=MACHINE).cycles().unit == "cycle/op"
    assert cpudyno.openmp(2, machine=MACHINE).regions
    assert cpudyno.memory_latency(machine=MACHINE).record.select(quantity="latency")
    assert cpudyno.jitter(machine=MACHINE, budget=1).rows
    threads = cpudyno.threads(machine="sim:hybrid")
    assert (threads.compute, threads.equal_parts, threads.bandwidth, threads.barriers) == (10, 4, 3, 8)
    assert threads.advice["slower_cores"]["equal_parts"] < 1
    assert len(cpudyno.sheet(budget=5, machine=MACHINE).rows) > 10


def test_gates_pass_and_fail() -> None:
    passed = cpudyno.gate("memory.triad=1GB/s", machine=MACHINE)
    failed = cpudyno.gate("memory.triad=9000GB/s", machine=MACHINE)
    assert passed and passed.passes and not failed and "FAIL" in failed.line
    assert failed.items[0].name == "memory.triad"


def test_a_core_that_computes_wrong_is_named_and_others_are_right() -> None:
    found = cpudyno.verify(machine="sim:faulty", budget=60)
    assert not found and (found.are_right, found.faulty) == (False, "2")
    wrong = found.wrong[0]
    assert (wrong.cpu, wrong.workload) == (2, "avx512_fma_t") and 0 < wrong.wrong <= wrong.calls
    right = cpudyno.verify(["scalar_iadd", "triad"], machine="sim:4c", budget=1)
    assert right and (right.faulty, right.wrong) == ("", []) and right.ops > 1e6
    assert "right" in repr(right) and "CPU 2 wrong" in repr(found)


def test_ab_is_the_commands() -> None:
    with pytest.raises(cpudyno.Error, match="cpudyno ab"):
        cpudyno.ab("--no-such-option")
    with pytest.raises(TypeError, match="command line"):
        cpudyno.ab(3)  # type: ignore[arg-type]


WRONG: "list[tuple[type[Exception], str, Callable[[], object]]]" = [
    (TypeError, "1 <= nthreads", lambda: cpudyno.memory_bandwidth("4")),  # type: ignore[arg-type]
    (TypeError, "whole number", lambda: cpudyno.memory_bandwidth(True)),
    (TypeError, "whole number", lambda: cpudyno.memory_bandwidth(2.0)),  # type: ignore[arg-type]
    (ValueError, "at least 1", lambda: cpudyno.memory_bandwidth(0)),
    (ValueError, "at most", lambda: cpudyno.memory_bandwidth(2**70)),
    (ValueError, "ask for at most 112", lambda: cpudyno.memory_bandwidth(999, machine=MACHINE)),
    (ValueError, "`cpudyno memory --list`", lambda: cpudyno.memory_bandwidth(kernels="x", machine=MACHINE)),
    (ValueError, "empty list", lambda: cpudyno.turbo([], machine=MACHINE)),
    (ValueError, "`cpudyno streams`", lambda: cpudyno.turbo("x", machine=MACHINE)),
    (ValueError, "`cpudyno wake --list`", lambda: cpudyno.wake("x", machine=MACHINE)),
    (ValueError, "signals, idle, timer", lambda: cpudyno.wake(question="x")),
    (ValueError, "'all'", lambda: cpudyno.turbo(active="some")),
    (TypeError, "time in seconds", lambda: cpudyno.sheet("10")),  # type: ignore[arg-type]
    (ValueError, "above 0", lambda: cpudyno.sheet(0)),
    (ValueError, "above 0", lambda: cpudyno.sheet(float("nan"))),
    (ValueError, "0 or more", lambda: cpudyno.sheet(wait=-1)),
    (ValueError, "at most 3600 s", lambda: cpudyno.sheet(wait=1e300, machine=MACHINE)),
    (ValueError, "machines: sim:1c", lambda: cpudyno.sheet(machine="nope")),
    (ValueError, 'did you mean "sim:2s-56c"', lambda: cpudyno.sheet(machine="sim:2s-56")),
    (TypeError, "sim:2s-56c", lambda: cpudyno.info(machine=3)),  # type: ignore[arg-type]
    (ValueError, "0-3", lambda: cpudyno.pause(cpus="a", machine=MACHINE)),
    (TypeError, "number from 0", lambda: cpudyno.pause(cpus=[-1], machine=MACHINE)),
    (ValueError, "choose among", lambda: cpudyno.pause(cpus=[9999], machine=MACHINE)),
    (ValueError, "did you mean `triad`", lambda: cpudyno.verify("triads", machine=MACHINE)),
    (ValueError, "empty list", lambda: cpudyno.verify([], machine=MACHINE)),
    (ValueError, "such as memory.triad", lambda: cpudyno.gate("x=1", machine=MACHINE)),
    (TypeError, "progress", lambda: cpudyno.pause(progress=3, machine=MACHINE)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("kind, hint, call", WRONG, ids=range(len(WRONG)))
def test_wrong_arguments_are_pythons_exceptions_with_a_hint(
    kind: "type[Exception]", hint: str, call: Callable[[], object]
) -> None:
    with pytest.raises(kind, match=hint):
        call()


def test_cores_of_several_types_are_never_one_number() -> None:
    pause = cpudyno.pause(machine="sim:hybrid")
    with pytest.raises(cpudyno.Unavailable, match="P, E, LP-E"):
        pause.cycles()
    performance, efficient = (float(pause.cycles(core_type=it)) for it in ("P", "E"))
    assert performance > 2 * efficient
    clocks = cpudyno.turbo("scalar_iadd", active=1, budget=1, machine="sim:hybrid")
    with pytest.raises(cpudyno.Unavailable, match="type of core"):
        clocks.clock("scalar_iadd", 1)
    assert float(clocks.clock("scalar_iadd", 1, "P")) > float(clocks.clock("scalar_iadd", 1, "E"))
    with pytest.raises(cpudyno.Unavailable, match="there are P, E"):
        clocks.clock("scalar_iadd", 1, "Q")


def test_a_panic_becomes_an_exception(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(cpudyno.Bug, match=r"BUG: provoked by a test \(at .*errors.rs:\d+"):
        cpudyno._native.provoke_bug()
    assert capfd.readouterr() == ("", "")


def test_progress_is_told_and_its_exception_ends_the_run() -> None:
    told: "list[tuple[float, str]]" = []
    cpudyno.pause(machine=MACHINE, progress=lambda share, doing: told.append((share, doing)))
    assert told and all(0 <= share <= 1 and doing for share, doing in told)

    def fail(share: float, doing: str) -> None:
        if share > 0:
            raise LookupError("enough")

    with pytest.raises(LookupError) as raised:
        cpudyno.sheet(60, wait=60, progress=fail)
    assert isinstance(raised.value.record, cpudyno.Record)  # type: ignore[attr-defined]


def test_ctrl_c_raises_keyboard_interrupt_with_the_partial_record() -> None:
    def press(share: float, doing: str) -> None:
        if share > 0:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as raised:
        cpudyno.sheet(60, wait=60, progress=press)
    record = raised.value.record  # type: ignore[attr-defined]
    assert isinstance(record, cpudyno.Record) and record.run.interrupted
    assert record.run.seconds < record.run.plan.budget_seconds


def test_signal_handlers_may_measure() -> None:
    inner: "list[cpudyno.PauseLatencies]" = []
    before = signal.signal(signal.SIGUSR1, lambda *_: inner.append(cpudyno.pause(machine=MACHINE)))

    def send(share: float, doing: str) -> None:
        if not inner:
            os.kill(os.getpid(), signal.SIGUSR1)

    try:
        outer = cpudyno.pause(machine=MACHINE, progress=send)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert inner and outer.rows and inner[0].rows


def test_other_threads_run_while_it_measures() -> None:
    turns, ended = [0], threading.Event()

    def turn() -> None:
        while not ended.is_set():
            turns[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=turn)
    thread.start()
    before = turns[0]
    cpudyno.pause(budget=1, wait=60)
    during = turns[0] - before
    ended.set()
    thread.join()
    # A lock that is held has room for one turn or two at its ends.
    assert during > 5


def test_one_measurement_at_a_time_and_others_wait_or_are_busy() -> None:
    found: "list[object]" = []
    begun = threading.Event()
    tell = lambda share, doing: begun.set() if share > 0 else None  # noqa: E731
    thread = threading.Thread(target=lambda: found.append(cpudyno.pause(budget=2, wait=60, progress=tell)))
    thread.start()
    begun.wait()
    with pytest.raises(cpudyno.Busy, match="hint: the argument wait=SECONDS") as busy:
        cpudyno.pause(budget=1)
    assert str(os.getpid()) in busy.value.holder
    assert cpudyno.pause(budget=1, wait=60).rows
    thread.join()
    assert found


def test_simulated_machines_are_measured_side_by_side() -> None:
    found: "list[str]" = []
    one = lambda: found.append(cpudyno.pause(machine=MACHINE).record.json())  # noqa: E731
    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1


def test_a_child_of_fork_measures() -> None:
    cpudyno.pause(budget=0.5, wait=60)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if cpudyno.pause(budget=0.5, wait=60).rows else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_python_m_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "cpudyno", "--version"], capture_output=True, text=True)
    assert done.stdout == command("--version").stdout != ""
    assert cpudyno.__version__ in done.stdout


def test_nothing_is_shown_where_no_terminal_is(capfd: pytest.CaptureFixture[str]) -> None:
    cpudyno.pause(machine=MACHINE)
    assert capfd.readouterr() == ("", "")


def test_a_terminal_shows_progress_on_standard_error() -> None:
    code = (
        "import cpudyno; cpudyno._progress._tqdm = lambda: None\n"
        f"cpudyno.pause(machine={MACHINE!r}); print('done')"
    )
    ours, theirs = pty.openpty()
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.stdout == "done\n" and "%" in shown and shown.endswith("\x1b[K")


def test_tqdm_is_used_where_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bar:
        bars: "list[Bar]" = []

        def __init__(self, **named: Any) -> None:
            self.n, self.is_closed = 0.0, False
            self.bars.append(self)

        def set_description_str(self, text: str, refresh: bool) -> None:
            assert text

        def update(self, more: float) -> None:
            self.n += more

        def close(self) -> None:
            self.is_closed = True

    monkeypatch.setattr(cpudyno._progress, "_tqdm", lambda: Bar)
    cpudyno.pause(machine=MACHINE, progress=True)
    assert len(Bar.bars) == 1 and Bar.bars[0].is_closed
