# SPDX-License-Identifier: MIT
"""`pirn prof stat`: what a profile has, what it has lost, how well its hash table worked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pirn_tools.prof.read import Profile
from pirn_tools.prof.text import duration


def facts(profile: Profile) -> dict[str, Any]:
    """Numbers, in the order in which they are shown."""
    kinds = Counter(one.kind for one in profile.nodes.values())
    threads: Counter[str] = Counter()
    for thread in profile.threads:
        if thread.kind != "rest":
            threads[thread.kind] += thread.threads
    return {
        "program": profile.program,
        "pid": profile.number("pid"),
        "version": profile.meta.get("version", ""),
        "machine": profile.meta.get("machine", ""),
        "sched": profile.meta.get("sched", ""),
        "cpus": profile.number("cpus"),
        "elapsed_ns": profile.number("elapsed_ns"),
        "rate": profile.rate,
        "clock": profile.clock,
        "threads": dict(threads),
        "trees": len(profile.threads),
        "nodes": len(profile.nodes),
        "nodes_by_kind": dict(kinds),
        "room_for_nodes": profile.number("nodes"),
        "depth": depth(profile),
        "calls": sum(one.calls for one in profile.nodes.values() if one.kind == "call"),
        "samples": sum(one.times for one in profile.samples),
        "samples_by_cpu": by_cpu(profile),
        "wait_ns": profile.number("waits"),
        "waits": sum(one.times for one in profile.waits if one.kind == "waited"),
        "places": len(profile.samples),
        "room_for_places": profile.number("places"),
        **{
            key: profile.counts.get(key, 0)
            for key in ("lost_calls", "lost_samples", "lost_waits", "unmatched", "skipped")
        },
        "calls_without_tree": profile.without_tree,
        "distances": dict(profile.distances),
        **lookups(profile),
    }


def depth(profile: Profile) -> int:
    """Levels below the roots."""
    levels: dict[int, int] = {}
    for one in profile.order:
        levels[one.id] = levels[one.parent] + 1 if one.parent else 0
    return max(levels.values(), default=0)


def by_cpu(profile: Profile) -> dict[str, int]:
    found: Counter[int] = Counter()
    for one in profile.samples:
        found[one.cpu] += one.times
    return {str(cpu): found[cpu] for cpu in sorted(found)}


def lookups(profile: Profile) -> dict[str, Any]:
    """Of callees in the table: how many, the share found at once, the mean distance (at least)."""
    total = sum(n for _, n in profile.distances)
    at_once = sum(n for distance, n in profile.distances if distance == 0)
    far = sum(distance * n for distance, n in profile.distances)
    return {
        "lookups": total,
        "hit_rate": at_once / total if total else None,
        "mean_distance": far / total if total else None,
    }


def lines(found: dict[str, Any]) -> list[str]:
    """For people: a name and its value in each line."""
    program = Path(found["program"]).name or "?"
    under = f" under {found['sched']}" if found["sched"] else ""
    took = duration(found["elapsed_ns"] / 1e9)
    threads = ", ".join(f"{n:,} {kind}" for kind, n in found["threads"].items()) or "none"
    sampled = f"{found['rate']:,} a second of {found['clock']} time" if found["rate"] else "none"
    cpus = ", ".join(
        f"CPU {cpu}: {n:,}" if cpu != "-1" else f"elsewhere: {n:,}"
        for cpu, n in found["samples_by_cpu"].items()
    )
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in found["nodes_by_kind"].items())
    pairs = [
        ("program", f"{program} (process {found['pid']}), {took} on {found['cpus']} CPUs{under}"),
        ("threads", f"{threads}; {found['trees']:,} trees"),
        (
            "nodes",
            f"{found['nodes']:,} ({kinds}); {_room(found['nodes'], found['room_for_nodes'])}",
        ),
        ("levels", f"{found['depth']:,}"),
        ("calls", f"{found['calls']:,}"),
        ("sampling", sampled),
        ("samples", f"{found['samples']:,}{f' ({cpus})' if cpus else ''}"),
        ("places", f"{found['places']:,}; {_room(found['places'], found['room_for_places'])}"),
        ("without tree", f"{found['calls_without_tree']:,} calls, known by function and site only"),
        ("lost calls", f"{found['lost_calls']:,}"),
        ("lost samples", f"{found['lost_samples']:,}"),
        *_waits(found),
        ("unmatched", f"{found['unmatched']:,} returns from what was not active"),
        ("skipped", f"{found['skipped']:,} functions left without a return"),
    ]
    if found["lookups"]:
        pairs.append(
            (
                "look-ups",
                f"{found['lookups']:,}, {100 * found['hit_rate']:.2f}% found at once, "
                f"mean distance {found['mean_distance']:.3f}",
            )
        )
        last = max(found["distances"])
        pairs += [
            (
                f"  {'from ' if distance == last and distance else ''}{distance}",
                f"{n:,} ({100 * n / found['lookups']:.3f}%)",
            )
            for distance, n in found["distances"].items()
            if n
        ]
    width = max(len(name) for name, _ in pairs)
    return [f"{name.ljust(width)}  {value}" for name, value in pairs]


def _waits(found: dict[str, Any]) -> list[tuple[str, str]]:
    if not found["wait_ns"]:
        return [("waits", "not recorded")]
    some = (
        f"; of those below {duration(found['wait_ns'] / 1e9)} some" if found["wait_ns"] > 1 else ""
    )
    return [("waits", f"{found['waits']:,}, {found['lost_waits']:,} lost{some}")]


def _room(used: int, room: int) -> str:
    return f"room for {room:,} ({100 * used / room:.1f}% used)" if room else "room not known"
