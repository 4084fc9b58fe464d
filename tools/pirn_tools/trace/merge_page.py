# SPDX-License-Identifier: MIT
"""A job's traces as one page: the page of `pirn trace report`, with the lanes of all ranks, and the
messages as arrows between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace import report, show
from pirn_tools.trace.merge import Job, Rank, times
from pirn_tools.trace.stat import Stat, compute

Array = NDArray[Any]
MOST_TOLD = 2000  # threads of a rank in the table
PINNED = 2  # threads of each rank that have a line at first
EVENTS = "eventNs", "eventId", "eventCpu", "eventKey", "eventSmall", "eventA", "eventB", "eventText"


def write(job: Job, stream: TextIO) -> None:
    """The whole page."""
    stats = [compute(rank.model) for rank in job.ranks]
    parts = [report.arrays(rank.model) for rank in job.ranks]
    meta = _meta(job, stats)
    merged = _spans(job, parts) | _events(job, parts, meta) | _arrows(job, meta)
    program = Path(stats[0].meta.get("program", "program")).name
    count = sum(stat.events for stat in stats)
    headline = (
        f"{program}: {show.duration(job.end)}, {len(job.ranks)} ranks on {meta['cpus']} CPUs, "
        f"{len(meta['threads']):,} threads, {count:,} events, {len(job.messages):,} messages"
    )
    stream.write(report.html_of(f"{program} - pirn trace merge", headline, meta, merged))


def _offsets(job: Job) -> list[tuple[Rank, int, int]]:
    """Each rank, its first CPU, its first thread."""
    found, cpu, key = [], 0, 0
    for rank in job.ranks:
        found.append((rank, cpu, key))
        cpu, key = cpu + rank.model.trace.cpus, key + len(rank.model.threads)
    return found


def _meta(job: Job, stats: list[Stat]) -> dict[str, Any]:
    metas = [report.meta(rank.model, stat) for rank, stat in zip(job.ranks, stats, strict=True)]
    threads, covered, lanes, pinned, tables, texts = [], [], [], [], [], []
    enums: dict[str, dict[int, str]] = {}
    for number, ((rank, _, key), one) in enumerate(zip(_offsets(job), metas, strict=True)):
        threads += [(f"r{number}:{index}", name, idle) for index, name, idle in one["threads"]]
        covered += one["covered"]
        lanes += [f"rank {number} CPU {cpu}" for cpu in range(rank.model.trace.cpus)]
        pinned += [key + at for at in one["pinned"][:PINNED]]
        texts += one["texts"]
        for kind, names in one["enums"].items():
            if kind != "wait":
                enums.setdefault(kind, {}).update(names)
        tables += [
            {
                **table,
                "title": f"Rank {number}: {table['title']}",
                "keys": [key + at for at in table["keys"]],
            }
            for table in one["tables"]
        ]
    return {
        **metas[0],
        "cpus": len(lanes),
        "lanes": lanes,
        "end": job.end,
        "covered": covered,
        "gaps": [],
        "remarks": job.remarks,
        "threads": threads,
        "pinned": pinned,
        "enums": {**enums, "wait": _reasons(job)},
        "texts": texts,
        "tables": tables,
    }


def _reasons(job: Job) -> dict[int, str]:
    """The reasons of all ranks, by common numbers."""
    names: dict[str, int] = {}
    for rank in job.ranks:
        for name in rank.model.trace.table.enums.get("wait", {}).values():
            names.setdefault(name, len(names))
    return {number: name for name, number in names.items()}


def _common(job: Job, rank: Rank, codes: Array) -> Array:
    """A rank's reasons by the common numbers; those without a name are -1."""
    number = {name: at for at, name in _reasons(job).items()}
    own = rank.model.trace.table.enums.get("wait", {})
    found = np.full(len(codes), -1, np.int64)
    for code in np.unique(codes).tolist():
        if code in own:
            found[codes == code] = number[own[code]]
    return found


def _spans(job: Job, parts: list[dict[str, Array]]) -> dict[str, Array]:
    """The lanes and lines of all ranks, one behind the other."""
    made: dict[str, list[Array]] = {}
    spans = lives = 0
    for (rank, cpu, key), own in zip(_offsets(job), parts, strict=True):
        shifted = {
            "cpuFirst": own["cpuFirst"][:-1] + np.uint32(spans),
            "threadFirst": own["threadFirst"][:-1] + np.uint32(lives),
            "cpuKey": own["cpuKey"] + np.int32(key),
            "threadReason": _common(job, rank, own["threadReason"].astype(np.int64)).astype("<i2"),
            "threadCpu": np.where(own["threadCpu"] >= 0, own["threadCpu"] + cpu, -1).astype("<i2"),
        }
        spans, lives = spans + len(own["cpuStart"]), lives + len(own["threadStart"])
        names = ("cpuFirst", "cpuStart", "cpuEnd", "cpuKey", "threadFirst", "threadStart")
        for name in (*names, "threadEnd", "threadState", "threadReason", "threadCpu"):
            made.setdefault(name, []).append(shifted.get(name, own[name]))
    made["cpuFirst"].append(np.array([spans], "<u4"))
    made["threadFirst"].append(np.array([lives], "<u4"))
    return {name: np.concatenate(values) for name, values in made.items()}


def _events(job: Job, parts: list[dict[str, Array]], meta: dict[str, Any]) -> dict[str, Array]:
    """The events of all ranks in the order of time."""
    made: dict[str, list[Array]] = {}
    texts = 0
    for (rank, cpu, key), own in zip(_offsets(job), parts, strict=True):
        small = own["eventSmall"].copy()
        for name in ("block", "contend"):
            rows = rank.model.trace.which(name)
            small[rows] = _common(job, rank, small[rows].astype(np.int64)) & 0xFFFF
        shifted = {
            "eventCpu": np.where(own["eventCpu"] >= 0, own["eventCpu"] + cpu, -1).astype("<i2"),
            "eventKey": np.where(own["eventKey"] >= 0, own["eventKey"] + key, -1).astype("<i4"),
            "eventText": np.where(own["eventText"] >= 0, own["eventText"] + texts, -1).astype(
                "<i4"
            ),
            "eventSmall": small,
        }
        texts += report.text_count(rank.model)
        for name in EVENTS:
            made.setdefault(name, []).append(shifted.get(name, own[name]))
    joined = {name: np.concatenate(values) for name, values in made.items()}
    order = np.argsort(joined["eventNs"], kind="stable")
    return {name: values[order] for name, values in joined.items()}


def _arrows(job: Job, meta: dict[str, Any]) -> dict[str, Array]:
    """Where each message begins and ends, by the time at which it is sent."""
    first = np.array([cpu for _, cpu, _ in _offsets(job)], np.int64)
    when = times(job)
    lanes = []
    for side, row in (("from", "send"), ("to", "receive")):
        lane = np.zeros(len(job.messages), np.int64)
        for number, rank in enumerate(job.ranks):
            own = job.messages[side] == number
            cpu = rank.model.trace.rows["cpu"][job.messages[row][own]]
            lane[own] = first[number] + np.maximum(cpu, 0)
        lanes.append(lane.astype("<i2"))
    return {
        "messageSent": when[:, 0].astype("<f8"),
        "messageReceived": when[:, 1].astype("<f8"),
        "messageFrom": lanes[0],
        "messageTo": lanes[1],
    }
