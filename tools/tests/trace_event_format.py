# SPDX-License-Identifier: MIT
"""Checks a file by the published description of the Trace Event Format (JSON).

The description is prose (Chromium's document "Trace Event Format"); its members and their types
are also there as declarations for TypeScript, in wix-incubator/trace-event-lib, src/schema. Here
they are as tables: for each phase that we use, which members an event must have and of what type,
which it may have. A name of a track has a time in the declarations and none in the document's
examples; here it must have one. Beyond single events: slices of a track nest, a flow begins and
ends in a slice.

Perfetto reads the format by src/trace_processor/importers/json (and common/process_tracker.cc,
common/flow_tracker.cc) of google/perfetto, which is stricter in places, and what it asks is checked
here as well: pid and tid have 32 bits; a process or thread 0 may be hidden; a thread_name counts
for a tid, whichever process it is said to be of; a flow's id is a number or hexadecimal digits; of
what happens at one moment, slices have to stand before the flows that begin or end in them; some
of its versions read no \\u in a string.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from typing import Any

NUMBER = (int, float)
COMMON: dict[str, Any] = {"name": str, "ph": str, "pid": int, "tid": int}
TIMED = {**COMMON, "ts": NUMBER, "cat": str}
OPTIONAL: dict[str, Any] = {"args": dict, "cname": str, "tts": NUMBER}
STACK: dict[str, Any] = {"sf": int, "stack": list}
END_STACK: dict[str, Any] = {"esf": int, "estack": list}
PHASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "X": ({**TIMED, "dur": NUMBER}, {**OPTIONAL, **STACK, **END_STACK, "tdur": NUMBER}),
    "i": ({**TIMED, "s": str}, {**OPTIONAL, **STACK}),
    "s": ({**TIMED, "id": (int, str)}, OPTIONAL),
    "f": ({**TIMED, "id": (int, str)}, {**OPTIONAL, "bp": str}),
    "M": ({**COMMON, "ts": NUMBER, "args": dict}, {"cname": str, "tts": NUMBER}),
}
METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}
TOP = {
    "traceEvents": list,
    "displayTimeUnit": str,
    "otherData": dict,
    "systemTraceEvents": str,
    "powerTraceAsString": str,
    "stackFrames": dict,
    "samples": list,
}
Event = dict[str, Any]


def check(trace: dict[str, Any]) -> None:
    """Fails on what the description does not allow."""
    assert set(trace) <= set(TOP)
    assert "traceEvents" in trace
    for name, value in trace.items():
        assert isinstance(value, TOP[name]), name
    assert trace.get("displayTimeUnit", "ms") in ("ms", "ns")
    for event in trace["traceEvents"]:
        check_event(event)
    check_nesting(trace["traceEvents"])
    check_flows(trace["traceEvents"])
    check_named(trace["traceEvents"])
    check_ids(trace["traceEvents"])


def check_text(text: str) -> None:
    """Fails on what the file itself should not have in it."""
    assert "\\u" not in text


def check_event(event: Event) -> None:
    must, may = PHASES[event["ph"]]
    for name, kind in must.items():
        assert isinstance(event[name], kind), (name, event)
        assert not isinstance(event[name], bool)
    for name, value in event.items():
        assert name in must or isinstance(value, may[name]), (name, event)
    assert event.get("ts", 0) >= 0
    assert event.get("dur", 0) >= 0
    assert event.get("s", "t") in ("g", "p", "t") or event["ph"] != "i"
    assert event.get("bp", "e") == "e"
    if event["ph"] == "M":
        name, kind = METADATA[event["name"]]
        assert isinstance(event["args"][name], kind)


def ns(us: float) -> int:
    return round(us * 1000)


def check_nesting(events: list[Event]) -> None:
    """Complete events of a track lie beside or within each other."""
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            begin = ns(event["ts"])
            tracks[event["pid"], event["tid"]].append((begin, -(begin + ns(event["dur"]))))
    for slices in tracks.values():
        open_ends: list[int] = []
        for begin, end in sorted(slices):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or -end <= open_ends[-1]
            open_ends.append(-end)


def check_flows(events: list[Event]) -> None:
    """Each has a beginning and an end, in slices that stand before them in the file."""
    flows: dict[Any, dict[str, Event]] = defaultdict(dict)
    slices: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    starts = set()
    for event in events:
        track = event["pid"], event["tid"]
        if event["ph"] == "X":
            assert not flows, "a slice behind a flow"
            begin = ns(event["ts"])
            slices[track].append((begin, begin + ns(event["dur"])))
            starts.add((*track, begin))
        elif event["ph"] in "sf":
            assert isinstance(event["id"], int) or int(event["id"], 16) >= 0
            assert event["ph"] not in flows[event["id"]], "a flow has two beginnings or ends"
            flows[event["id"]][event["ph"]] = event
            if event["ph"] == "f":
                assert (*track, ns(event["ts"])) in starts
    begins = {track: sorted(own) for track, own in slices.items()}
    ends = {
        track: list(itertools.accumulate((end for _, end in own), max))
        for track, own in begins.items()
    }
    for flow in flows.values():
        begin, end = flow["s"], flow["f"]
        assert (begin["cat"], begin["name"]) == (end["cat"], end["name"])
        assert begin["ts"] <= end["ts"]
        assert end.get("bp") == "e"
        track, when = (begin["pid"], begin["tid"]), ns(begin["ts"])
        place = bisect.bisect_right(begins[track], (when, 1 << 62)) - 1
        assert place >= 0, begin
        assert ends[track][place] >= when, begin


def check_named(events: list[Event]) -> None:
    """Each track that is used has a name."""
    named = {
        (event["pid"], event["tid"])
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    used = {(event["pid"], event["tid"]) for event in events if event["ph"] != "M"}
    assert used <= named


def check_ids(events: list[Event]) -> None:
    """They have 32 bits and are not 0; no two processes have threads of one number."""
    owner: dict[int, int] = {}
    for event in events:
        assert 0 < event["pid"] < 1 << 32
        assert 0 < event["tid"] < 1 << 32
        assert owner.setdefault(event["tid"], event["pid"]) == event["pid"]
