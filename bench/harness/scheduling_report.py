# SPDX-License-Identifier: MIT
"""The cost of scheduling as Markdown tables and pictures."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import NamedTuple

from pirn_tools.plotting import figure

from harness.scheduling import LATENCY, METERED, NPTL, PIRN, TICKS, Measured, Pattern, Plan
from harness.tables import markdown

MARKS = "osD^v"


def count(number: str | int) -> str:
    return f"{int(number):,}"


def scaled(value: float | None, factor: float) -> str:
    """Three digits."""
    if value is None:
        return "-"
    value *= factor
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def percent(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2%}" if value < 0.1 else f"{value:.0%}"


def own_ratio(measured: Measured, row: tuple[str, str, str, int]) -> str:
    """Ours to NPTL, round by round."""
    part, threads, system, workers = row
    ours = measured.values.get((part, threads, system, workers, PIRN), {})
    theirs = measured.values.get((part, threads, NPTL, workers, NPTL), {})
    ratios = [ours[n]["seconds"] / theirs[n]["seconds"] for n in ours if n in theirs]
    return f"{statistics.median(ratios):.3f}" if ratios else "-"


def pattern_table(plan: Plan, pattern: Pattern, measured: Measured) -> str:
    """The default policy, beside NPTL: the thesis's tables 5.1 to 5.3, 5.5 and 5.6."""
    default = plan.policies[0]
    body = []
    for workers in plan.workers:
        for threads in map(str, pattern.threads):
            where = (pattern.name, threads)

            def metered(
                name: str, where: tuple[str, str] = where, on: int = workers
            ) -> float | None:
                return measured.median(*where, default, on, METERED, name)

            nptl = measured.median(*where, NPTL, workers, NPTL, "seconds")
            kernel = measured.median(*where, NPTL, workers, NPTL, "system_seconds")
            share = kernel / (workers * nptl) if nptl and kernel is not None else None
            body.append(
                [
                    str(workers),
                    count(threads),
                    scaled(measured.median(*where, default, workers, PIRN, "seconds"), 1e3),
                    scaled(metered("scheduler_ns"), 1e-6),
                    percent(metered("share")),
                    scaled(metered("events"), 1),
                    scaled(metered("event_ns"), 1),
                    scaled(metered("longest_ns"), 1e-3),
                    scaled(nptl, 1e3),
                    percent(share),
                    own_ratio(measured, (*where, default, workers)),
                    pattern.there.get(threads, "-"),
                ]
            )
    header = ["workers", "threads", "total, ms", "scheduler, ms", "share", "events", "an event, ns"]
    header += ["longest, us", "NPTL, ms", "in the kernel", "Pirn / NPTL", "there"]
    return markdown(header, body)


def policies_table(plan: Plan, pattern: Pattern, measured: Measured) -> str:
    """Share, and nanoseconds an event."""
    body = []
    for workers in plan.workers:
        for threads in map(str, pattern.threads):
            cells = []
            for name in plan.policies:
                at = (pattern.name, threads, name, workers, METERED)
                share, event = measured.median(*at, "share"), measured.median(*at, "event_ns")
                cells.append(f"{percent(share)}, {scaled(event, 1)}")
            body.append([str(workers), count(threads), *cells])
    return markdown(["workers", "threads", *plan.policies], body)


def totals_table(plan: Plan, pattern: Pattern, measured: Measured) -> str:
    """Milliseconds in all, ordinary library."""
    body = []
    for workers in plan.workers:
        for threads in map(str, pattern.threads):
            medians = [
                measured.median(pattern.name, threads, name, workers, build, "seconds")
                for name, build in [(NPTL, NPTL), *((own, PIRN) for own in plan.policies)]
            ]
            body.append([str(workers), count(threads), *(scaled(value, 1e3) for value in medians)])
    return markdown(["workers", "threads", "NPTL", *plan.policies], body)


def latency_table(plan: Plan, measured: Measured) -> str:
    body = []
    for name, build in [*((own, PIRN) for own in plan.policies), (NPTL, NPTL)]:
        cells = []
        for row in plan.latency:
            found = {
                key: measured.median(LATENCY, row, name, 2, build, key)
                for key in ("p50_us", "p90_us", "cross", "moved")
            }
            if not found["p50_us"] or not found["cross"]:
                cells += ["-", "-", "-"]
                continue
            cells += [scaled(found["p50_us"], 1), scaled(found["p90_us"], 1)]
            cells.append(f"{(found['moved'] or 0) / found['cross']:.0%}")
        body.append(["NPTL" if name == NPTL else name, *cells])
    header = ["joiner's worker"]
    for row in plan.latency:
        header += [f"{row}: median, us", "p90, us", "moves"]
    return markdown(header, body)


class Ticks(NamedTuple):
    """One rate: medians over the rounds."""

    build: str
    tick_us: int
    rate: float  # that there really were, a second
    overhead: float  # share of the time away, beyond that without ticks
    whole_us: float  # of a tick, all in all
    inside_us: float | None  # of that in the scheduler


def ticks_of(plan: Plan, measured: Measured) -> list[Ticks]:
    """Compares each run with the run without ticks of the same round."""
    system = plan.policies[0]
    found = []
    for build, ticks in plan.ticks.items():
        still = measured.values.get((TICKS, "0", system, 1, build), {})
        for tick in (one for one in ticks if one != 0):
            runs = measured.values.get((TICKS, str(tick), system, 1, build), {})
            paired = [(runs[n], still[n]) for n in runs if n in still]
            if not paired:
                continue
            length = [run["duration"] * 1e3 for run, _ in paired]  # us
            more = [run["away_us"] - none["away_us"] for run, none in paired]
            counts = [run["ticks"] for run, _ in paired]
            inside = [run["event_ns"] / 1e3 for run, _ in paired if "event_ns" in run]
            found.append(
                Ticks(
                    build,
                    tick,
                    statistics.median(n * 1e6 / us for n, us in zip(counts, length, strict=True)),
                    statistics.median(m / us for m, us in zip(more, length, strict=True)),
                    statistics.median(m / n for m, n in zip(more, counts, strict=True) if n > 0)
                    if any(counts)
                    else 0.0,
                    statistics.median(inside) if inside else None,
                )
            )
    return found


def ticks_table(ticks: list[Ticks]) -> str:
    body = [
        [
            {PIRN: "CPU time", METERED: "metered"}[one.build],
            count(one.tick_us),
            scaled(1e6 / one.tick_us, 1),
            scaled(one.rate, 1),
            f"{one.overhead:.3%}",
            scaled(one.whole_us, 1),
            scaled(one.inside_us, 1),
        ]
        for one in ticks
    ]
    header = ["library", "tick, us", "asked for, Hz", "was, Hz", "overhead", "a tick, us"]
    return markdown([*header, "of that in the scheduler, us"], body)


def draw_ticks(path: Path, ticks: list[Ticks]) -> None:
    """Figure 5.2's shape: overhead against the rate, and the cost of one tick."""
    own = sorted((one for one in ticks if one.build == METERED), key=lambda one: one.rate)
    slow = sorted((one for one in ticks if one.build == PIRN), key=lambda one: one.rate)
    with figure(path, width=9.0, height=5.0) as axes:
        axes.plot([o.rate for o in own], [100 * o.overhead for o in own], "C0o-", label="overhead")
        axes.plot(
            [o.rate for o in slow],
            [100 * o.overhead for o in slow],
            "C0x",
            label="overhead, ordinary library",
        )
        axes.set_xlabel("ticks a second, as counted")
        axes.set_ylabel("overhead, %", color="C0")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        right = axes.twinx()
        fast = [o for o in own if o.inside_us is not None and o.rate > 500]
        inside = [o.inside_us for o in fast if o.inside_us is not None]
        rates = [o.rate for o in fast]
        right.plot(rates, [o.whole_us for o in fast], "C1s--", label="a tick, all in all")
        right.plot(rates, inside, "C2^--", label="of that in the scheduler")
        right.fill_between(rates, inside, [o.whole_us for o in fast], color="C1", alpha=0.12)
        right.set_ylabel("microseconds a tick", color="C1")
        right.set_ylim(bottom=0)
        axes.figure.legend(loc="outside upper center", ncols=4, fontsize="small")


def draw_chain(path: Path, plan: Plan, measured: Measured) -> None:
    """Join chain: the cost of a link by the length of the chain."""
    pattern = next(one for one in plan.patterns if one.name == "join_chain")
    with figure(path, width=9.0, height=5.0) as axes:
        for at, (name, build) in enumerate([*((own, PIRN) for own in plan.policies), (NPTL, NPTL)]):
            for workers, style in zip(plan.workers, ("-", ":"), strict=False):
                points = [
                    (threads, value / 1e3)
                    for threads in pattern.threads
                    for value in [
                        measured.median(
                            pattern.name, str(threads), name, workers, build, "ns_per_link"
                        )
                    ]
                    if value is not None
                ]
                if points:
                    label = f"{name}, {workers} CPU{'s' if workers > 1 else ''}"
                    mark = "X" if name == NPTL else MARKS[at % len(MARKS)]
                    axes.plot(*zip(*points, strict=True), f"C{at}{style}", marker=mark, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("threads in the chain")
        axes.set_ylabel("microseconds a link: create, join, end")
        axes.grid(alpha=0.3)
        axes.figure.legend(loc="outside right upper", fontsize="small")
