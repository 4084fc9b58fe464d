# SPDX-License-Identifier: MIT
"""Sums and percentiles of spans, by thread or CPU, without loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
        return dict(vars(self))


NONE = Distribution(0, 0, 0, 0, 0, 0)


def distribution(values: Array) -> Distribution:
    """Of all values."""
    return distributions(values, np.zeros(len(values), np.int64), 1)[0]


def distributions(values: Array, keys: Array, groups: int) -> list[Distribution]:
    """One for each key."""
    order = np.lexsort((values, keys))
    values, keys = values[order].astype(np.int64), keys[order]
    bounds = np.searchsorted(keys, np.arange(groups + 1))
    first, counts = bounds[:-1], np.diff(bounds)
    sums = np.concatenate([[0], np.cumsum(values)])
    totals = sums[bounds[1:]] - sums[first]
    picks = [_pick(values, first, counts, share) for share in (*SHARES, 1.0)]
    columns = [column.tolist() for column in (counts, totals, *picks)]
    return [
        Distribution(*numbers) if numbers[0] else NONE for numbers in zip(*columns, strict=True)
    ]


def _pick(values: Array, first: Array, counts: Array, share: float) -> Array:
    """Of each group the value that this share of its values, in order, do not exceed."""
    if not len(values):
        return np.zeros(len(first), np.int64)
    place = first + np.maximum(np.ceil(share * counts).astype(np.int64) - 1, 0)
    return np.asarray(values[np.minimum(place, len(values) - 1)])


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
