"""Counting: blocks, functions, parts. Counters of the CPU are not everywhere; the kernel's own events are."""

from __future__ import annotations

import gc
import mmap
import os
import threading
from typing import Any

import cpudyno
import pytest
from cpudyno import Unavailable, pmu

FAULTS = "page-faults"
PAGES = 300
counters = pytest.mark.skipif(not pmu.is_available(), reason=f"no counters here: {pmu.why_unavailable()}")


def touch(pages: int = PAGES) -> int:
    """Touches fresh pages, which no allocator has at hand."""
    size = pages * mmap.PAGESIZE
    with mmap.mmap(-1, size) as memory:
        for at in range(0, size, mmap.PAGESIZE):
            memory[at] = 1
    return size


def test_a_block_is_counted_by_unit() -> None:
    with pmu.profile([FAULTS, "task-clock"], page=PAGES) as p:
        touch()
    assert p[FAULTS] > 0 and p.per("page")[FAULTS] == p[FAULTS] / PAGES
    assert "/page" in str(p) and f"{p[FAULTS]:,}" in str(p)
    assert "/kilopage" in p.report(kilopage=1)
    frame = p.frame()
    at = frame["event"].index(FAULTS)
    assert frame["count"][at] == p[FAULTS] and frame["per_page"][at] == p[FAULTS] / PAGES
    assert p.to_dict()["units"] == [{"name": "page", "number": PAGES}]
    assert p.run["modes"] == "user mode"


def test_an_empty_block_counts_nothing() -> None:
    with pmu.profile(FAULTS) as p:
        pass
    assert p[FAULTS] == 0


def test_units_may_be_said_in_the_block() -> None:
    with pmu.profile(FAULTS) as p:
        p.units["page"] = 3
    assert p.units == {"page": 3} and "page" in str(p)


def test_events_without_a_count_raise_or_are_reasons() -> None:
    with pytest.raises(Unavailable, match="no_such_event"):
        with pmu.profile(["no_such_event"]):
            raise AssertionError("the block is not executed")
    with pmu.profile(["no_such_event", FAULTS], missing="reasons") as p:
        touch()
    assert isinstance(p.counts["no_such_event"], Unavailable) and p[FAULTS] > 0
    assert "no_such_event" in str(p)
    with pytest.raises(Unavailable):
        _ = p["no_such_event"]
    with pytest.raises(KeyError):
        _ = p["never asked"]


@pytest.mark.skipif(pmu.is_available(), reason="counters are here")
def test_without_counters_there_is_a_reason() -> None:
    reason = pmu.why_unavailable()
    assert reason is not None and reason.why and reason.remedy
    with pytest.raises(Unavailable, match="hint: "):
        with pmu.profile():
            raise AssertionError("the block is not executed")
    with pmu.profile("retired.*all_branches$", missing="reasons", loop=3) as p:
        pass
    assert isinstance(p.counts["instructions"], Unavailable)
    with pytest.raises(Unavailable):
        pmu.profile_function(lambda: None)
    assert isinstance(pmu.profile_function(touch, missing="reasons").counts["cycles"], Unavailable)


@counters
def test_with_counters_a_loop_has_its_instructions() -> None:
    with pmu.profile("instructions", loop=100_000) as p:
        for _ in range(100_000):
            pass
    assert p.per("loop")["instructions"] > 1
    with pmu.profile() as empty:
        pass
    assert empty["instructions"] < p["instructions"] / 100


@counters
def test_with_counters_events_of_several_passes_need_a_function() -> None:
    many = ["branches", "branch-misses", "cache-references", "cache-misses", "L1-dcache-loads", "LLC-loads"]
    many += ["L1-dcache-load-misses", "LLC-load-misses", "dTLB-loads", "dTLB-load-misses", "iTLB-loads"]
    with pytest.raises(Unavailable, match="pmu.profile_function"):
        with pmu.profile(many):
            pass


def test_several_passes_are_said_in_words_of_this_package() -> None:
    reason = Unavailable("events in one pass", "they need 2 passes", "elsewhere", "hardware")
    assert "pmu.profile_function(f, events)" in str(pmu._in_python(reason))


def test_functions_are_counted_and_their_exceptions_pass() -> None:
    calls = []
    p = pmu.profile_function(lambda: calls.append(touch()), FAULTS, call=1)
    assert p[FAULTS] > 0 and len(calls) == p.executions
    with pytest.raises(ZeroDivisionError):
        pmu.profile_function(lambda: 1 // 0, FAULTS)
    with pytest.raises(TypeError):
        pmu.profile_function(3, FAULTS)  # type: ignore[arg-type]


def test_decorated_functions_return_what_they_did() -> None:
    class Worker:
        @pmu.measure(events=FAULTS)
        def work(self, pages: int) -> int:
            """Works."""
            return touch(pages)

    assert Worker().work(10) == 10 * mmap.PAGESIZE
    assert Worker.work.__doc__ == "Works."
    Worker().work(PAGES)
    profile = Worker.work.profile
    assert profile is not None and profile[FAULTS] > 0
    with pytest.raises(TypeError, match="events are named"):
        pmu.measure(FAULTS)  # type: ignore[call-overload]


def test_exceptions_of_a_block_pass_and_it_is_counted_until_then() -> None:
    p = pmu.profile(FAULTS)
    with pytest.raises(LookupError):
        with p:
            touch()
            raise LookupError
    assert p[FAULTS] > 0
    with pytest.raises(RuntimeError, match="profile of its own"):
        with p:
            pass


def test_the_thread_is_let_go_after_a_block() -> None:
    before = os.sched_getaffinity(0)
    with pmu.profile(FAULTS):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_parts_have_bills() -> None:
    with pmu.CounterSet(FAULTS, ["idle", "work"]) as parts:
        for _ in range(10):
            parts.switch_to("work")
            parts.done(PAGES)
            touch()
            parts.switch_to("idle")
        parts.verify()
        bill = parts.bill("work", "page")
        assert parts.intervals("work") == (10, 0)
    assert bill.units == {"page": 10 * PAGES} and "/page" in str(bill)
    assert bill.counts[FAULTS] == bill[FAULTS]


WRONG: "list[tuple[type[Exception], Any]]" = [
    (TypeError, lambda: pmu.profile(3)),  # type: ignore[arg-type]
    (TypeError, lambda: pmu.profile([3])),  # type: ignore[list-item]
    (TypeError, lambda: pmu.profile(FAULTS, page="x")),  # type: ignore[arg-type]
    (ValueError, lambda: pmu.profile(FAULTS, page=-1)),
    (ValueError, lambda: pmu.profile(FAULTS, missing="x")),
    (TypeError, lambda: pmu.CounterSet(FAULTS, "parts")),
    (ValueError, lambda: pmu.CounterSet(FAULTS, ["a", "a"])),
    (Unavailable, lambda: pmu.CounterSet(FAULTS, [])),
    (Unavailable, lambda: pmu.CounterSet([], ["a"])),
    (ValueError, lambda: pmu.CounterSet(FAULTS, ["a"]).switch_to("b")),
    (ValueError, lambda: pmu.CounterSet(FAULTS, ["a"]).done(-1)),
    (ValueError, lambda: pmu.CounterSet(FAULTS, ["a"]).done(2**64)),
]


@pytest.mark.parametrize("kind, call", WRONG, ids=range(len(WRONG)))
def test_wrong_arguments_are_exceptions(kind: "type[Exception]", call: Any) -> None:
    with pytest.raises(kind):
        call()


def test_counters_belong_to_their_thread() -> None:
    parts = pmu.CounterSet(FAULTS, ["a"])
    heard: "list[BaseException]" = []

    def elsewhere() -> None:
        try:
            parts.switch_to("a")
        except RuntimeError as error:
            heard.append(error)
        parts.close()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "another thread" in str(heard[0])
    parts.switch_to("a")


def test_counters_are_closed_once_however_often() -> None:
    parts = pmu.CounterSet(FAULTS, ["a"])
    files = len(os.listdir("/proc/self/fd"))
    parts.close()
    parts.close()
    assert len(os.listdir("/proc/self/fd")) < files
    with pytest.raises(RuntimeError, match="closed"):
        parts.switch_to("a")
    window = cpudyno._native.Window([FAULTS])
    window.close()
    del window, parts
    gc.collect()


def test_a_child_of_fork_opens_counters_of_its_own() -> None:
    parts = pmu.CounterSet(FAULTS, ["a"])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            try:
                parts.switch_to("a")
            except RuntimeError as error:
                code = 0 if "child" in str(error) else 2
            parts.close()
            with pmu.profile(FAULTS) as p:
                touch()
            code = code or (0 if p[FAULTS] > 0 else 3)
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    parts.switch_to("a")
