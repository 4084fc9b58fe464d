# SPDX-License-Identifier: MIT
"""The fields of events as text, for exports: whole columns at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace.model import Model
from pirn_tools.trace.read import place_values
from pirn_tools.trace.table import EventType, Field

Array = NDArray[Any]
NUMBERS = ("cpu", "count")


class Fields:
    """Turns fields of a model's events into words."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.numbers = [thread.number for thread in model.threads]
        self.numbers.append("")  # of -1: no thread

    def thread_numbers(self, keys: Array) -> list[str]:
        """index.life of each; empty for none."""
        numbers = self.numbers
        return [numbers[key] for key in keys.tolist()]

    def words(self, event: EventType, field: Field, rows: Array) -> list[str]:
        """One field of events of one kind, as they are read by people."""
        model = self.model
        if field.type == "thread":
            return self.thread_numbers(model.keys_at(event.name, field.name, rows))
        values = place_values(model.trace.rows, field.place, rows)
        if field.type in NUMBERS:
            return [str(value) for value in values.tolist()]
        if field.type == "text":
            return [model.trace.text(row) for row in rows.tolist()]
        if field.type == "object":
            return [hex(value) for value in values.tolist()]
        if field.type == "value":
            return [str(value) for value in values.view(np.int64).tolist()]
        names = model.trace.table.enums.get(field.type, {})
        return [names.get(value, str(value)) for value in values.tolist()]

    def is_text(self, field: Field) -> bool:
        return field.type not in (*NUMBERS, "value")
