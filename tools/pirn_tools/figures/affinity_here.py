# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: wavemix on the machine at hand."""

from __future__ import annotations

from collections.abc import Sequence

from pirn_tools.errors import UserError
from pirn_tools.figures import affinity_thesis as thesis
from pirn_tools.figures import markdown
from pirn_tools.figures.affinity_model import AUTO, DECLARED, OLD, PLAIN, SERIAL
from pirn_tools.figures.affinity_real import (
    NPTL,
    NPTL_FIFO,
    PIN_CPUS,
    RULED,
    Real,
    Values,
    middle,
)
from pirn_tools.figures.affinity_thesis import BUFFERS
from pirn_tools.figures.affinity_words import signed

MISSES = {"l1_read_misses": "L1 misses, reads", "llc_misses": "misses of the last level"}


def titled(way: str) -> str:
    return way if way in (NPTL, NPTL_FIFO) else f"`{way}`"


def table(real: Real) -> str:
    counted = [] if real.no_counters else list(MISSES)
    rows = []
    for kb in BUFFERS:
        serial = middle(real.each(kb, SERIAL, "median_us"))
        for way in real.ways:
            medians = real.each(kb, way, "median_us")
            cells = [f"{middle(medians):.1f} ({min(medians):.1f} to {max(medians):.1f})"]
            cells += [
                f"{middle(real.each(kb, way, name)):.1f}"
                for name in ("mean_us", "sigma_us", "variance", "a2s_us")
            ]
            cells.append(f"{serial / middle(medians):.2f}")
            cells.append(f"{middle(real.each(kb, way, 'migrations')):.2f}")
            cells += [f"{middle(real.each(kb, way, name)):.0f}" for name in counted]
            rows.append([f"{kb} KB", titled(way), *cells])
    head = ["", "", "median (range)", "mean", "sigma", "variance, µs²", "A2S", "speed-up"]
    head.append("migrations")
    return markdown.table([*head, *(MISSES[name] for name in counted)], rows, left=(0, 1))


def section(real: Real) -> list[str]:
    rounds = markdown.counted(len(next(iter(real.runs.values()))), "round")
    noise = (
        "The machine was quiet."
        if real.quiet
        else f"The machine was not quiet: its load averages were {real.load} on {real.cpus} CPUs "
        "when the runs began. Differences within the ranges mean nothing, and sigma and A2S are "
        "above all those of what else ran."
    )
    return [
        "## A real machine",
        "`wavemix-pirn` and `wavemix-nptl` on the machine at hand: the time from one sample to the "
        f"next, microseconds. Each figure is the median of {rounds}, in which the ways take "
        "turns; the range is that of the rounds' medians. The speed-up is that of the medians "
        "against `--serial`. Migrations are those of a sample: with Pirn from worker to worker, "
        "with NPTL from CPU to CPU. Threads of SCHED_FIFO go before all other programs; the other "
        f"ways share the CPUs with these. {noise}",
        table(real),
        *[f"Not run: {titled(way)}: {why}." for way, why in real.left_out.items()],
        counters(real),
        words(real),
        "### Pushes and pulls here",
        "Counts of a sample, and the time of one in nanoseconds, as in the tables of the model "
        "([pushes and pulls](#pushes-and-pulls)); counts are medians of the rounds, those of the "
        "samples before the measured ones included. Without affinity nothing is pushed or pulled.",
        placements(real),
        "### Equation 4.1 here",
        *estimate(real),
    ]


def each_ns(runs: Sequence[Values], time: str, *events: str) -> str:
    number = sum(one[name] for one in runs for name in events)
    return f"{sum(one[time] for one in runs) / number:.0f}" if number > 0 else "-"


def placements(real: Real) -> str:
    rows = []
    for kb in BUFFERS:
        for way in (way for way in RULED if way in real.ways):
            runs = real.runs[kb, way]

            def by_sample(*names: str, kb: int = kb, way: str = way) -> list[str]:
                return [f"{middle(real.each(kb, way, f'affinity-{name}')):.2f}" for name in names]

            cells = by_sample("here", "there", "standard", "pushes")
            cells.append(each_ns(runs, "affinity-push-ns", "affinity-pushes"))
            cells += by_sample("pulls", "late")
            cells.append(each_ns(runs, "affinity-pull-ns", "affinity-pulls", "affinity-late"))
            rows.append([f"{kb} KB", titled(way), *cells])
    head = ["", "", "here", "there", "standard", "pushes", "ns each", "pulls", "late", "ns each"]
    return markdown.table(head, rows, left=(0, 1))


def estimate(real: Real) -> list[str]:
    """The thesis' equation 4.1 of the serial runs."""
    each = {kb: real.serial(kb) for kb in BUFFERS}
    rows = [
        [f"{kb} KB", *(f"{time:.1f}" for time in (one.wave, one.mixer, one.last, one.whole))]
        for kb, one in each.items()
    ]
    try:
        plain, affinity = thesis.estimates(list(each.values()))
    except UserError as error:
        said = f"It cannot be computed here: {error}."
    else:
        said = (
            f"It expects a speed-up of {plain:.2f} by plain scheduling and of {affinity:.2f} with "
            f"affinity. It assumes {PIN_CPUS} CPUs."
        )
    if real.cpus < PIN_CPUS:
        said += f" Here are {real.cpus}, so the speed-ups above cannot be compared with it."
    return [
        "What each task takes for a sample in the serial runs, microseconds: the mean of the waves "
        "and of the first two mixers, and the sum of all seven. Medians of a run and of the "
        "rounds, not means as in the thesis: other programs take the CPU at times.",
        markdown.table(["", "waves", "mixer0, mixer1", "mixer2", "all"], rows),
        said,
    ]


def counters(real: Real) -> str:
    if real.no_counters:
        return f"Cache misses were not counted here: {real.no_counters}."
    return (
        "Misses are those of the whole program in user mode, divided by its samples; at its end it "
        "computes each sample once more on one CPU, to check the output. What the processor calls "
        "cache misses is taken for the last level."
    )


def overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return min(a) <= max(b) and min(b) <= max(a)


def words(real: Real) -> str:
    parts = []
    for way in (OLD, DECLARED, AUTO):
        differs = []
        for kb in BUFFERS:
            plain, ours = (real.each(kb, one, "median_us") for one in (PLAIN, way))
            if not overlap(plain, ours):
                differs.append(f"{signed(middle(ours) / middle(plain) - 1)} with {kb} KB")
        if differs:
            parts.append(f"- `{way}` changes the time of `{PLAIN}` by {markdown.joined(differs)}.")
        rest = len(BUFFERS) - len(differs)
        if rest:
            others = "other " if differs else ""
            parts.append(f"- The ranges of `{way}` and `{PLAIN}` overlap in {rest} {others}sizes.")
    said = "\n".join(parts)
    if real.cpus < PIN_CPUS:
        said += (
            f"\n\nWith {real.cpus} CPUs four waves cannot run at once, so this is not the thesis' "
            "experiment."
        )
    return said
