"""An axis: from values to places on the paper, and the ticks a reader expects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TICKS = 6  # or about so many
SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True)
class Scale:
    """`begin` and `end`: where the limits lie on the paper."""

    told: Mapping[str, Any]
    begin: float
    end: float

    def at(self, value: float | None) -> float | None:
        """None where there is no such place: no value, or none that a logarithm has."""
        if value is None or (self._log and value <= 0):
            return None
        low, high = (self._bent(limit) for limit in self.told["limits"])
        share = (self._bent(value) - low) / ((high - low) or 1.0)
        return round(self.begin + min(max(share, -9.0), 9.0) * (self.end - self.begin), 1)

    def shows(self, value: float | None) -> bool:
        low, high = sorted(self.told["limits"])
        return value is not None and low <= value <= high

    def ticks(self) -> list[tuple[float, str]]:
        """Place and words; those that were named keep their names."""
        named: list[tuple[float | None, str]] = self.told["names"]
        if named:
            return [(place, name) for at, name in named if self.shows(at) and (place := self.at(at)) is not None]
        values = self._powers() if self._log else _round_values(*sorted(self.told["limits"]))
        return [(place, tick_words(value)) for value in values if (place := self.at(value)) is not None]

    def said(self, value: float | None) -> str:
        """A value as a reader is told it: by its name, where it has one near by."""
        near = [(abs(at - value), name) for at, name in self.told["names"] if at is not None and value is not None]
        if near and not self._log and min(near)[0] < 0.5:
            return str(min(near)[1]).replace("\n", ", ")
        return words(value)

    @property
    def _log(self) -> bool:
        return bool(self.told["scale"] == "log")

    def _bent(self, value: float) -> float:
        return math.log10(value) if self._log else value

    def _powers(self) -> list[float]:
        """Powers of the base; where there are few, also their doubles and fives; where there are many, every n-th."""
        low, high = sorted(self.told["limits"])
        base = self.told["base"] if self.told["base"] and self.told["base"] > 1 else 10.0
        first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
        powers = [base**power for power in range(first, last + 1)][:100]
        if len(powers) < 3 and base == 10:
            finer = [step * 10.0**power for power in range(first - 1, last + 1) for step in (1, 2, 5)]
            return [value for value in finer if low <= value <= high]
        return powers[:: -(-len(powers) // (TICKS + 2)) or 1]


def _round_values(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / TICKS))
    step = next(power * times for times in (1, 2, 5, 10) if span / (power * times) <= TICKS)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def tick_words(value: float) -> str:
    power = math.log10(abs(value)) if value else 0.0
    if value and (power >= 6 or power <= -3) and abs(power - round(power)) < 1e-9:
        return "10" + str(round(power)).translate(SUPERSCRIPT)
    return words(value)


def words(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
