# SPDX-License-Identifier: MIT
"""The fields of events as text, for exports: whole columns at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace import columns
from pirn_tools.trace.columns import Column
from pirn_tools.trace.model import Model
from pirn_tools.trace.read import clean, place_values
from pirn_tools.trace.table import EventType, Field

Array = NDArray[Any]
Quote = Callable[[str], str]


class Fields:
    """Turns fields of a model's events into words."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.index = np.array([thread.index for thread in model.threads] + [0], np.int64)
        self.life = np.array([thread.life for thread in model.threads] + [0], np.int64)

    def column(self, event: EventType, field: Field, rows: Array, quote: Quote) -> Column:
        """One field of events of one kind, as it is read by people; what is no number is quoted."""
        model = self.model
        if field.type == "thread":
            keys = model.keys_at(event.name, field.name, rows)
            before, middle, after = quote(".").partition(".")
            return columns.beside([before, self.numbers(keys, middle), after], len(rows))
        if field.type == "text":
            return self.texts(rows, quote)
        values = place_values(model.trace.rows, field.place, rows)
        if field.type in ("cpu", "count"):
            return columns.numbers(values)
        if field.type == "value":
            return columns.signed(values)
        if field.type == "object":
            before, prefix, after = quote("0x").partition("0x")
            number = columns.numbers(values, columns.HEXADECIMAL)
            return columns.beside([before + prefix, number, after], len(rows))
        names = model.trace.table.enums.get(field.type, {})
        return columns.words(values, lambda value: quote(names.get(value, str(value))))

    def numbers(self, keys: Array, middle: str = ".") -> Column:
        """Index and life of each thread; empty for key -1."""
        index, life = self.index[keys], self.life[keys]
        parts: columns.Parts = [columns.numbers(index), middle, columns.numbers(life)]
        made = columns.beside(parts, len(keys))
        made[keys < 0] = 0
        return made

    def texts(self, rows: Array, quote: Quote) -> Column:
        """The texts of events; empty for those that have none."""
        trace = self.model.trace
        return columns.words(
            trace.rows["text"][rows].astype(np.int64) + 1,
            lambda at: quote(clean(bytes(trace.texts[at - 1])) if at else ""),
        )
