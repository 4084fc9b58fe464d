# SPDX-License-Identifier: MIT
"""What the published description of the Trace Event Format (JSON) asks of a file, as a checker.

The description is in prose; here it is as tables: for each phase that we use, which members an
event must have and of what type, which it may have. Beyond single events: slices of a track nest,
a flow has a beginning and an end, and the end lies on a slice.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

NUMBER = (int, float)
COMMON: dict[str, Any] = {"name": str, "ph": str, "pid": int, "tid": int}
TIMED = {**COMMON, "ts": NUMBER, "cat": str}
OPTIONAL: dict[str, Any] = {"args": dict, "cname": str, "tts": NUMBER}
PHASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "X": ({**TIMED, "dur": NUMBER}, {**OPTIONAL, "tdur": NUMBER}),
    "i": ({**TIMED, "s": str}, OPTIONAL),
    "s": ({**TIMED, "id": (int, str)}, OPTIONAL),
    "f": ({**TIMED, "id": (int, str)}, {**OPTIONAL, "bp": str}),
    "M": ({**COMMON, "args": dict}, {}),
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
    flows: dict[Any, dict[str, Event]] = defaultdict(dict)
    starts = set()
    for event in events:
        if event["ph"] in "sf":
            assert event["ph"] not in flows[event["id"]], "a flow has two beginnings or ends"
            flows[event["id"]][event["ph"]] = event
        elif event["ph"] == "X":
            starts.add((event["pid"], event["tid"], ns(event["ts"])))
    for flow in flows.values():
        begin, end = flow["s"], flow["f"]
        assert (begin["cat"], begin["name"]) == (end["cat"], end["name"])
        assert begin["ts"] <= end["ts"]
        assert (end["pid"], end["tid"], ns(end["ts"])) in starts


def check_named(events: list[Event]) -> None:
    """Each track that is used has a name."""
    named = {
        (event["pid"], event["tid"])
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    used = {(event["pid"], event["tid"]) for event in events if event["ph"] != "M"}
    assert used <= named
