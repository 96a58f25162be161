"""Records: everything that one run measured, and under which conditions."""

from __future__ import annotations

import html as _html
import json
import os
from functools import cached_property
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple, Union

from . import _native
from ._errors import Unavailable, unavailable
from ._values import Quantity

__all__ = ["Comparison", "Fields", "Record", "Row", "Series", "Value", "compare"]

Path = Union[str, "os.PathLike[str]"]


class Value:
    """A measured number, with what makes it believable. Of several CPUs it is the median over them.

    ``float()`` gives the median, ``str()`` all of it: ``182 GB/s ± 0.4 %``.
    """

    def __init__(self, numbers: Tuple[str, float, Optional[List[float]], float, float, int, bool, str]) -> None:
        unit, median, interval, minimum, maximum, samples, doubtful, self._text = numbers
        #: The unit: an SI base unit, ``B/s``, ``s``, ``Hz``, ``cycle/op``, ``1`` (a share).
        self.unit: str = unit
        #: The median, in ``unit``.
        self.median = Quantity(median, unit)
        #: The 95 % interval of the median, from the spread between blocks; ``None`` with fewer than five.
        self.interval: Optional[Tuple[Quantity, Quantity]] = (
            None if interval is None else (Quantity(interval[0], unit), Quantity(interval[1], unit))
        )
        #: The smallest sample.
        self.minimum = Quantity(minimum, unit)
        #: The largest sample.
        self.maximum = Quantity(maximum, unit)
        #: How many samples it rests on.
        self.samples: int = samples
        #: Whether it rests on disturbed blocks alone.
        self.is_doubtful: bool = doubtful

    def __float__(self) -> float:
        return float(self.median)

    def to(self, unit: str) -> float:
        """The median in a multiple of its unit, such as ``GB/s``. Raises ``ValueError`` where that is another unit."""
        return self.median.to(unit)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Value {self._text}>"


class Row:
    """A result: what was measured, on which CPUs at once, and the number or why there is none."""

    def __init__(self, row: _native._RowTuple) -> None:
        #: The area, such as ``memory``; the workload, such as ``triad``; the quantity, such as ``bandwidth``.
        self.area, self.workload, self.quantity = row[0], row[1], row[2]
        #: What else tells it from others, such as ``{"elements": "1048576"}``.
        self.parameters: Dict[str, str] = row[3]
        #: The CPUs that were active at once.
        self.cpus: Tuple[int, ...] = tuple(row[4])
        #: Why there is no number; ``None``: there is one.
        self.unavailable: Optional[Unavailable] = row[5] if isinstance(row[5], Unavailable) else None
        self._value = None if isinstance(row[5], Unavailable) else Value(row[5])

    @property
    def value(self) -> Value:
        """The number, of all these CPUs together. Raises ``Unavailable`` where there is none."""
        if self._value is None:
            assert self.unavailable is not None
            what, why, remedy, obstacle = self.unavailable.__reduce__()[1]
            raise Unavailable(what, why, remedy, obstacle)
        return self._value

    def __repr__(self) -> str:
        found = str(self._value) if self._value else str(self.unavailable)
        return f"<Row {self.area} {self.workload} {self.quantity} on {len(self.cpus)} CPUs: {found}>"


class Fields(Mapping[str, Any]):
    """A table of a record; what it holds is read as attributes or as items."""

    __slots__ = ("_table",)

    def __init__(self, table: Dict[str, Any]) -> None:
        self._table = table

    def __getitem__(self, name: str) -> Any:
        return _seen(self._table[name])

    def __reduce__(self) -> Tuple[Any, Tuple[Dict[str, Any]]]:
        return (Fields, (self._table,))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r} here; there are {', '.join(self._table)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._table]

    def __repr__(self) -> str:
        return f"Fields({self._table!r})"


def _seen(value: Any) -> Any:
    if isinstance(value, dict):
        keys = set(value)
        if keys == {"unavailable"}:
            return unavailable(value["unavailable"])
        if keys == {"value", "unit"}:
            return Quantity(value["value"], value["unit"])
        return Fields(value)
    return [_seen(it) for it in value] if isinstance(value, list) else value


class Series(Fields):
    """Samples of one quantity of one workload on one CPU, while ``active`` CPUs were.

    Its fields are those of the record's schema: ``area``, ``workload``, ``quantity``, ``unit``, ``cpu``, ``active``,
    ``parameters``, ``disturbance``, and ``summary`` or ``unavailable``.
    """

    __slots__ = ("_index", "_native")

    def __init__(self, native: _native.Record, index: int, table: Dict[str, Any]) -> None:
        super().__init__(table)
        self._native = native
        self._index = index

    @property
    def unavailable(self) -> Optional[Unavailable]:
        """Why there are no samples; ``None``: there are."""
        reason = self._table.get("unavailable")
        return None if reason is None else unavailable(reason)

    @property
    def blocks(self) -> List[List[float]]:
        """The samples by block, in ``unit``; many are packed in the record, and come as one block.

        Raises ``Unavailable`` where there are none.
        """
        found = self._native.samples(self._index)
        if found is None:
            raise unavailable(self._table["unavailable"])
        return found[1]

    @property
    def samples(self) -> List[float]:
        """All samples, in ``unit``. Raises ``Unavailable`` where there are none."""
        return [sample for block in self.blocks for sample in block]

    @property
    def median(self) -> Quantity:
        """The median. Raises ``Unavailable`` where there is none."""
        reason = self.unavailable
        if reason is not None:
            raise reason
        return Quantity(self._table["summary"]["median"], self._table["unit"])

    def __repr__(self) -> str:
        table = self._table
        return f"<Series {table['area']} {table['workload']} {table['quantity']} on CPU {table['cpu']}>"


class Record:
    """Everything that one run measured, and under which conditions: the same as the command writes.

    >>> import cpudyno
    >>> record = cpudyno.info(machine="sim:2s-56c")
    >>> record.facts["cpu.brand"], record.run.simulated
    ('SIMULATED 2 x 56 cores', '2s-56c')
    >>> Record.from_json(record.json()) == record
    True
    """

    def __init__(self, native: _native.Record) -> None:
        if not isinstance(native, _native.Record):
            raise TypeError("a record comes of a measurement, of Record.open(FILE) or Record.from_json(TEXT)")
        self._native = native

    @classmethod
    def open(cls, path: Path) -> Record:
        """The record in a file, or on a page that ``--html`` or `html` wrote.

        Raises ``OSError`` where the file cannot be read, ``cpudyno.Refused`` where it holds no record.
        """
        name = os.fspath(path)
        if not isinstance(name, str):
            raise TypeError(f"a file is named by a str or a path, not {type(path).__name__}")
        with open(name, "rb"):
            pass
        return cls(_native.Record.open(name))

    @classmethod
    def from_json(cls, text: Union[str, bytes]) -> Record:
        """The record of a text. Raises ``ValueError`` where it is none."""
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        if not isinstance(text, str):
            raise TypeError(f"the text of a record is a str or bytes, not {type(text).__name__}")
        return cls(_native.Record.from_json(text))

    @cached_property
    def data(self) -> Dict[str, Any]:
        """The record as plain dicts and lists, as its JSON says it."""
        data: Dict[str, Any] = json.loads(self._native.json())
        return data

    @cached_property
    def rows(self) -> List[Row]:
        """Every result, each of all its CPUs together."""
        return [Row(row) for row in self._native.rows()]

    @cached_property
    def series(self) -> List[Series]:
        """Samples of each quantity, workload and CPU."""
        return [Series(self._native, at, table) for at, table in enumerate(self.data["series"])]

    @cached_property
    def facts(self) -> Dict[str, Any]:
        """What the machine said of itself before the run, by id: a text, a `Quantity`, or the reason why not."""
        listed = self.data["machine"]["facts"] + self.data["conditions"]["before"]
        return {fact["id"]: _seen(fact["value"]) for fact in listed}

    @property
    def run(self) -> Fields:
        """When, how long, and what was asked: ``run.started``, ``run.seconds`` (s), ``run.plan.cpus``."""
        return Fields(self.data["run"])

    @property
    def findings(self) -> List[Fields]:
        """What is remarkable, the gravest first: ``id``, ``severity``, ``text``."""
        return [Fields(finding) for finding in self.data["findings"]]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.data:
            return _seen(self.data[name])
        raise AttributeError(f"a record has no {name!r}")

    def select(
        self, workload: Optional[str] = None, quantity: Optional[str] = None, area: Optional[str] = None
    ) -> List[Row]:
        """The results of a workload, a quantity, an area."""
        wanted = ((workload, "workload"), (quantity, "quantity"), (area, "area"))
        return [
            row for row in self.rows if all(it is None or getattr(row, name) == it for it, name in wanted)
        ]

    def frame(self, level: str = "results") -> Dict[str, List[Any]]:
        """Columns for ``pandas.DataFrame`` and ``polars.DataFrame``; what is absent is ``None``.

        ``"results"``: a row for each result: ``area``, ``workload``, ``quantity``, ``cpus`` (how many), ``cpu_list``,
        ``unit``, ``median``, ``low`` and ``high`` (the ends of its interval), ``minimum``, ``maximum``, ``samples``,
        ``why`` (it has no number), and a column for each parameter. ``"samples"``: a row for each sample: ``area``,
        ``workload``, ``quantity``, ``cpu``, ``cpus``, ``unit``, ``block``, ``value``, and the parameters.

        >>> import cpudyno
        >>> columns = cpudyno.pause(machine="sim:2s-56c", budget=0.2).frame()
        >>> sorted(columns)[:5], len({len(column) for column in columns.values()})
        (['area', 'cpu_list', 'cpus', 'data', 'high'], 1)
        """
        if level == "results":
            return _columns([_result(row) for row in self.rows], [row.parameters for row in self.rows])
        if level != "samples":
            raise ValueError(f"level is 'results' or 'samples', not {level!r}")
        rows: List[Dict[str, Any]] = []
        parameters: List[Mapping[str, str]] = []
        for at, series in enumerate(self.data["series"]):
            found = self._native.samples(at)
            if found is None:
                continue
            packed, blocks = found
            for number, block in enumerate(blocks):
                for value in block:
                    row = {name: series[name] for name in ("area", "workload", "quantity", "cpu")}
                    row.update(cpus=series["active"], unit=series["unit"])
                    row.update(block=None if packed else number, value=value)
                    rows.append(row)
                    parameters.append(series.get("parameters", {}))
        return _columns(rows, parameters)

    def json(self) -> str:
        """The record as JSON."""
        return self._native.json()

    def text(self, width: Optional[int] = None, verbose: bool = False) -> str:
        """What the command prints of it, without colours."""
        if width is not None and not 20 <= width <= 1000:
            raise ValueError(f"a page has 20 to 1000 columns, not {width}")
        return self._native.text(width, verbose)

    def markdown(self) -> str:
        """The same in Markdown."""
        return self._native.markdown()

    def html(self) -> str:
        """The whole page with plots, as one file that holds the record, too."""
        return self._native.html(True)

    def csv(self) -> str:
        """Every sample, a line each."""
        return self._native.csv()

    def save(self, path: Path) -> None:
        """Writes it as JSON, or as a page where the name ends in ``.html``. The file is whole, or is not changed.

        Raises ``cpudyno.Refused`` where it cannot be written.
        """
        name = os.fspath(path)
        if not isinstance(name, str):
            raise TypeError(f"a file is named by a str or a path, not {type(path).__name__}")
        self._native.save(name)

    def _repr_html_(self) -> str:
        page = _html.escape(self._native.html(False), quote=True)
        return (
            f'<iframe srcdoc="{page}" style="width:100%;height:32em;border:1px solid #ccc" '
            'sandbox="allow-scripts" title="cpudyno"></iframe>'
        )

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        run = self.data["run"]
        machine = f", simulated {run['simulated']}" if run.get("simulated") else ""
        return f"<Record of {' '.join(run['command'])}, {run['started']}, {len(self.data['series'])} series{machine}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.json() == other.json()

    def __hash__(self) -> int:
        return hash((self.data["run"]["id"], self.data["run"]["started"]))

    def __reduce__(self) -> Tuple[Any, Tuple[str]]:
        return (Record.from_json, (self.json(),))


def _result(row: Row) -> Dict[str, Any]:
    value = None if row.unavailable else row.value
    low, high = (value.interval if value and value.interval else None) or (None, None)
    return {
        "area": row.area,
        "workload": row.workload,
        "quantity": row.quantity,
        "cpus": len(row.cpus),
        "cpu_list": ",".join(map(str, row.cpus)),
        "unit": value.unit if value else None,
        "median": float(value.median) if value else None,
        "low": None if low is None else float(low),
        "high": None if high is None else float(high),
        "minimum": float(value.minimum) if value else None,
        "maximum": float(value.maximum) if value else None,
        "samples": value.samples if value else 0,
        "why": row.unavailable.why if row.unavailable else None,
    }


def _columns(rows: List[Dict[str, Any]], parameters: Sequence[Mapping[str, str]]) -> Dict[str, List[Any]]:
    """Columns of rows, then one for each parameter; one of a name that is taken has an underscore behind it."""
    taken = list(rows[0]) if rows else []
    columns = {name: [row[name] for row in rows] for name in taken}
    names = dict.fromkeys(name for row in parameters for name in row)
    for name in names:
        column = f"{name}_" if name in columns else name
        columns[column] = [row.get(name) for row in parameters]
    return columns


class Recorded(Protocol):
    """An answer, which has a record."""

    @property
    def record(self) -> Record:
        """The record."""
        ...


class Comparison(NamedTuple):
    """Two records or more side by side: what differs, and whether it is more than noise."""

    #: Settings and results of all, as the command's JSON has them.
    data: Fields
    #: What the command prints.
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def compare(
    a: Union[Record, Recorded],
    b: Union[Record, Recorded],
    *more: Union[Record, Recorded],
    names: Sequence[str] = (),
) -> Comparison:
    """Holds records, or those of answers, against each other; ``names`` are what they are called, A, B, ... without them.

    >>> import cpudyno
    >>> a, b = (cpudyno.pause(machine="sim:2s-56c", budget=0.2) for _ in range(2))
    >>> "A" in str(compare(a, b))
    True
    """
    records: List[Record] = []
    for it in (a, b, *more):
        record = it if isinstance(it, Record) else getattr(it, "record", None)
        if not isinstance(record, Record):
            raise TypeError(f"records are compared, not {type(it).__name__}; Record.open(FILE) reads one")
        records.append(record)
    if names and len(names) != len(records):
        raise ValueError(f"{len(records)} records have {len(names)} names")
    called = names or [chr(ord("A") + at) if at < 26 else str(at + 1) for at in range(len(records))]
    native = [(name, record._native) for name, record in zip(called, records)]
    data, text = _native.compare(native)
    return Comparison(Fields(json.loads(data)), text)
