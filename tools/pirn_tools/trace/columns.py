# SPDX-License-Identifier: MIT
"""Lines of text from arrays, a column at a time: exports of millions of lines take seconds so.

A column is an array of bytes with a row for each line, all rows of the same width; what a row does
not need of it is NUL. lines() puts columns beside each other and drops the NULs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Column = NDArray[np.uint8]
Parts = Sequence[Column | str]

DECIMAL, HEXADECIMAL = 10, 16
GROUP = 4  # digits that are looked up at once


def lines(parts: Parts, count: int) -> str:
    """So many lines; a part that is a text stands in each of them."""
    return beside(parts, count).tobytes().translate(None, b"\0").decode()


def _constant(text: str, count: int) -> Column:
    raw = np.frombuffer(text.encode(), np.uint8)
    return np.broadcast_to(raw, (count, len(raw)))


def beside(parts: Parts, count: int) -> Column:
    """One column of several."""
    wide = [_constant(part, count) if isinstance(part, str) else part for part in parts]
    return np.concatenate(wide, axis=1) if wide else np.empty((count, 0), np.uint8)


def numbers(values: Array, base: int = DECIMAL) -> Column:
    """Numbers, not negative, without zeroes in front."""
    rest = values.astype(np.uint64)
    if not len(rest):
        return np.empty((0, 0), np.uint8)
    table, size = _digits(base)
    groups: list[Array] = []
    while True:
        above = rest // np.uint64(size)
        own = (rest - above * np.uint64(size)).astype(np.int64)
        # Where nothing stands above a group its zeroes are left out; a group of nothing at all is
        # NUL, but for the lowest one, which may be the number 0.
        bare = (above == 0) * size if groups else (above == 0) * 2 * size
        groups.append(table[own + bare])
        if not above.any():
            break
        rest = above
    return np.stack(groups[::-1], axis=1).view(np.uint8).reshape(len(values), -1)


def signed(values: Array) -> Column:
    """Numbers that may be negative."""
    values = values.astype(np.int64)
    sign = np.where(values < 0, np.uint8(ord("-")), np.uint8(0))[:, None]
    size = np.where(values < 0, np.uint64(0) - values.view(np.uint64), values.view(np.uint64))
    return np.concatenate([sign, numbers(size)], axis=1)


def three_digits(values: Array) -> Column:
    """Numbers below 1000, with zeroes in front."""
    return _digits(DECIMAL)[0][values].view(np.uint8).reshape(len(values), GROUP)[:, 1:]


@cache
def _digits(base: int) -> tuple[Array, int]:
    """Groups of digits, each as a word of 4 bytes; and how many there are.

    First with zeroes in front; then without, 0 as nothing; then the same with 0 as 0.
    """
    size = base**GROUP
    form = f"0{GROUP}{'x' if base == HEXADECIMAL else 'd'}"
    full = [format(number, form) for number in range(size)]
    bare = [text.lstrip("0").rjust(GROUP, "\0") for text in full]
    zero = ["0".rjust(GROUP, "\0"), *bare[1:]]
    return np.frombuffer("".join([*full, *bare, *zero]).encode(), np.uint32), size


def words(codes: Array, text: Callable[[int], str]) -> Column:
    """A text for each code, asked for once; codes are not negative."""
    distinct, place = _distinct(codes)
    table = [text(code).encode() for code in distinct.tolist()]
    return spread(table, place)


def spread(table: Sequence[bytes], place: Array) -> Column:
    """The text of the table at each place."""
    width = max(map(len, table), default=0)
    if not width:
        return np.empty((len(place), 0), np.uint8)
    wide = np.array(table, f"S{width}").view(np.uint8).reshape(len(table), width)
    return np.asarray(wide[place])


def _distinct(codes: Array) -> tuple[Array, Array]:
    """The codes that occur, and which of them each one is. Small ones need no sorting."""
    most = int(codes.max()) + 1 if len(codes) else 0
    if most > 8 * len(codes) + 1024:
        return np.unique(codes, return_inverse=True)
    there = np.zeros(most, bool)
    there[codes] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]
