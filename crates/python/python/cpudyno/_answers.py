"""Answers: thin views of a record, by what was asked."""

from __future__ import annotations

import json
import statistics
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union, overload

from . import _native
from ._errors import Unavailable
from ._record import Fields, Record, Row, Value
from ._values import Quantity

__all__ = [
    "Answer",
    "Answers",
    "Bandwidth",
    "Benchmark",
    "Clock",
    "Clocks",
    "CoreLatencies",
    "Kernels",
    "PauseLatencies",
    "PauseLatency",
    "Region",
    "Regions",
    "Scaling",
    "Sheet",
    "Threads",
    "VectorLengths",
    "Verdict",
]


class Answer:
    """What a measurement answers: a record, and what was asked for in it."""

    def __init__(self, record: Record) -> None:
        #: Everything that was measured, and how.
        self.record = record

    @property
    def rows(self) -> List[Row]:
        """Every result, also those that have no name here."""
        return self.record.rows

    def frame(self, level: str = "results") -> Dict[str, List[Any]]:
        """Columns for ``pandas.DataFrame`` and ``polars.DataFrame``: see `Record.frame`."""
        return self.record.frame(level)

    @property
    def findings(self) -> List[Fields]:
        """What is remarkable, the gravest first."""
        return self.record.findings

    def __str__(self) -> str:
        return self.record.text()

    def _repr_html_(self) -> str:
        return self.record._repr_html_()


class Sheet(Answer):
    """A data sheet: a little of everything. Its results are in ``rows``, its page is ``str()``."""

    def __repr__(self) -> str:
        return f"<Sheet of {len(self.rows)} results>"


_Said = Union["_native._Numbers", Unavailable]


def _read(said: _Said) -> Union[Value, Unavailable]:
    return said if isinstance(said, Unavailable) else Value(said)


def _value(read: Union[Value, Unavailable]) -> Value:
    if isinstance(read, Unavailable):
        raise _again(read)
    return read


def _again(reason: Unavailable) -> Unavailable:
    """The same, which has no traceback of an earlier time."""
    return Unavailable(reason.what, reason.why, reason.remedy, reason.obstacle)


def _told(kernels: "Kernels") -> str:
    try:
        return str(kernels.maximum)
    except Unavailable:
        return "unavailable"


class Kernels(Mapping[str, Value]):
    """The kernels of STREAM on the same CPUs, with arrays of the same length, each in its fastest way.

    ``kernels["triad"]`` is the bandwidth of one, in B/s. With ``write_allocate`` the lines are counted that ordinary
    stores read first: what moves between core and memory.
    """

    def __init__(self, kernels: _native._KernelsTuple) -> None:
        cpus, core_type, elements, order, found = kernels
        #: The CPUs, with one thread each.
        self.cpus = tuple(cpus)
        #: Their type of core, where a machine has several: ``P``, ``P and E``.
        self.core_type: Optional[str] = core_type
        #: Elements of eight bytes in each array.
        self.elements = elements
        #: In which order threads were added, where there are several.
        self.order: Optional[str] = order
        self._found = {name: _read(said) for name, said in found}

    @property
    def threads(self) -> int:
        """How many threads moved data."""
        return len(self.cpus)

    @property
    def median(self) -> Quantity:
        """The median of the kernels, in B/s. Raises ``Unavailable`` where none has a number."""
        return Quantity(statistics.median(self._medians()), "B/s")

    @property
    def minimum(self) -> Quantity:
        """The slowest kernel, in B/s."""
        return Quantity(min(self._medians()), "B/s")

    @property
    def maximum(self) -> Quantity:
        """The fastest kernel, in B/s."""
        return Quantity(max(self._medians()), "B/s")

    @property
    def reasons(self) -> Dict[str, Unavailable]:
        """Why kernels have no number, by their names."""
        return {name: it for name, it in self._found.items() if isinstance(it, Unavailable)}

    def _medians(self) -> List[float]:
        """Of all kernels; what one moves may be unknown to the CPU's own instruction, which leaves it out."""
        for reason in self.reasons.values():
            if reason.obstacle == "measurement":
                raise _again(reason)
        found = [float(it) for it in self._found.values() if isinstance(it, Value)]
        if not found:
            raise Unavailable("bandwidth", "no kernel has a number", "give it more time: budget=SECONDS", "measurement")
        return found

    def __getitem__(self, kernel: str) -> Value:
        return _value(self._found[kernel])

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        told = (f"{name} {it if isinstance(it, Value) else 'unavailable'}" for name, it in self._found.items())
        return f"<Kernels on {self.threads} threads: {', '.join(told)}>"


def _groups(record: Record, write_allocate: bool) -> List[Kernels]:
    """The kernels by CPUs, length and order; fewer threads and shorter arrays first."""
    return [Kernels(kernels) for kernels in record._native.kernels(write_allocate)]


class Bandwidth(Answer):
    """Memory bandwidth: ``median``, ``minimum`` and ``maximum`` of the four kernels, in B/s.

    ``kernels`` has each of them, ``copy``, ``scale``, ``add`` and ``triad``.
    """

    def __init__(self, record: Record, write_allocate: bool) -> None:
        super().__init__(record)
        groups = _groups(record, write_allocate)
        if not groups:
            raise Unavailable("bandwidth", "no kernel was measured", "give it more time: budget=SECONDS", "measurement")
        #: On the most threads that were measured.
        self.kernels = groups[-1]
        #: On fewer.
        self.fewer = groups[:-1]

    @property
    def threads(self) -> int:
        """How many threads moved data."""
        return self.kernels.threads

    @property
    def median(self) -> Quantity:
        """The median of the kernels, in B/s."""
        return self.kernels.median

    @property
    def minimum(self) -> Quantity:
        """The slowest kernel, in B/s."""
        return self.kernels.minimum

    @property
    def maximum(self) -> Quantity:
        """The fastest kernel, in B/s."""
        return self.kernels.maximum

    @property
    def copy(self) -> Value:
        """``a[i] = b[i]``"""
        return self.kernels["copy"]

    @property
    def scale(self) -> Value:
        """``a[i] = q * b[i]``"""
        return self.kernels["scale"]

    @property
    def add(self) -> Value:
        """``a[i] = b[i] + c[i]``"""
        return self.kernels["add"]

    @property
    def triad(self) -> Value:
        """``a[i] = b[i] + q * c[i]``"""
        return self.kernels["triad"]

    def __repr__(self) -> str:
        return repr(self.kernels)


class Benchmark(NamedTuple):
    """Bandwidth on one thread and on all."""

    #: On one thread.
    single: Kernels
    #: On all.
    multi: Kernels
    #: What both are of.
    record: Record


def _most(groups: Sequence[Kernels], order: Optional[str]) -> int:
    return max(point.threads for point in groups if point.order == order)


class Scaling(Answer, Sequence[Quantity]):
    """The bandwidth of the fastest kernel on 1, 2, ... threads, in B/s: a sequence of numbers.

    ``threads`` says on how many each is, ``points`` has all kernels; ``others`` are other orders of adding threads.
    """

    def __init__(self, record: Record, write_allocate: bool) -> None:
        super().__init__(record)
        groups = _groups(record, write_allocate)
        orders = list(dict.fromkeys(point.order for point in groups))
        first = "compact" if "compact" in orders else max(orders, key=lambda it: _most(groups, it), default=None)
        self.points = [point for point in groups if point.order == first]
        self.others = [point for point in groups if point.order != first]
        self.threads: List[int] = [point.threads for point in self.points]

    @overload
    def __getitem__(self, at: int) -> Quantity: ...
    @overload
    def __getitem__(self, at: slice) -> List[Quantity]: ...
    def __getitem__(self, at: Union[int, slice]) -> Union[Quantity, List[Quantity]]:
        if isinstance(at, slice):
            return [point.maximum for point in self.points[at]]
        return self.points[at].maximum

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        lines = (f"{point.threads}: {_told(point)}" for point in self.points)
        return f"<Scaling {', '.join(lines)}>"


class VectorLengths(Answer, Mapping[int, Quantity]):
    """The bandwidth of the fastest kernel, in B/s, by the number of elements in each array."""

    def __init__(self, record: Record, write_allocate: bool) -> None:
        super().__init__(record)
        groups = _groups(record, write_allocate)
        most = max((point.threads for point in groups), default=0)
        self.points = {point.elements: point for point in groups if point.threads == most}

    def __getitem__(self, elements: int) -> Quantity:
        return self.points[elements].maximum

    def __iter__(self) -> Iterator[int]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{length}: {_told(point)}" for length, point in self.points.items()) + "}"


_Typed = TypeVar("_Typed", "Clock", "Kernels", "PauseLatency")


def _of_type(what: str, found: Sequence[_Typed], core_type: Optional[str]) -> _Typed:
    """The one of that type of core: types are never one number."""
    of_type = [it for it in found if core_type is None or it.core_type == core_type]
    types = ", ".join(dict.fromkeys(str(it.core_type) for it in found))
    if not of_type:
        raise Unavailable(what, f"there is no core type {core_type!r}; there are {types}")
    if len({it.core_type for it in of_type}) > 1:
        raise Unavailable(what, f"it differs by type of core: {types}", "name one, such as core_type=\"P\"")
    return of_type[0]


class Clock(NamedTuple):
    """The clock of one stream on some active cores, in Hz."""

    stream: str
    #: The type of core, where a machine has several: ``P``, ``E``.
    core_type: Optional[str]
    cpus: Tuple[int, ...]
    row: Row

    @property
    def active(self) -> int:
        """How many cores were active."""
        return len(self.cpus)

    @property
    def value(self) -> Value:
        """The median over cores. Raises ``Unavailable`` where there is none."""
        return self.row.value


class Clocks(Answer):
    """Clocks by stream and active cores: ``clocks``, and ``clock(stream, active)`` for one."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        rows = record.select(area="turbo", quantity="clock")
        self.clocks = [Clock(row.workload, row.parameters.get("core_type"), row.cpus, row) for row in rows]

    def clock(self, stream: str, active: int, core_type: Optional[str] = None) -> Value:
        """The clock of a stream on so many active cores, in Hz.

        Raises ``Unavailable`` where it was not measured, and where types of cores differ and none is named.
        """
        what = f"clock of {stream} on {active} cores"
        found = [it for it in self.clocks if it.stream == stream and it.active == active]
        if not found:
            raise Unavailable(what, "it was not measured", None, "measurement")
        return _of_type(what, found, core_type).value

    def __repr__(self) -> str:
        return f"<Clocks of {len(self.clocks)} cells>"


class CoreLatencies(Answer):
    """How long a message takes from core to core, one way, in s."""

    def between(self, one: int, other: int, message: Optional[str] = None) -> Value:
        """Between two CPUs, by the first message that was measured, or that one. Raises ``Unavailable``."""
        for row in self.record.select(area="cores", quantity="latency", workload=message):
            if set(row.cpus) == {one, other}:
                return row.value
        raise Unavailable(f"latency of CPUs {one},{other}", "this pair was not measured", None, "measurement")

    def matrix(self, message: Optional[str] = None) -> Dict[int, Dict[int, Optional[Quantity]]]:
        """Medians by CPU and CPU, in s; ``None`` where there is none."""
        found: Dict[int, Dict[int, Optional[Quantity]]] = {}
        rows = self.record.select(area="cores", quantity="latency", workload=message)
        for row in rows:
            if row.workload != rows[0].workload or len(row.cpus) != 2:
                continue
            median = None if row.unavailable else row.value.median
            for one, other in (row.cpus, row.cpus[::-1]):
                found.setdefault(one, {})[other] = median
        return found

    def __repr__(self) -> str:
        return f"<CoreLatencies of {len(self.rows)} results>"


class PauseLatency(NamedTuple):
    """How long one instruction of waiting takes on cores of one type, each alone: the median over them."""

    instruction: str
    #: The type of core, where a machine has several: ``P``, ``E``.
    core_type: Optional[str]
    cpus: Tuple[int, ...]
    #: Core cycles, or why there are none.
    cycles: Union[Value, Unavailable]
    #: Seconds, or why there are none.
    time: Union[Value, Unavailable]


class PauseLatencies(Answer):
    """What instructions of waiting take: ``instructions`` has each by type of core."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.instructions = [
            PauseLatency(name, core_type, tuple(cpus), _read(cycles), _read(time))
            for name, core_type, cpus, cycles, time in record._native.pauses()
        ]

    def cycles(self, instruction: str = "pause_only", core_type: Optional[str] = None) -> Value:
        """Core cycles that one takes. Raises ``Unavailable``, also where types of cores differ and none is named."""
        return _value(self._of(instruction, core_type).cycles)

    def time(self, instruction: str = "pause_only", core_type: Optional[str] = None) -> Value:
        """Seconds that one takes. Raises ``Unavailable``, also where types of cores differ and none is named."""
        return _value(self._of(instruction, core_type).time)

    def _of(self, instruction: str, core_type: Optional[str]) -> PauseLatency:
        found = [it for it in self.instructions if it.instruction == instruction]
        if not found:
            known = sorted({it.instruction for it in self.instructions})
            raise ValueError(f"there is no instruction {instruction!r} here; there are {', '.join(known)}")
        return _of_type(instruction, found, core_type)

    def __repr__(self) -> str:
        return f"<PauseLatencies of {len(self.instructions)} instructions>"


class Region(NamedTuple):
    """The cost of a parallel region beyond the work of its loop, in s."""

    runtime: str
    #: How its threads wait, such as ``GOMP_SPINCOUNT=0``; ``None`` of our own barriers.
    setting: Optional[str]
    cpus: Tuple[int, ...]
    row: Row

    @property
    def value(self) -> Value:
        """The cost. Raises ``Unavailable`` where there is none."""
        return self.row.value


class Regions(Answer):
    """Costs of parallel regions by runtime and way of waiting."""

    @property
    def regions(self) -> List[Region]:
        """In the order of the record."""
        rows = self.record.select(area="openmp", quantity="region_cost")
        return [Region(row.workload, row.parameters.get("setting"), row.cpus, row) for row in rows]

    def __repr__(self) -> str:
        return f"<Regions of {len(self.regions)} results>"


class Threads(Answer):
    """How many threads, and on which CPUs, by kind of work: ``compute``, ``equal_parts``, ``bandwidth``, ``barriers``."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        #: All of it: ``proposals``, ``quota``, ``siblings``, ``types``, ``missing``.
        self.advice = Fields(json.loads(_native.threads_advice(record._native)))

    def _count(self, work: str) -> int:
        for proposal in self.advice["proposals"]:
            if proposal["work"] == work:
                return int(proposal["threads"])
        area = {"bandwidth": "memory", "steps": "openmp"}.get(work, "turbo")
        for reason in (it for it in self.advice["missing"] if it["area"] == area):
            raise Unavailable(reason["what"], reason["why"], reason.get("remedy"), reason["obstacle"])
        raise Unavailable(f"threads for {work}", "no team of threads was measured", None, "measurement")

    @property
    def compute(self) -> int:
        """Threads for instructions that saturate the widest units."""
        return self._count("vector")

    @property
    def equal_parts(self) -> int:
        """Threads for the same, split into equal parts before it begins."""
        works = [proposal["work"] for proposal in self.advice["proposals"]]
        return self._count("equal_parts" if "equal_parts" in works else "vector")

    @property
    def bandwidth(self) -> int:
        """Threads for data that comes from memory."""
        return self._count("bandwidth")

    @property
    def barriers(self) -> int:
        """Threads for steps of 10 us with a barrier after each."""
        return self._count("steps")

    def __repr__(self) -> str:
        works = (f"{it['work']} {it['threads']}" for it in self.advice["proposals"])
        return f"<Threads {', '.join(works)}>"


class Verdict(Answer):
    """Whether a machine is what it should be."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        #: ``PASS``, ``WARN``, ``FAIL``, or that it cannot be judged, as the command prints it; and in a line.
        self.verdict, self.line = _native.verdict(record._native)

    @property
    def passes(self) -> bool:
        """Whether all that was judged holds."""
        return bool(self.record.data.get("gate", {}).get("verdict") == "pass")

    @property
    def items(self) -> List[Fields]:
        """What it was judged by, the worst first."""
        gate: Any = self.record.data.get("gate", {})
        return [Fields(item) for item in gate.get("items", [])]

    def __bool__(self) -> bool:
        return self.passes

    def __repr__(self) -> str:
        return f"<Verdict {self.line}>"


class Answers(Answer):
    """What was compared on each CPU, and what was wrong."""

    def _run(self) -> Any:
        return self.record.data["verify"]

    @property
    def are_right(self) -> bool:
        """Whether each CPU was compared, and no answer was wrong. That says nothing of what was not compared."""
        return not self.wrong and all(cpu.calls > 0 for cpu in self.cpus)

    @property
    def faulty(self) -> str:
        """CPUs that compute something wrong which others compute right, such as ``"2,6"``; empty: none."""
        return _native.faulty(self.record._native)

    @property
    def wrong(self) -> List[Fields]:
        """Wrong answers of each CPU and workload, the most frequent first: ``cpu``, ``workload``, ``wrong``, ``calls``."""
        return [Fields(it) for it in self._run().get("wrong", [])]

    @property
    def cpus(self) -> List[Fields]:
        """What was compared on each CPU: ``cpu``, ``calls``, ``ops``, ``numbers``."""
        return [Fields(it) for it in self._run()["cpus"]]

    @property
    def ops(self) -> int:
        """The fewest ops compared on a CPU: none wrong in ``n`` of them leaves rates of up to ``3 / n`` possible."""
        return min(int(cpu.ops) for cpu in self.cpus)

    def __bool__(self) -> bool:
        return self.are_right

    def __repr__(self) -> str:
        if self.are_right:
            said = "right"
        elif self.faulty:
            said = f"CPU {self.faulty} wrong"
        else:
            said = "wrong on every CPU" if self.wrong else "not all compared"
        return f"<Answers {said}, {self.ops:.1e} ops>"
