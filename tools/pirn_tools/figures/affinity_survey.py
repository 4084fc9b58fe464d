# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: chapter 2 of the thesis, a survey of policies that
know caches. Pirn's `gate`, `groups` and `fair` are these policies; programs of the tests take them
through what the text says, step by step, and name the steps that fail."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.figures.affinity_words import Claim, claims, judged

SECONDS = 600  # for a program, on a loaded machine
DEMAND, FAIR, SHARED = "demand-steps", "fair-steps", "sim-shared"
PROGRAMS: Mapping[str, Path] = {
    DEMAND: Path("tests") / "unit" / "pirn-demand-steps",
    FAIR: Path("tests") / "unit" / "pirn-fair-steps",
    SHARED: Path("tests") / "sim" / "model" / "pirn-sim-shared",
}


@dataclass(frozen=True)
class Step:
    """What the thesis says, and the scenes of a program that show it."""

    said: str
    here: str
    program: str
    scenes: tuple[str, ...]  # as the program names them where they fail
    agrees: str = "yes"  # if none fails: "in part" where `here` says what differs


STEPS = (
    Step(
        "Figure 2.4, Table 2.1, fixed priorities: at time 0 J4 waits, because J3 goes before it "
        "and does not fit",
        "`gate`: so; and the schedule of the table up to time 8, worked out by hand, with 3 and "
        "more CPUs",
        DEMAND,
        ("T1 to T4 are released", "the schedule of Table 2.1"),
    ),
    Step(
        "Figure 2.5: late threads go first, by deadline; then the smallest working set, which is "
        "promoted and stays the next one",
        "`gate:order=edf`: so, but a smaller one that becomes ready later goes before it",
        DEMAND,
        ("threads are late", "nobody is late"),
        "in part",
    ),
    Step(
        "A thread from the promotion queue runs only if it fits, else the core stays idle; late "
        "threads run by deadline alone, whether they fit or not",
        "`gate:order=edf`: so without late threads; a late one that does not fit waits, too, and "
        "nothing overtakes it, since `gate` never gives out more than the cache has",
        DEMAND,
        ("nobody is late", "a late thread does not fit"),
        "in part",
    ),
    Step(
        "A working set is measured as misses times the line; measures of jobs that thrash are "
        "dropped",
        "`gate:working-set=measure`: so; measures are smoothed, and eight such jobs in a row count "
        "as the whole cache",
        DEMAND,
        ("a working set is measured", "jobs thrash", "a measured working set"),
    ),
    Step(
        "Figure 2.8: the fair miss rate comes from a linear regression over ten samples or more",
        "`fair`: so; with nine nothing is corrected",
        FAIR,
        ("samples on a line", "a falling line", "a slice ends"),
    ),
    Step(
        "Figure 2.7: a thread that does not get its share of the cache has longer slices, its "
        "co-runner shorter ones",
        "`fair`: so, at most twice and at least half as long, in whole ticks",
        FAIR,
        ("a slice ends", "corrections", "slices of one tick"),
    ),
    Step(
        "Figure 2.10: each sharing group belongs to one CPU",
        "`groups:home=cpu`: so",
        DEMAND,
        ("groups have homes",),
    ),
    Step(
        "Figure 2.9: tasks that run at once belong to different groups, if they fit; if none "
        "fits, the smallest runs",
        "`groups`: so; a CPU chooses beside what the others run, not all combinations at once",
        DEMAND,
        ("rule 1", "rule 2", "rule 3", "no group fits"),
    ),
)


@dataclass(frozen=True)
class Survey:
    """What the programs said."""

    failed: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by program: scenes
    losses: Sequence[tuple[float, float]] = ()  # of each seed, percent: with fair, equal slices
    misses: Sequence[tuple[int, int]] = ()  # of each seed: measuring, with an open gate


def run(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [str(path), *arguments], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{path.name} hangs ({SECONDS} s)") from None


def failures(text: str, status: int, name: str, scenes: Sequence[str]) -> list[str]:
    """The scenes that failed. A program that fails in another way ends the run."""
    found = [
        scene for scene in scenes if re.search(rf"^FAILED {re.escape(scene)}: ", text, re.MULTILINE)
    ]
    if status != 0 and not found:
        last = text.strip().splitlines()[-1:]
        raise UserError("\n".join([f"status {status}: {name}", *last]))
    return found


def parse_shared(text: str) -> tuple[list[tuple[float, float]], list[tuple[int, int]]]:
    losses = re.findall(r"neighbour costs ([0-9.]+) %, with equal slices ([0-9.]+) %", text)
    misses = re.findall(r"misses (\d+), without measuring (\d+)", text)
    return (
        [(float(one), float(other)) for one, other in losses],
        [(int(one), int(other)) for one, other in misses],
    )


def measure(build: Path) -> Survey:
    failed = {}
    for name in (DEMAND, FAIR):
        done = run(build / PROGRAMS[name])
        scenes = [scene for step in STEPS if step.program == name for scene in step.scenes]
        failed[name] = failures(done.stderr, done.returncode, name, scenes)
    # Its figures are the result, whether or not they are as its checks want them.
    losses, misses = parse_shared(run(build / PROGRAMS[SHARED]).stdout)
    if not losses or not misses:
        raise UserError(f"{SHARED} printed no figures")
    return Survey(failed, losses, misses)


def section(found: Survey) -> list[str]:
    each = []
    for step in STEPS:
        wrong = [scene for scene in step.scenes if scene in found.failed.get(step.program, ())]
        here = f"failed: {', '.join(wrong)}" if wrong else step.here
        each.append(Claim(step.said, f"{here} (`{step.program}`)", "no" if wrong else step.agrees))
    by_seed = "; ".join(f"{one:.1f} % and {other:.1f} %" for one, other in found.losses)
    each.append(
        Claim(
            "Figure 2.7: so a thread's progress does not depend on how the cache is shared",
            f"on the model a hungry neighbour costs {by_seed} of the progress, by seed, with "
            f"`fair` and with equal slices (`{SHARED}`); less with `fair` is in part",
            "in part" if all(one < other for one, other in found.losses) else "no",
        )
    )
    by_seed = "; ".join(f"{one:,} and {other:,}" for one, other in found.misses)
    each.append(
        Claim(
            "Working sets that fit avoid thrashing",
            f"misses of all jobs by seed, with measured working sets and with an open gate: "
            f"{by_seed} (`{SHARED}`)",
            judged([one < other for one, other in found.misses]),
        )
    )
    return [
        "## Chapter 2: policies of others",
        "The thesis surveys policies that know caches. Three of them are policies here "
        "([cache-aware.md](../guide/cache-aware.md)), and programs of the tests take them through "
        "what the text says. Figures 2.1 to 2.3 and 2.6 are about processors, not about policies.",
        claims(each),
    ]
