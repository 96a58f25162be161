"""Numbers with a unit."""

from __future__ import annotations

from typing import Dict, Tuple

__all__ = ["Quantity"]

_PREFIXES: Dict[str, float] = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30,
}  # fmt: skip


class Quantity(float):
    """A number in an SI base unit, which calculates as the float that it is.

    >>> bandwidth = Quantity(182.4e9, "B/s")
    >>> bandwidth
    182.4 GB/s
    >>> bandwidth.to("MB/s"), bandwidth.unit
    (182400.0, 'B/s')
    >>> bandwidth / 2
    91200000000.0
    """

    unit: str

    def __new__(cls, value: float, unit: str) -> Quantity:
        self = super().__new__(cls, value)
        self.unit = unit
        return self

    def to(self, unit: str) -> float:
        """The number in a multiple of its unit, such as ``GB/s`` or ``MiB/s`` of ``B/s``, ``ns`` of ``s``.

        Raises ``ValueError`` where that is another unit.
        """
        prefix = unit[: len(unit) - len(self.unit)] if unit.endswith(self.unit) else None
        if prefix is None or prefix not in _PREFIXES:
            multiples = ", ".join(p + self.unit for p in ("M", "G")) if self.unit else "none"
            raise ValueError(
                f"a quantity in {self.unit} has no {unit!r}; its multiples are such as {multiples}"
            )
        factor = _PREFIXES[prefix]
        # By the reciprocal, which is a whole number: 1e-9 is none that doubles know.
        return float(self) * round(1.0 / factor) if factor < 1.0 else float(self) / factor

    def __repr__(self) -> str:
        if self.unit in ("1", "count", "cycle", "cycle/op", "°C"):
            return f"{float(self):.4g}" + ("" if self.unit == "1" else f" {self.unit}")
        size, prefix = abs(float(self)), ""
        for name, factor in (("n", 1e-9), ("u", 1e-6), ("m", 1e-3), ("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)):
            if size >= factor:
                prefix = name
        return f"{float(self) / _PREFIXES[prefix]:.4g} {prefix}{self.unit}"

    __str__ = __repr__

    def __reduce__(self) -> Tuple[type, Tuple[float, str]]:
        return (Quantity, (float(self), self.unit))
