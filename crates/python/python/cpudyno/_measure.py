"""Measuring: a function for each question."""

from __future__ import annotations

import json
import math
import numbers
import operator
import os
import signal
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

from . import _native, _program
from ._answers import (
    Answer,
    Answers,
    Bandwidth,
    Benchmark,
    Clocks,
    CoreLatencies,
    PauseLatencies,
    Regions,
    Scaling,
    Sheet,
    Threads,
    VectorLengths,
    Verdict,
    _of_type,
)
from ._errors import Busy, Error, Unavailable
from ._progress import Shown, shown
from ._record import Record

__all__ = [
    "ab",
    "benchmark",
    "cores",
    "doctor",
    "gate",
    "info",
    "jitter",
    "memory_bandwidth",
    "memory_latency",
    "openmp",
    "pause",
    "scaling_benchmark",
    "sheet",
    "threads",
    "turbo",
    "vector_length_dependence",
    "verify",
    "wake",
]

Cpus = Union[None, str, Iterable[int]]


def _measured(
    area: str,
    name: str,
    *,
    budget: Optional[float],
    machine: Optional[str],
    cpus: Cpus,
    wait: float,
    progress: Shown,
    **options: Any,
) -> Record:
    """The record of a measurement, which runs on a thread of its own without the interpreter's lock."""
    asked: Dict[str, Any] = {
        "machine": _text("machine", machine, "such as \"sim:2s-56c\", or the file of a capture"),
        "cpus": _cpu_list(cpus),
        "budget": None if budget is None else _time("budget", budget, above=True),
        "program": _program.path(),
        "wait": _time("wait", wait, above=False) or None,
        **options,
    }
    given = json.dumps({option: value for option, value in asked.items() if value is not None})
    shows = shown(progress)
    try:
        return Record(_native.measure(area, given, [f"cpudyno.{name}"], shows))
    except KeyboardInterrupt as interrupt:
        _wrap(interrupt)
        raise
    except Exception as error:
        _wrap(error)
        raise
    finally:
        shows.close()


def _how(
    budget: Optional[float], cpus: Cpus, machine: Optional[str], wait: float, progress: Shown
) -> Dict[str, Any]:
    """What every question has."""
    return {"budget": budget, "machine": machine, "cpus": cpus, "wait": wait, "progress": progress}


def _wrap(error: BaseException) -> None:
    """The record of an exception that ended a measurement, as `Record`."""
    found = getattr(error, "record", None)
    if isinstance(found, _native.Record):
        error.record = Record(found)  # type: ignore[attr-defined]


def _text(name: str, value: Optional[str], hint: str) -> Optional[str]:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is a text, not {value!r}\nhint: {hint}")
    return value


def _time(name: str, value: float, *, above: bool) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) and not hasattr(value, "__float__"):
        raise TypeError(f"{name} is a time in seconds, not {value!r}\nhint: such as {name}=10")
    bound = "above 0" if above else "of 0 or more"
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if not math.isfinite(seconds) or seconds < 0 or (above and seconds == 0):
        raise ValueError(f"{name} is {value!r:.40}; it is a time {bound} seconds\nhint: such as {name}=10")
    if seconds > 3600:
        raise ValueError(f"{name} is {seconds:g} s; it is at most 3600 s\nhint: such as {name}=10")
    return seconds


def _whole(name: str, value: Any, hint: str) -> int:
    """A whole number, also one of numpy."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {value!r}\nhint: {hint}") from None


def _number(name: str, value: Optional[int], hint: str) -> Optional[int]:
    if value is None:
        return None
    number = _whole(name, value, hint)
    if not 1 <= number < 2**32:
        bound = "at least 1" if number < 1 else "at most 2^32 - 1"
        raise ValueError(f"{name} is {number}; it is {bound}\nhint: {hint}")
    return number


def _cpu_list(cpus: Cpus) -> Optional[str]:
    hint = 'such as cpus="0-3,8" or cpus=range(4)'
    if cpus is None or isinstance(cpus, str):
        return cpus
    if isinstance(cpus, (bytes, bytearray)) or not hasattr(cpus, "__iter__"):
        raise TypeError(f"cpus is a list of CPUs, not {cpus!r}\nhint: {hint}")
    listed = []
    for cpu in cpus:
        try:
            number = -1 if isinstance(cpu, bool) else operator.index(cpu)
        except TypeError:
            number = -1
        if number < 0:
            raise TypeError(f"a CPU is a number from 0, not {cpu!r}\nhint: {hint}")
        listed.append(number)
    return ",".join(map(str, listed))


def _names(name: str, names: Union[None, str, Sequence[str]]) -> Optional[List[str]]:
    if names is None:
        return None
    if not isinstance(names, str) and not hasattr(names, "__iter__"):
        raise TypeError(f"{name} are names, not {names!r}")
    listed = [names] if isinstance(names, str) else list(names)
    for it in listed:
        if not isinstance(it, str):
            raise TypeError(f"{name} are names, not {it!r}")
    if not listed:
        raise ValueError(f"{name} is an empty list; without it all are measured")
    return listed


def sheet(
    budget: float = 10,
    *,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Sheet:
    """A data sheet: a little of everything within ``budget`` seconds.

    Every measuring function has these arguments, too:

    budget: about how long it takes, in s; ``None``: as long as the question needs.
    cpus: the CPUs to use, as a list ``"0-3,8"`` or numbers; ``None``: all.
    machine: another machine than this one: a simulated one, such as ``"sim:2s-56c"``, or the file of a capture.
    wait: how long to wait, in s, for another measurement on this host; without it that is ``cpudyno.Busy``.
    progress: ``None``: a bar in terminals and notebooks; ``False``: nothing; a function: it is called with a share
        (0 to 1) and what is being done.

    Measuring runs on threads of its own, and other threads of the interpreter run meanwhile. Ctrl-C ends it early; the
    ``KeyboardInterrupt`` has what was measured as its attribute ``record``.

    >>> import cpudyno
    >>> sheet = cpudyno.sheet(budget=5, machine="sim:2s-56c")
    >>> sheet.record.run.simulated
    '2s-56c'

    Raises
    ------
    TypeError, ValueError: arguments that mean nothing, with a hint.
    Unavailable: the machine does not allow it.
    Busy: another measurement runs on this host.
    """
    how = _how(budget, cpus, machine, wait, progress)
    return Sheet(_measured("sheet", "sheet", **how))


_THREADS = "1 <= nthreads <= the number of cores, or of the CPUs in `cpus`; `cpudyno info` says how many there are"


def memory_bandwidth(
    nthreads: Optional[int] = None,
    write_allocate: bool = True,
    verbose: bool = False,
    *,
    kernels: Union[None, str, Sequence[str]] = None,
    variant: Optional[str] = None,
    elements: Optional[int] = None,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Bandwidth:
    """Memory bandwidth by the four kernels of STREAM, in B/s: ``median``, ``minimum`` and ``maximum`` of them.

    Parameters
    ----------
    nthreads: how many threads, one on a core; ``None``: one, and as many as there are cores; the answer is of the most.
    write_allocate: whether the lines that ordinary stores read first are counted.
    verbose: whether the page is printed.
    kernels, variant: other kernels, one variant of them: ``cpudyno memory --list``.
    elements: elements of eight bytes in each array; ``None``: four times the caches.

    >>> import cpudyno
    >>> bandwidth = cpudyno.memory_bandwidth(nthreads=4, machine="sim:2s-56c")
    >>> bandwidth.minimum <= bandwidth.median <= bandwidth.maximum, bandwidth.median.unit
    (True, 'B/s')
    >>> sorted(bandwidth.kernels)
    ['add', 'copy', 'scale', 'triad']

    The other arguments and the errors are those of `sheet`.
    """
    record = _measured(
        "memory",
        "memory_bandwidth",
        budget=budget,
        machine=machine,
        cpus=cpus,
        wait=wait,
        progress=progress,
        threads=_number("nthreads", nthreads, _THREADS),
        write_allocate=bool(write_allocate),
        kernels=_names("kernels", kernels),
        variant=_text("variant", variant, "`cpudyno memory --list` lists variants"),
        length=_number("elements", elements, "elements of eight bytes in each array"),
    )
    if verbose:
        print(record.text())
    return Bandwidth(record, bool(write_allocate))


def benchmark(
    write_allocate: bool = True,
    *,
    core_type: Optional[str] = None,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Benchmark:
    """Memory bandwidth on one thread and on as many as there are cores: ``single`` and ``multi``.

    >>> import cpudyno
    >>> both = cpudyno.benchmark(machine="sim:2s-56c")
    >>> both.single.threads, both.multi.threads, both.single.median < both.multi.median
    (1, 112, True)

    ``core_type``: of what type the one core is, where a machine has several: ``"P"``, ``"E"``.
    The other arguments and the errors are those of `memory_bandwidth`.
    """
    found = memory_bandwidth(
        write_allocate=write_allocate, budget=budget, cpus=cpus, machine=machine, wait=wait, progress=progress
    )
    alone = [it for it in (*found.fewer, found.kernels) if it.threads == 1]
    if not alone:
        raise Unavailable("bandwidth of one thread", "no kernel was measured on one CPU", None, "measurement")
    return Benchmark(_of_type("bandwidth of one thread", alone, core_type), found.kernels, found.record)


def scaling_benchmark(
    write_allocate: bool = True,
    *,
    every: bool = False,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Scaling:
    """The bandwidth of the fastest kernel on 1, 2, ... all threads, in B/s.

    ``every``: each number of threads, and not only as many as fit into the time.

    >>> import cpudyno
    >>> scaling = cpudyno.scaling_benchmark(machine="sim:2s-56c")
    >>> scaling.threads[0], scaling[0] < scaling[-1]
    (1, True)

    The other arguments and the errors are those of `memory_bandwidth`.
    """
    how = _how(budget, cpus, machine, wait, progress)
    options: Dict[str, Any] = {"write_allocate": bool(write_allocate), "every": bool(every)}
    record = _measured("memory", "scaling_benchmark", **how, question="scaling", **options)
    return Scaling(record, bool(write_allocate))


def vector_length_dependence(
    write_allocate: bool = True,
    *,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> VectorLengths:
    """The bandwidth of the fastest kernel, in B/s, with arrays of one to four times the caches: by their elements.

    >>> import cpudyno
    >>> lengths = cpudyno.vector_length_dependence(machine="sim:2s-56c")
    >>> len(lengths), min(lengths.values()) > 1e9
    (4, True)

    Arguments and errors are those of `memory_bandwidth`.
    """
    how = _how(budget, cpus, machine, wait, progress)
    options: Dict[str, Any] = {"question": "vector-lengths", "write_allocate": bool(write_allocate)}
    record = _measured("memory", "vector_length_dependence", **how, **options)
    return VectorLengths(record, bool(write_allocate))


def memory_latency(
    *,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Answer:
    """How long one pointer takes, in s, in each cache and in memory: rows with the quantity ``latency``.

    Arguments and errors are those of `sheet`.
    """
    how = _how(budget, cpus, machine, wait, progress)
    return Answer(_measured("memory", "memory_latency", **how, question="latency"))


def turbo(
    streams: Union[None, str, Sequence[str]] = None,
    active: Union[None, int, str] = None,
    *,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Clocks:
    """The clock that cores run at, in Hz, by what they execute and how many are active.

    Parameters
    ----------
    streams: their names, as ``cpudyno streams`` lists them; ``None``: those of avx-turbo.
    active: how many cores are active; ``None``: one, and ever more up to all; ``"all"``.

    >>> import cpudyno
    >>> clocks = cpudyno.turbo("scalar_iadd", active=1, machine="sim:2s-56c", budget=0.5)
    >>> clocks.clock("scalar_iadd", 1).unit
    'Hz'

    The other arguments and the errors are those of `sheet`.
    """
    if isinstance(active, str) and active != "all":
        raise ValueError(f"active is a number of cores or 'all', not {active!r}")
    how = _how(budget, cpus, machine, wait, progress)
    count = None if isinstance(active, str) else _number("active", active, "a number of cores, or 'all'")
    options: Dict[str, Any] = {"streams": _names("streams", streams), "cores": count}
    options["active"] = active if isinstance(active, str) else None
    return Clocks(_measured("turbo", "turbo", **how, **options))


def cores(
    messages: Union[None, str, Sequence[str]] = None,
    *,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> CoreLatencies:
    """How long a message takes from core to core, one way, in s.

    ``messages``: the ways to tell, as ``cpudyno cores --list`` lists them; ``None``: all.

    >>> import cpudyno
    >>> latencies = cpudyno.cores(machine="sim:2s-56c", cpus=[0, 1], budget=0.5)
    >>> latencies.between(0, 1).unit
    's'

    The other arguments and the errors are those of `sheet`.
    """
    how = _how(budget, cpus, machine, wait, progress)
    return CoreLatencies(_measured("cores", "cores", **how, messages=_names("messages", messages)))


def wake(
    methods: Union[None, str, Sequence[str]] = None,
    *,
    question: str = "signals",
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Answer:
    """How long it takes to wake a thread, in s: rows with the quantities ``one_way`` and ``round_trip``.

    Parameters
    ----------
    methods: the ways to signal, as ``cpudyno wake --list`` lists them; ``None``: all.
    question: ``"signals"`` (one right after the other), ``"idle"`` (the sleeper's core rested before) or ``"timer"``
        (how late alarms are: rows with the quantity ``lateness``).

    The other arguments and the errors are those of `sheet`.
    """
    how = _how(budget, cpus, machine, wait, progress)
    return Answer(_measured("wake", "wake", **how, question=question, methods=_names("methods", methods)))


def pause(
    *,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> PauseLatencies:
    """What instructions of waiting take: ``cycles(NAME)`` in cycle/op, ``time(NAME)`` in s/op.

    >>> import cpudyno
    >>> cpudyno.pause(machine="sim:2s-56c", budget=0.2).cycles("pause_only").unit
    'cycle/op'

    Arguments and errors are those of `sheet`.
    """
    how = _how(budget, cpus, machine, wait, progress)
    return PauseLatencies(_measured("pause", "pause", **how))


def openmp(
    threads: Union[None, int, Sequence[int]] = None,
    runtimes: Union[None, str, Sequence[str]] = None,
    *,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Regions:
    """What a parallel region of each OpenMP runtime costs, in s, by its ways of waiting.

    ``threads``: numbers of threads; ``runtimes``: ``"libgomp"``, ``"libomp"``, ...; ``None``: all that are installed.
    The other arguments and the errors are those of `sheet`.
    """
    hint = "numbers of threads, such as threads=[2, 4]"
    listed: Any = [] if threads is None else threads if hasattr(threads, "__iter__") else [threads]
    counts = None if threads is None else [_whole("threads", count, hint) for count in listed]
    for count in counts or []:
        _number("threads", count, hint)
    how = _how(budget, cpus, machine, wait, progress)
    options: Dict[str, Any] = {"threads": counts, "runtimes": _names("runtimes", runtimes)}
    return Regions(_measured("openmp", "openmp", **how, **options))


def jitter(
    *,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Answer:
    """What takes CPUs away from a thread that never sleeps: rows with the quantities ``gap`` (s) and ``lost`` (1).

    Arguments and errors are those of `sheet`.
    """
    how = _how(budget, cpus, machine, wait, progress)
    return Answer(_measured("jitter", "jitter", **how))


def threads(
    *,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Threads:
    """How many threads, and on which CPUs, for this process as it stands: its affinity, its quota, what others leave.

    Arguments and errors are those of `sheet`.

    >>> import cpudyno
    >>> cpudyno.threads(machine="sim:quota").compute
    8
    """
    how = _how(budget, cpus, machine, wait, progress)
    return Threads(_measured("threads", "threads", **how))


def gate(
    minimum: Union[None, str, Sequence[str]] = None,
    maximum: Union[None, str, Sequence[str]] = None,
    *,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Verdict:
    """Whether the machine is what it should be: by what is known of its kind, and by bounds of results.

    ``minimum``: what results have to reach, such as ``"memory.triad=80GB/s"``; ``maximum``: what they must not exceed,
    such as ``"cores.latency=200ns"``.

    >>> import cpudyno
    >>> verdict = cpudyno.gate("memory.triad=1GB/s", machine="sim:2s-56c", budget=2)
    >>> bool(verdict), verdict.verdict
    (True, 'PASS')

    The other arguments and the errors are those of `sheet`.
    """
    how = _how(budget, cpus, machine, wait, progress)
    bounds: Dict[str, Any] = {
        "min": _names("minimum", minimum),
        "max": _names("maximum", maximum),
    }
    return Verdict(_measured("gate", "gate", **how, **bounds))


def verify(
    workloads: Union[None, str, Sequence[str]] = None,
    *,
    budget: Optional[float] = None,
    cpus: Cpus = None,
    machine: Optional[str] = None,
    wait: float = 0,
    progress: Shown = None,
) -> Answers:
    """Whether every core computes right: each answer of each CPU compared with one that other CPUs computed.

    It keeps all CPUs busy, for a minute where no ``budget`` is given (s). ``workloads``: streams and memory kernels by
    their names (``cpudyno streams``, ``cpudyno memory --list``); without them all that the machine executes.

    >>> import cpudyno
    >>> answers = cpudyno.verify(machine="sim:faulty", budget=60)
    >>> bool(answers), answers.faulty
    (False, '2')
    >>> answers.wrong[0].workload
    'avx512_fma_t'

    The other arguments and the errors are those of `sheet`.
    """
    how = _how(budget, cpus, machine, wait, progress)
    return Answers(_measured("verify", "verify", **how, workloads=_names("workloads", workloads)))


def info(*, machine: Optional[str] = None) -> Record:
    """What the machine says of itself, as a record: ``record.facts``, ``str(record)``."""
    return Record(_native.describe("info", _text("machine", machine, "such as \"sim:2s-56c\"")))


def doctor(*, machine: Optional[str] = None) -> Record:
    """What can be measured here, what not, and what would help, as a record: ``str(record)``."""
    return Record(_native.describe("doctor", _text("machine", machine, "such as \"sim:2s-56c\"")))


def ab(*arguments: str, machine: Optional[str] = None, budget: Optional[float] = None) -> Record:
    """Two settings or commands compared, as ``cpudyno ab ARGUMENTS`` does: its record.

    Settings of the machine are changed and put back meanwhile, by the command that comes with this package; its
    messages go to standard error. ``cpudyno ab --help`` explains the arguments.

    Raises
    ------
    Error: the command ended with an error.
    Unavailable: the command is not there.
    """
    program = _program.path()
    if program is None:
        raise Unavailable("cpudyno ab", "the command `cpudyno` is not there", "pip install cpudyno")
    for argument in arguments:
        if not isinstance(argument, str):
            raise TypeError(f"arguments are texts as in a command line, not {argument!r}")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "ab.json")
        options = ["--json", file]
        if _text("machine", machine, "such as \"sim:2s-56c\"") is not None:
            options += ["--machine", str(machine)]
        if budget is not None:
            options += ["--budget", f"{_time('budget', budget, above=True)}"]
        with open(os.path.join(folder, "said"), "w+", encoding="utf-8", errors="replace") as said:
            command = [program, "ab", *options, *arguments]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
            interrupt = _through(process)
            said.seek(0)
            message = said.read()
        record = Record.open(file) if os.path.exists(file) and os.path.getsize(file) else None
        if interrupt is not None:
            interrupt.record = record  # type: ignore[attr-defined]
            raise interrupt
        if record is not None:
            sys.stderr.write(message)
            return record
        message, _, hint = message.strip().partition("\nhint: ")
        message = message.removeprefix("error: ") or f"it ended with code {process.returncode}"
        if "this host is measured by" in message:
            raise Busy(f"cpudyno ab: {message}", hint or None)
        raise Error(f"cpudyno ab: {message}", hint or None)


def _through(process: "subprocess.Popen[bytes]") -> Optional[KeyboardInterrupt]:
    """Waits for its end, however long it takes to put settings back; Ctrl-C is its, too."""
    interrupt = None
    while True:
        try:
            process.wait()
            return interrupt
        except KeyboardInterrupt as pressed:
            if interrupt is None:
                process.send_signal(signal.SIGINT)
            interrupt = pressed
