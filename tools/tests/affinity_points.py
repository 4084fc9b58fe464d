# SPDX-License-Identifier: MIT
"""Runs that are made up, for tests of the pages of `pirn bench figures affinity`."""

from __future__ import annotations

from pirn_tools.figures import affinity_model, affinity_page
from pirn_tools.figures import affinity_real as real_runs
from pirn_tools.figures import affinity_thesis as thesis
from pirn_tools.figures.affinity_model import (
    DECLARED,
    FLAT,
    OLD,
    PLAIN,
    SERIAL,
    TASKS,
    Case,
    Point,
    wavemix,
)
from pirn_tools.figures.affinity_real import Real
from pirn_tools.figures.affinity_schedules import Seen
from pirn_tools.figures.affinity_survey import Survey
from pirn_tools.figures.affinity_thesis import BUFFERS

HEAD = "workload,topology,buffer,samples,seed,thread,mean_ns,sigma_ns,a2s_ns,migrations"


def printed(mean: float, migrations: int = 300) -> str:
    """Two seeds of wavemix; the second takes longer by 2 us."""
    lines = [HEAD]
    for seed in (1, 2):
        for number, task in enumerate(TASKS):
            lines.append(f"wavemix,i7,4096,100,{seed},{task},{1000 * (number + 1)},10,20,1")
        took = 1000 * mean + 2000 * (seed - 1)
        lines.append(f"wavemix,i7,4096,100,{seed},all,{took},1000,{took + 2000},{migrations}")
    return "\n".join(lines) + "\n"


def point(way: str, mean: float, topology: str = "i7", kb: int = 4, migrations: int = 300) -> Point:
    return affinity_model.parse(wavemix(way, topology, kb), printed(mean, migrations))


def timed(median: float) -> dict[str, float]:
    return {
        "mean_us": median + 1,
        "sigma_us": 2.0,
        "variance": 4.0,
        **{task: float(at + 1) for at, task in enumerate(TASKS)},
        **dict.fromkeys(real_runs.PLACED, 0.5),
        "a2s_us": median + 5,
        "median_us": median,
        "migrations": 0.5,
        "l1_read_misses": 70.0,
        "llc_misses": 7.0,
    }


def measured(load: str, no_counters: str = "the kernel has none") -> Real:
    left_out = dict.fromkeys(real_runs.PINNED, "needs 4 CPUs")
    runs = {
        (kb, way): [timed(10.0 if way == PLAIN else 9.0), timed(11.0 if way == PLAIN else 9.5)]
        for kb in BUFFERS
        for way in real_runs.WAYS
        if way not in left_out
    }
    prices = {
        (rule, n): 700.0 + (0 if rule == PLAIN else 100 + 30 * n)
        for rule in real_runs.RULES
        for n in real_runs.PRODUCERS
    }
    posts = {key: [value / 20] for key, value in prices.items()}
    counters = {"affinity-learned": 10.0, "affinity-declared": 8.0}
    learned = {
        "sem": [{**counters, "affinity-agreed": 8.0}],
        "cond": [{**counters, "affinity-agreed": agreed} for agreed in (2.0, 5.0)],
    }
    return Real(runs, left_out, learned, posts, prices, load, 2, no_counters)


COUNTS = (
    *("switches", "reads", "memory_ns", "runtime_memory_ns", "idle_ns", "steals"),
    *("from_core", "from_far", "from_far_memory"),
    *(f"{level}_{what}_misses" for level in ("l1", "l2", "llc") for what in ("read", "write")),
    *(f"affinity-{name}" for name in ("here", "there", "standard", "pushes", "push-ns", "pulls")),
    *(f"affinity-{name}" for name in ("late", "pull-ns", "learned", "declared", "agreed")),
)


def whole_point(case: Case) -> Point:
    """A declared rule takes 40 us, old ones 60, a serial run 100, all others 50."""
    means = {DECLARED: 40.0, OLD: 60.0, SERIAL: 100.0}
    mean = means.get(case.way.removesuffix(FLAT), 50.0)
    head, *lines = printed(mean).splitlines()
    text = "\n".join(
        [f"{head},{','.join(COUNTS)}", *(line + ",100" * len(COUNTS) for line in lines)]
    )
    return affinity_model.parse(case, text)


SURVEY = Survey({}, [(11.0, 18.0)], [(5, 9)])


SEEN = {
    (topology, way): Seen(0.5, {3: 0.75, 4: 0.25})
    for topology in thesis.TOPOLOGIES
    for way in (PLAIN, OLD, DECLARED)
}


def whole_page() -> str:
    found = {case: whole_point(case) for case in affinity_model.plan()}
    return affinity_page.page(found, measured("9, 9, 9"), SURVEY, SEEN, {"command": "none"})


def claimed(text: str, said: str) -> str:
    """The row of a table that begins with this."""
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {said}"))
    return line
