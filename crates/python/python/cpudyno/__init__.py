"""A dynamometer for CPUs: it measures what a CPU really does, and says how sure it is.

Every question is a function, its answer a view of a record, and simulated machines answer in no time:

>>> import cpudyno
>>> bandwidth = cpudyno.memory_bandwidth(machine="sim:2s-56c")
>>> print(bandwidth.threads, bandwidth.median.unit)
112 B/s
>>> columns = bandwidth.frame()  # for pandas.DataFrame(columns), polars.DataFrame(columns)
>>> "median" in columns
True

`pmu` counts events of blocks and functions, `fleet` holds records of many machines against each other.
"""

from importlib import metadata as _metadata

from . import fleet, pmu
from ._answers import (
    Answer,
    Answers,
    Bandwidth,
    Benchmark,
    Clock,
    Clocks,
    CoreLatencies,
    Kernels,
    PauseLatencies,
    PauseLatency,
    Region,
    Regions,
    Scaling,
    Sheet,
    Threads,
    VectorLengths,
    Verdict,
)
from ._errors import Bug, Busy, Error, Refused, Unavailable
from ._measure import (
    ab,
    benchmark,
    cores,
    doctor,
    gate,
    info,
    jitter,
    memory_bandwidth,
    memory_latency,
    openmp,
    pause,
    scaling_benchmark,
    sheet,
    threads,
    turbo,
    vector_length_dependence,
    verify,
    wake,
)
from ._record import Comparison, Fields, Record, Row, Series, Value, compare
from ._values import Quantity

try:
    __version__ = _metadata.version("cpudyno")
except _metadata.PackageNotFoundError:  # It is not installed, but run from its sources.
    __version__ = "unknown"

__all__ = [
    "Answer",
    "Answers",
    "Bandwidth",
    "Benchmark",
    "Bug",
    "Busy",
    "Clock",
    "Clocks",
    "Comparison",
    "CoreLatencies",
    "Error",
    "Fields",
    "Kernels",
    "PauseLatencies",
    "PauseLatency",
    "Quantity",
    "Record",
    "Refused",
    "Region",
    "Regions",
    "Row",
    "Scaling",
    "Series",
    "Sheet",
    "Threads",
    "Unavailable",
    "Value",
    "VectorLengths",
    "Verdict",
    "ab",
    "benchmark",
    "compare",
    "cores",
    "doctor",
    "fleet",
    "gate",
    "info",
    "jitter",
    "memory_bandwidth",
    "memory_latency",
    "openmp",
    "pause",
    "pmu",
    "scaling_benchmark",
    "sheet",
    "threads",
    "turbo",
    "vector_length_dependence",
    "verify",
    "wake",
]
