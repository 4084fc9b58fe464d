# SPDX-License-Identifier: MIT
"""Pictures of `pirn bench figures affinity`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.figures import markdown
from pirn_tools.figures.affinity_model import (
    AUTO,
    DECLARED,
    FAMILIES,
    OLD,
    PIN_ALL,
    PIN_WAVES,
    PLAIN,
    Point,
    Points,
    wavemix,
)
from pirn_tools.figures.affinity_thesis import (
    BUFFERS,
    NEW_IMPROVEMENT,
    OLD_IMPROVEMENT,
    TABLES,
    TOPOLOGIES,
    Sample,
    improvement,
)
from pirn_tools.plotting import figure

DRAWN = (PLAIN, OLD, DECLARED, AUTO, "single", "single:affinity=declared", PIN_WAVES, PIN_ALL)
STYLES = {
    PLAIN: ("C0", "-"),
    OLD: ("C3", "-"),
    DECLARED: ("C2", "-"),
    AUTO: ("C2", ":"),
    "single": ("C4", "-"),
    "single:affinity=declared": ("C4", "--"),
    "dist": ("C1", "-"),
    "dist:affinity=declared": ("C1", "--"),
    PIN_WAVES: ("0.6", "--"),
    PIN_ALL: ("0.3", "--"),
}


@dataclass(frozen=True)
class Measure:
    """A picture for each machine: something by the size of the buffers."""

    name: str
    label: str
    value: Callable[[Point], float]
    by_kb: bool = False  # divided by the size of the buffers
    ways: Sequence[str] = DRAWN
    thesis: Callable[[Sample], float] | None = None


def count(name: str, *counters: str) -> Callable[[Point], float]:
    """Counters of the rule, by sample. A policy without affinity does not have them."""
    return lambda one: sum(counted(one, counter) for counter in (name, *counters))


def counted(one: Point, counter: str) -> float:
    known = one.seeds[0]["all"].get(counter)
    return one.by_sample(counter) if known else 0.0


def took(time: str, *counters: str) -> Callable[[Point], float]:
    """Nanoseconds of one; 0 if there is none."""

    def value(one: Point) -> float:
        number = sum(counted(one, counter) for counter in counters)
        return counted(one, time) / number if number else 0.0

    return value


def a_mean(one: Point | Sample) -> float:
    return one.mean


def a_sigma(one: Point | Sample) -> float:
    return one.sigma


TIMES = (
    Measure("mean", "mean time of a sample, µs by KB", a_mean, True, DRAWN, a_mean),
    Measure("sigma", "sigma of a sample's time, µs by KB", a_sigma, True, DRAWN, a_sigma),
)
COUNTS = (
    Measure("migrations", "migrations of a sample", lambda one: one.by_sample("migrations")),
    Measure("l1", "misses of the L1, by sample and KB", lambda one: one.misses("l1"), True),
    Measure(
        "llc", "misses of the last level, by sample and KB", lambda one: one.misses("llc"), True
    ),
)
RULES = (OLD, DECLARED, AUTO, "single:affinity=declared")
PULLED = ("affinity-pulls", "affinity-late")
MOVES = (
    Measure("pushes", "pushes of a sample", count("affinity-pushes"), ways=RULES),
    Measure(
        "push-ns", "time of a push, ns", took("affinity-push-ns", "affinity-pushes"), ways=RULES
    ),
    Measure("pulls", "pulls of a sample, late ones too", count(*PULLED), ways=RULES),
    Measure("pull-ns", "time of a pull, ns", took("affinity-pull-ns", *PULLED), ways=RULES),
)
MEASURES = (*TIMES, *COUNTS, *MOVES)


def file_of(measure: str, topology: str) -> str:
    return f"affinity-{measure}-{topology}.png"


def curves(found: Points, measure: Measure, topology: str) -> dict[str, list[float]]:
    """By way: a value for each size of the buffers."""
    return {
        way: [
            measure.value(found[wavemix(way, topology, kb)]) / (kb if measure.by_kb else 1)
            for kb in BUFFERS
        ]
        for way in measure.ways
    }


def is_empty(found: Points, measure: Measure, topology: str) -> bool:
    return not any(any(each) for each in curves(found, measure, topology).values())


def pictures(found: Points, measures: Sequence[Measure], topology: str) -> list[str]:
    """For the page. Where all is 0 it says so instead."""
    parts = []
    for one in measures:
        if is_empty(found, one, topology):
            parts.append(
                f"No picture of {one.label.split(',')[0]} on {topology}: all values are 0."
            )
        else:
            title = f"wavemix on {topology}: {one.label}"
            parts.append(markdown.picture(file_of(one.name, topology), title))
    return parts


def by_buffer(found: Points, measure: Measure, topology: str, path: Path) -> None:
    with figure(path, width=7.0, height=3.6) as axes:
        for way, each in curves(found, measure, topology).items():
            colour, style = STYLES[way]
            axes.plot(BUFFERS, each, color=colour, linestyle=style, marker="o", ms=4, label=way)
        if measure.thesis is not None:
            for title, mark, one in (("plain", "v", "plain"), ("new rule", "^", "affinity")):
                each = [measure.thesis(getattr(TABLES[topology][kb], one)) / kb for kb in BUFFERS]
                label = f"thesis, {title}"
                axes.plot(BUFFERS, each, color="k", linestyle=":", marker=mark, ms=5, label=label)
        axes.set_xscale("log", base=2)
        axes.set_xticks(BUFFERS, [f"{kb}" for kb in BUFFERS])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("KB of each buffer")
        axes.set_ylabel(measure.label, fontsize="small")
        axes.set_title(f"wavemix on {topology}", fontsize="medium", loc="left")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def improvements(found: Points, topology: str, path: Path) -> None:
    """Of A2S against the plain policy, the thesis' beside."""
    with figure(path, width=7.0, height=3.6) as axes:
        for plain, rules in FAMILIES.items():
            for way in rules:
                colour, style = STYLES[way]
                each = [
                    100
                    * improvement(
                        found[wavemix(way, topology, kb)].a2s,
                        found[wavemix(plain, topology, kb)].a2s,
                    )
                    for kb in BUFFERS
                ]
                axes.plot(BUFFERS, each, color=colour, linestyle=style, marker="o", ms=4, label=way)
        for title, table, mark in (
            ("thesis, old rule", OLD_IMPROVEMENT, "v"),
            ("thesis, new rule", NEW_IMPROVEMENT, "^"),
        ):
            each = [100 * table[topology][kb] for kb in BUFFERS]
            axes.plot(BUFFERS, each, color="k", linestyle=":", marker=mark, ms=5, label=title)
        axes.axhline(0, color="0.5", linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks(BUFFERS, [f"{kb}" for kb in BUFFERS])
        axes.set_xlabel("KB of each buffer")
        axes.set_ylabel("percent by which A2S is smaller than without affinity", fontsize="small")
        axes.set_title(f"wavemix on {topology}", fontsize="medium", loc="left")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def draw(found: Points, folder: Path) -> Sequence[Path]:
    """The pictures of measures; their paths."""
    made = []
    for topology in TOPOLOGIES:
        made.append(folder / file_of("a2s", topology))
        improvements(found, topology, made[-1])
        for measure in MEASURES:
            path = folder / file_of(measure.name, topology)
            if is_empty(found, measure, topology):
                path.unlink(missing_ok=True)  # of an earlier set
                continue
            made.append(path)
            by_buffer(found, measure, topology, path)
    return made
