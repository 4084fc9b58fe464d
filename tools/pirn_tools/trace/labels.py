# SPDX-License-Identifier: MIT
"""Waits by the words of a library (<pirn/label.h>).

A thread writes a label's parts, and then that it blocks with reason `label`. Here each such event
gets a reason of its own, whose name is the label. So all that shows reasons shows labels.
"""

from __future__ import annotations

import numpy as np

from pirn_tools.trace.read import Trace

REASON = "label"
MOST = 4096  # different labels; waits with others keep the reason `label`
MOST_REASON = 1 << 14  # its number, as the spans have room for


def name_waits(trace: Trace) -> None:
    """Changes the rows of these waits, and the table of reasons."""
    code, event = trace.table.enum_value("wait", REASON), trace.table.named("label")
    blocks, parts = trace.which("block"), trace.which("label")
    block = trace.table.named("block")
    field = block.field("reason") if block is not None else None
    if code is None or event is None or field is None or field.place != "small":
        return
    blocks = blocks[trace.rows["small"][blocks] == code]
    names = trace.table.enums["wait"]
    first = max(names) + 1
    if not len(blocks) or not len(parts) or first + MOST > MOST_REASON:
        return
    numbers: dict[str, int] = {}
    said: dict[int, str] = {}  # by thread
    is_block = np.zeros(len(trace.rows), bool)
    is_block[blocks] = True
    part = trace.values("label", "part", parts)
    continued = dict(zip(parts.tolist(), (part != 0).tolist(), strict=True))
    for row in np.sort(np.concatenate([blocks, parts])).tolist():
        thread = int(trace.rows["thread"][row])
        if not is_block[row]:
            before = said.get(thread, "") if continued[row] else ""
            said[thread] = before + trace.text(row)
            continue
        text = said.pop(thread, "")
        number = numbers.get(text)
        if number is None and text and len(numbers) < MOST:
            number = numbers[text] = first + len(numbers)
        if number is not None:
            trace.rows["small"][row] = number
    names |= {number: text for text, number in numbers.items()}
