# SPDX-License-Identifier: MIT
"""`pirn trace report`: one HTML file to look into a trace with a browser.

It needs no server and no network: style, script (page/) and data are in it. The data are arrays,
one behind the other, compressed and in base64; the page's JSON says where each begins.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.errors import UserError
from pirn_tools.trace import show
from pirn_tools.trace.model import Model
from pirn_tools.trace.plot import subjects
from pirn_tools.trace.stat import Stat, compute

Array = NDArray[Any]
PAGE = Path(__file__).parent / "page"
MOST_ROWS = 2000  # of the table of threads
PINNED = 8  # threads that have a line at first


def write(model: Model, output: Path) -> None:
    """Writes the page."""
    text = page(model)
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None


def page(model: Model) -> str:
    """The page."""
    stat = compute(model)
    title = f"{model.trace.path.name} - pirn trace"
    return html_of(title, show.headline(stat), meta(model, stat), arrays(model))


def html_of(title: str, headline: str, about: dict[str, Any], values: dict[str, Array]) -> str:
    """The page with these data."""
    packed, places = _pack(values)
    parts = {
        "TITLE": html.escape(title),
        "HEADLINE": html.escape(headline),
        "STYLE": (PAGE / "report.css").read_text(encoding="utf-8"),
        "SCRIPT": (PAGE / "report.js").read_text(encoding="utf-8"),
        # A name in the trace must not end the script element that it stands in.
        "META": json.dumps({**about, "arrays": places}, separators=(",", ":")).replace(
            "<", "\\u003c"
        ),
        "DATA": base64.b64encode(packed).decode(),
    }
    pieces = (PAGE / "report.html").read_text(encoding="utf-8").split("@")
    return "".join(parts.get(piece, piece) for piece in pieces)


def text_count(model: Model) -> int:
    """How many texts the meta data have."""
    return len(_texts(model)[0])


def _pack(arrays: dict[str, Array]) -> tuple[bytes, list[tuple[str, str, int, int]]]:
    """All arrays in one block, widest first so that each is aligned."""
    ordered = sorted(arrays.items(), key=lambda item: -item[1].itemsize)
    places, data, offset = [], [], 0
    for name, values in ordered:
        places.append((name, values.dtype.str[1:], offset, len(values)))
        data.append(values.tobytes())
        offset += len(data[-1])
    return zlib.compress(b"".join(data), 1), places


def arrays(model: Model) -> dict[str, Array]:
    """What the page draws."""
    spans, lives, rows = model.cpu_spans, model.thread_spans, model.trace.rows
    both = rows["ab"]
    return {
        "cpuFirst": np.searchsorted(spans["cpu"], np.arange(model.trace.cpus + 1)).astype("<u4"),
        "cpuStart": spans["start"].astype("<f8"),
        "cpuEnd": spans["end"].astype("<f8"),
        "cpuKey": spans["key"].astype("<i4"),
        "threadFirst": np.searchsorted(lives["key"], np.arange(len(model.threads) + 1)).astype(
            "<u4"
        ),
        "threadStart": lives["start"].astype("<f8"),
        "threadEnd": lives["end"].astype("<f8"),
        "threadState": lives["state"].astype("u1"),
        "threadReason": lives["reason"].astype("<i2"),
        "threadCpu": lives["cpu"].astype("<i2"),
        "eventNs": model.ns.astype("<f8"),
        "eventId": rows["event"].astype("u1"),
        "eventCpu": rows["cpu"].astype("<i2"),
        "eventKey": subjects(model).astype("<i4"),
        "eventSmall": rows["small"].astype("<u2"),
        "eventA": (both & np.uint64(0xFFFFFFFF)).astype("<u4"),
        "eventB": (both >> np.uint64(32)).astype("<u4"),
        "eventText": _texts(model)[1].astype("<i4"),
    }


def _texts(model: Model) -> tuple[list[str], Array]:
    """The distinct texts of events, and which of them each event has; -1: none."""
    from pirn_tools.trace.read import clean

    if not len(model.trace.texts):
        return [], np.full(len(model.trace.rows), -1)
    distinct, which = np.unique(model.trace.texts, return_inverse=True)
    text = model.trace.rows["text"]
    return [clean(bytes(one)) for one in distinct], np.where(text >= 0, which[text], -1)


def meta(model: Model, stat: Stat) -> dict[str, Any]:
    """What else the page knows."""
    trace = model.trace
    longest = sorted(stat.threads, key=lambda one: -one.run)
    keys = {thread.number: thread.key for thread in model.threads}
    top = [keys[one.number] for one in longest[:MOST_ROWS]]
    return {
        "cpus": trace.cpus,
        "end": model.end,
        "covered": model.covered.tolist(),
        "gaps": model.gaps.tolist(),
        "remarks": trace.remarks,
        "threads": [(one.number, one.name, int(one.idle)) for one in model.threads],
        "pinned": sorted(top[:PINNED]),
        "enums": trace.table.enums,
        "events": {
            event.id: (event.name, [(one.place, one.name, one.type) for one in event.fields])
            for event in trace.table.events.values()
        },
        "texts": _texts(model)[0],
        "tables": _tables(stat, top),
    }


def _tables(stat: Stat, top: Sequence[int]) -> list[dict[str, Any]]:
    tables = [
        (show.cpu_table(stat, most=64), []),
        (show.whole_table(stat), []),
        (show.thread_table(stat, MOST_ROWS), list(top)),
        (show.count_table(stat), []),
    ]
    return [
        {"title": one.title, "head": one.head, "rows": one.rows, "note": one.note, "keys": keys}
        for one, keys in tables
    ]
