"""Counting events of the CPU: a block, a function, parts of a program.

Events are names, patterns or codes of this machine, as ``cpudyno pmu list`` prints them: ``"branches"``,
``"retired.*all_branches$"``, ``"0x1c2"``. Counts are those of the calling thread in user mode; what the
measurement counts by itself is subtracted. Every table of a block or function begins with instructions, cycles and
reference cycles.

>>> with profile("page-faults", missing="reasons", page=16) as p:
...     touched = bytearray(16 * 4096)
>>> p.counts["page-faults"] >= 0
True
>>> "EVENT" in str(p) and "/page" in str(p)
True
"""

from __future__ import annotations

import functools
import inspect
import json
import operator
import os
import threading
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union, overload

from . import _native
from ._errors import Unavailable, unavailable

__all__ = [
    "Bill",
    "CounterSet",
    "Profile",
    "is_available",
    "measure",
    "profile",
    "profile_function",
    "why_unavailable",
]

Events = Union[str, Sequence[str]]
Count = Union[int, Unavailable]
F = TypeVar("F", bound=Callable[..., Any])

os.register_at_fork(after_in_child=_native.forked)


def is_available() -> bool:
    """Whether cycles of this thread can be counted, by trying."""
    return _native.why_nothing_counts() is None


def why_unavailable() -> Optional[Unavailable]:
    """Why cycles of this thread cannot be counted, with a remedy; ``None``: they can."""
    return _native.why_nothing_counts()


def _listed(events: Events) -> List[str]:
    if isinstance(events, str):
        return [events]
    listed = list(events)
    for event in listed:
        if not isinstance(event, str):
            raise TypeError(
                f"an event is a name, not {event!r}; `cpudyno pmu list` lists the events of this machine"
            )
    return listed


def _units(units: Mapping[str, int]) -> List[Tuple[str, int]]:
    for name, number in units.items():
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            raise TypeError(f"the number of {name}s is a whole number, not {number!r}")
        if not 0 <= operator.index(number) < 2**64:
            raise ValueError(f"the number of {name}s is {number}; it is at least 0 and below 2^64")
    return [(name, operator.index(number)) for name, number in units.items()]


def _chosen(missing: str) -> str:
    if missing not in ("raise", "reasons"):
        raise ValueError(f"missing is 'raise' or 'reasons', not {missing!r}")
    return missing


class Bill:
    """Counts of something, by event, with the reasons of those that are missing.

    ``str()`` gives the table that ``cpudyno pmu`` prints.
    """

    def __init__(self, counts: Dict[str, Any]) -> None:
        self._counts = counts
        #: What was done, by unit: ``{"packet": 1000}``.
        self.units: Dict[str, int] = {it["name"]: it["number"] for it in counts.get("units", [])}
        #: What each event counted, or the reason why it did not.
        self.counts: Dict[str, Count] = {row["event"]: _count(row) for row in counts["events"]}
        #: How often it was executed: once a pass.
        self.executions: int = counts["executions"]
        #: What follows from the counts, such as ``ipc``; a number or the reason why there is none.
        self.metrics: Dict[str, Union[float, Unavailable]] = {
            row["id"]: _number(row["value"]) for row in counts.get("metrics", [])
        }

    def __getitem__(self, event: str) -> int:
        """The count of an event. Raises ``Unavailable`` where it has none, ``KeyError`` where nobody asked for it."""
        count = self.counts[event]
        if isinstance(count, Unavailable):
            raise count
        return count

    def per(self, unit: str) -> Dict[str, float]:
        """The counts by one unit of what was done, of events that have a count.

        Raises ``KeyError`` where the unit was not named, ``ZeroDivisionError`` where none of it was done.
        """
        number = self.units[unit]
        return {event: it / number for event, it in self.counts.items() if isinstance(it, int)}

    def report(self, **units: int) -> str:
        """The table as text, by these units in place of those that it was counted with."""
        return _native.report(json.dumps(self._counts), _units(units or self.units))

    def frame(self) -> Dict[str, List[Any]]:
        """Columns for ``pandas.DataFrame`` and ``polars.DataFrame``, a row for each event.

        ``event``, ``count`` (``None``: no count), ``why`` (``None``: a count), ``own`` (what the measurement counts by
        itself and was subtracted), and ``per_UNIT`` for each unit.
        """
        rows = self._counts["events"]
        counts = [_count(row) for row in rows]
        columns: Dict[str, List[Any]] = {
            "event": [row["event"] for row in rows],
            "count": [it if isinstance(it, int) else None for it in counts],
            "why": [it.why if isinstance(it, Unavailable) else None for it in counts],
            "own": [row.get("own") for row in rows],
        }
        for name, number in self.units.items():
            columns[f"per_{name}"] = [
                it / number if isinstance(it, int) and number else None for it in counts
            ]
        return columns

    def to_dict(self) -> Dict[str, Any]:
        """The counts as a record holds them."""
        data: Dict[str, Any] = json.loads(json.dumps(self._counts))
        return data

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        counted = sum(isinstance(it, int) for it in self.counts.values())
        return f"<{type(self).__name__}: {counted} of {len(self.counts)} events counted>"


def _row(event: str, reason: Unavailable) -> Dict[str, Any]:
    """The row of an event that nothing could count."""
    absent = {"what": event, "why": reason.why, "remedy": reason.remedy, "obstacle": reason.obstacle}
    return {"event": event, "by": "general", "count": {"unavailable": absent}}


def _count(row: Mapping[str, Any]) -> Count:
    count = row["count"]
    return count if isinstance(count, int) else unavailable(count["unavailable"])


def _number(value: Any) -> Union[float, Unavailable]:
    return float(value) if isinstance(value, (int, float)) else unavailable(value["unavailable"])


class Profile(Bill):
    """Counts of a block or a function. Printed, it is the table with the reasons of what is missing."""

    def __init__(self, told: Tuple[str, str], unknown: Mapping[str, Unavailable] = {}) -> None:
        data, self._text = json.loads(told[0]), told[1]
        for event, reason in unknown.items():
            data["counts"]["events"].append(_row(event, reason))
            self._text += f"{event}: {reason.why}" + (f"; {reason.remedy}\n" if reason.remedy else "\n")
        super().__init__(data["counts"])
        #: Where and how it was counted: ``cpu``, ``pmu``, ``modes``, ``limits``, ``passes``.
        self.run: Dict[str, Any] = data["run"]

    def report(self, **units: int) -> str:
        """The table as text, by these units in place of those that it was counted with."""
        return super().report(**units) if units else self._text


class _Nothing:
    """A block in which nothing is done: its ends are those of `profile`, call by call."""

    def __init__(self, window: _native.Window) -> None:
        self._begin = window.begin
        self._end = window.end

    def __enter__(self) -> _Nothing:
        self._begin()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._end()


def _known(events: List[str], missing: str) -> Tuple[List[str], Dict[str, Unavailable]]:
    """The events that mean something here; with ``missing="reasons"`` why others do not."""
    if missing == "raise":
        return events, {}
    unknown = {event: _native.why_no_event(event) for event in events}
    reasons = {event: reason for event, reason in unknown.items() if reason is not None}
    return [event for event in events if event not in reasons], reasons


def _opened(events: List[str], missing: str) -> _native.Window:
    """Counters for a block, which know what its two ends count by themselves."""
    try:
        window = _native.Window(events)
    except Unavailable as reason:
        raise _in_python(reason) from None
    try:
        if missing == "raise":
            for refusal in window.refusals():
                raise refusal
        nothing = _Nothing(window)
        for _ in range(9):
            with nothing:
                pass
            window.was_nothing()
    except BaseException:
        window.close()
        raise
    return window


def _in_python(reason: Unavailable) -> Unavailable:
    """The same with a remedy in words of this package."""
    if reason.what != "events in one pass":
        return reason
    remedy = (
        "ask for fewer events, or count a function, which is called once a pass: "
        "cpudyno.pmu.profile_function(f, events)"
    )
    return Unavailable(reason.what, reason.why, remedy, reason.obstacle)


class _Pin:
    """The thread is pinned by each block on it; with the last one that ends, in whatever order, it is as before."""

    _of_thread = threading.local()

    def __init__(self) -> None:
        state = self._of_thread.__dict__
        if state.setdefault("blocks", 0) == 0:
            state["before"] = os.sched_getaffinity(0)
        state["blocks"] += 1
        self._thread = threading.get_ident()

    def release(self) -> None:
        state = self._of_thread.__dict__
        if self._thread == threading.get_ident():
            state["blocks"] -= 1
            if state["blocks"] == 0:
                os.sched_setaffinity(0, state["before"])


class profile(Profile):  # noqa: N801
    """Counts events of a block: ``with cpudyno.pmu.profile("retired.*all_branches$", loop=n) as p:``.

    Parameters
    ----------
    events: a name, pattern or code, or several; none: instructions, cycles and reference cycles. They have to fit into
        one pass, as a block is executed once. `profile_function` takes any number.
    missing: ``"raise"``: an event that was asked for and cannot be counted is ``Unavailable``, before the block where
        that is known then; ``"reasons"``: it is a row with its reason.
    units: what the block does, such as ``packet=1000``: a column each. ``p.units`` may also be set in the block.

    The thread is pinned to its CPU meanwhile, and so are threads and processes that begin in the block. What the two ends of an empty block count is subtracted. After the block
    ``p`` is a `Profile`.

    Raises
    ------
    Unavailable: events that do not fit into one pass, that mean nothing here, or (``missing="raise"``) without a count.
    """

    def __init__(self, events: Events = (), *, missing: str = "raise", **units: int) -> None:
        self._events = _listed(events)
        self._missing = _chosen(missing)
        _units(units)
        self.units = dict(units)
        self.counts = {}
        self._window: Optional[_native.Window] = None

    def __enter__(self) -> profile:
        if self._window is not None:
            raise RuntimeError("each block needs a profile of its own")
        events, self._unknown = _known(self._events, self._missing)
        pin = _Pin()
        try:
            self._window = _opened(events, self._missing)
        except BaseException:
            pin.release()
            raise
        self._pin = pin
        self._begin = self._window.begin
        self._end = self._window.end
        self._begin()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        window = self._window
        assert window is not None
        try:
            self._end()
            asked = window.asked()
            Profile.__init__(self, window.profile(_units(self.units)), self._unknown)
        finally:
            window.close()
            self._pin.release()
        if self._missing == "raise" and kind is None:
            for event in asked:
                self[event]

    def __repr__(self) -> str:
        return super().__repr__() if self.counts else "<profile: its block has not ended>"


def profile_function(
    function: Callable[[], object], events: Events = (), *, missing: str = "raise", **units: int
) -> Profile:
    """Counts events of a function, which is called once for each pass that the events need.

    Parameters and errors are those of `profile`; the function's own exception ends it and is raised.
    """
    if not callable(function):
        raise TypeError(f"a function is counted, not {function!r}")
    _chosen(missing)
    listed, unknown = _known(_listed(events), missing)
    found = Profile(_native.count_function(function, listed, _units(units)), unknown)
    if missing == "raise":
        base = ("instructions", "cycles", "ref-cycles")
        for event, count in found.counts.items():
            if isinstance(count, Unavailable) and (not listed or event not in base or event in listed):
                raise count
    return found


class _Measured:
    """What `measure` makes of a function."""

    def __init__(self, function: Callable[..., Any], events: Events, missing: str) -> None:
        kinds = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
        if any(is_kind(function) for is_kind in kinds):
            raise TypeError(
                f"{function.__name__} only begins when it is called, and would count nothing"
                "\nhint: count a block in it: with cpudyno.pmu.profile(...)"
            )
        self._function = function
        self._events = _listed(events)
        self._missing = _chosen(missing)
        #: The counts of the last call that ended; ``None``: there was none.
        self.profile: Optional[Profile] = None
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **named: Any) -> Any:
        counted = profile(self._events, missing=self._missing)
        with counted:
            result = self._function(*args, **named)
        self.profile = counted
        return result

    def __get__(self, instance: object, owner: Optional[type] = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


@overload
def measure(function: Callable[..., Any], /) -> _Measured: ...
@overload
def measure(*, events: Events = (), missing: str = "raise") -> Callable[[Callable[..., Any]], _Measured]: ...
def measure(
    function: Optional[Callable[..., Any]] = None, /, *, events: Events = (), missing: str = "raise"
) -> Union[_Measured, Callable[[Callable[..., Any]], _Measured]]:
    """Counts each call of the function that it decorates: ``@measure`` or ``@measure(events=..., missing=...)``.

    The function returns what it returned; the counts of its last call are its attribute ``profile``. The call itself
    is counted, too.

    >>> @measure(events="page-faults", missing="reasons")
    ... def touch(pages):
    ...     return len(bytearray(pages * 4096))
    >>> touch(3)
    12288
    >>> "page-faults" in touch.profile.counts
    True
    """
    if function is None:
        return functools.partial(_Measured, events=events, missing=missing)
    if not callable(function):
        raise TypeError(f"a function is counted, not {function!r}; events are named: measure(events=...)")
    return _Measured(function, events, missing)


class CounterSet:
    """Counters of the calling thread that stay open, with a bill for each part of a program.

    ``events`` have to fit on the counters together; the first of ``parts`` is entered. A switch reads each counter
    once. The counters count the thread that opened them: on another one, or in a child after ``fork``, every method is
    a ``RuntimeError``. It is a context manager, too.

    >>> with CounterSet("page-faults", ["load", "work"]) as parts:
    ...     parts.switch_to("work")
    ...     parts.done(1000)
    ...     parts.switch_to("load")
    ...     bill = parts.bill("work", "packet")
    >>> bill.units
    {'packet': 1000}

    Raises
    ------
    Unavailable: an event that cannot be counted here, or events that do not fit together.
    """

    def __init__(self, events: Events, parts: Sequence[str]) -> None:
        if isinstance(parts, str):
            raise TypeError(f"parts are a list of names, not the name {parts!r}")
        self.parts: Tuple[str, ...] = tuple(parts)
        self._index = {name: at for at, name in enumerate(self.parts)}
        if len(self._index) < len(self.parts):
            raise ValueError(f"parts have one name each: {', '.join(self.parts)}")
        self._native = _native.CounterSet(_listed(events), list(self.parts))
        self._switch = self._native.switch_to

    def switch_to(self, part: str) -> None:
        """Enters a part: what was counted since the last switch is on the bill of the part that is left."""
        self._switch(self._at(part))

    def done(self, units: int) -> None:
        """Says that the part which is entered did so many units of its work."""
        _units({"unit": units})
        self._native.done(units)

    def intervals(self, part: str) -> Tuple[int, int]:
        """How often a part was left, and how many of those intervals are on no bill, as a counter had lost its place."""
        found = self._native.intervals(self._at(part))
        assert found is not None
        return found

    def bill(self, part: str, unit: str = "unit") -> Bill:
        """The counts of a part, by the unit of its work."""
        found = self._native.bill(self._at(part), unit)
        assert found is not None
        return Bill(json.loads(found))

    def verify(self) -> None:
        """Counts a loop whose counts are known, on no bill. Raises ``Unavailable`` where one comes out wrong."""
        self._native.verify()

    def close(self) -> None:
        """Closes the counters; twice, it does nothing."""
        self._native.close()

    def _at(self, part: str) -> int:
        try:
            return self._index[part]
        except KeyError:
            raise ValueError(f"there is no part {part!r}; there are {', '.join(self.parts)}") from None

    def __enter__(self) -> CounterSet:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()
