# SPDX-License-Identifier: MIT
"""Sums and percentiles of spans, by thread or CPU, without loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
SHARES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Distribution:
    """Of durations, in nanoseconds: the smallest value that so many of them do not exceed."""

    count: int
    total: int
    p50: int
    p90: int
    p99: int
    max: int

    def as_json(self) -> dict[str, int]:
        return asdict(self)


NONE = Distribution(0, 0, 0, 0, 0, 0)


def distribution(values: Array) -> Distribution:
    """Of all values."""
    if not len(values):
        return NONE
    ordered = np.sort(values)
    return _of(ordered, int(ordered.sum()))


def _of(ordered: Array, total: int) -> Distribution:
    p50, p90, p99 = (int(ordered[place(len(ordered), share)]) for share in SHARES)
    return Distribution(len(ordered), total, p50, p90, p99, int(ordered[-1]))


def place(count: int, share: float) -> int:
    """Which of count values, in order, is the one that this share of them does not exceed."""
    return max(0, int(np.ceil(share * count)) - 1)


def distributions(values: Array, keys: Array, groups: int) -> list[Distribution]:
    """One for each key."""
    order = np.lexsort((values, keys))
    values, keys = values[order], keys[order]
    bounds = np.searchsorted(keys, np.arange(groups + 1))
    sums = np.concatenate([[0], np.cumsum(values)])
    made = []
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        count = last - first
        if not count:
            made.append(NONE)
            continue
        made.append(_of(values[first:last], int(sums[last] - sums[first])))
    return made


def total(values: Array, keys: Array, groups: int) -> Array:
    """The sum of the values of each key, exact."""
    made = np.zeros(groups, np.int64)
    np.add.at(made, keys, values)
    return made


def count(keys: Array, groups: int) -> Array:
    return np.bincount(keys, minlength=groups) if len(keys) else np.zeros(groups, np.int64)


def by_name(
    codes: Array, keys: Array, groups: int, values: Array | None, names: Sequence[tuple[int, str]]
) -> list[dict[str, int]]:
    """For each key: what its codes are called, and how many there are (or the sum of values)."""
    made: list[dict[str, int]] = [{} for _ in range(groups)]
    for code, name in names:
        own = codes == code
        if not own.any():
            continue
        found = (
            count(keys[own], groups) if values is None else total(values[own], keys[own], groups)
        )
        for key in np.flatnonzero(found).tolist():
            made[key][name] = made[key].get(name, 0) + int(found[key])
    return made
