# SPDX-License-Identifier: MIT
"""The page of results, docs/results/world.md."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pirn_tools.world.compare import NPTL, PIRN, Outcome
from pirn_tools.world.plan import Program

HEAD = """<!-- SPDX-License-Identifier: MIT -->
<!-- Written by `make world`; apps/world/*.toml say what is run. -->
# Programs of Debian

Debian's own binaries, unpacked and not installed ([how](../../apps/world/README.md)), with the
system's threads (NPTL) and with `libpirn-pthread` preloaded, default options.
"""

LEGEND = """Wall and CPU time in seconds with NPTL, then time with Pirn / time with NPTL: medians of
{rounds} rounds, in turn; below 1, Pirn is faster. Servers: the time of the load, the CPU time of
the server. The output has the same bytes as with NPTL (*same*), or has a property that apps/world
states (*stated*). With a load above the number of CPUs, differences of some tens of percent are
chance."""


@dataclass(frozen=True)
class Row:
    """One program: how it ran, or why it did not."""

    program: Program
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    missing: str = ""

    @property
    def not_run(self) -> str:
        """Why it says nothing about Pirn: no package, or it fails with the system's threads."""
        if self.missing:
            return self.missing
        failure = self.outcomes[NPTL].failure
        return f"it fails with the system's threads as well ({failure})" if failure else ""

    @property
    def failure(self) -> str:
        return "" if self.not_run else self.outcomes[PIRN].failure

    def passed(self) -> bool:
        return not self.not_run and not self.failure


def unexpected(rows: Sequence[Row]) -> list[str]:
    """What makes the command fail."""
    found = [
        f"{one.program.name} was not run with Pirn: {one.not_run}" for one in rows if one.not_run
    ]
    bad = [one for one in rows if one.failure and not one.program.known]
    return found + [f"{one.program.name} with Pirn: {one.failure}" for one in bad]


def ratio(row: Row, what: str) -> float:
    """Pirn's median / NPTL's; what: seconds or cpu. NaN if there is none."""
    medians = [statistics.median(getattr(row.outcomes[name], what)) for name in (PIRN, NPTL)]
    return medians[0] / medians[1] if medians[1] else math.nan


def mean(rows: Sequence[Row], what: str) -> float:
    """The geometric mean of the ratios."""
    ratios = [ratio(row, what) for row in rows]
    logs = [math.log(one) for one in ratios if one > 0]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def cells(words: Sequence[str]) -> str:
    return "| " + " | ".join(words).replace("\n", " ") + " |"


def number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def table(rows: Sequence[Row]) -> list[str]:
    head = ["program", "kind", "threads", "NPTL, wall", "CPU", "wall", "CPU", "output"]
    lines = [cells(head), cells([*["---"] * 3, *["--:"] * 4, "---"])]
    for row in rows:
        one = row.program
        words = [one.name, one.kind, one.threads]
        if row.not_run:
            words += ["-"] * 4 + ["not run"]
        else:
            base = row.outcomes[NPTL]
            words += [f"{statistics.median(each):.2f}" for each in (base.seconds, base.cpu)]
            if row.failure:
                words += ["-", "-", "**fails**"]
            else:
                words += [number(ratio(row, what)) for what in ("seconds", "cpu")]
                words.append("stated" if one.says else "same")
        lines.append(cells(words))
    return lines


def summary(rows: Sequence[Row]) -> str:
    passed = [row for row in rows if row.passed()]
    failed = sum(bool(row.failure) for row in rows)
    absent = sum(bool(row.not_run) for row in rows)
    text = f"{len(rows)} programs: {len(passed)} pass, {failed} fail, {absent} not run."
    if passed:
        wall, cpu = (number(mean(passed, what)) for what in ("seconds", "cpu"))
        text += f" Geometric means of the ratios: wall {wall}, CPU {cpu}."
    return text


def reasons(rows: Sequence[Row]) -> list[str]:
    lines = [
        f"- **{row.program.name}**: {row.failure}. Why: {row.program.known or 'not yet known'}."
        for row in rows
        if row.failure
    ]
    lines += [
        f"- {row.program.name} was not run with Pirn: {row.not_run}." for row in rows if row.not_run
    ]
    return lines or ["None."]


def versions(rows: Sequence[Row], packages: Mapping[str, Sequence[str]]) -> list[str]:
    """Of the packages that the list names."""
    lines = []
    for row in rows:
        found = [
            one.replace("=", " ")
            for one in packages.get(row.program.name, ())
            if one.split("=")[0] in row.program.packages
        ]
        if found:
            lines.append(f"- {row.program.name}: {', '.join(found)}")
    return lines


def page(
    rows: Sequence[Row],
    packages: Mapping[str, Sequence[str]],
    rounds: int,
    about: Sequence[str],
) -> str:
    parts = [HEAD, *(f"- {one}" for one in about), "", LEGEND.format(rounds=rounds), ""]
    parts += [summary(rows), "", *table(rows), "", "## What fails", "", *reasons(rows), ""]
    parts += ["## Versions", "", "Of packages; programs that are not named here are the machine's."]
    parts += ["", *versions(rows, packages)]
    return "\n".join(parts).rstrip() + "\n"


def csv(rows: Sequence[Row]) -> str:
    """Every sample."""
    lines = ["program,kind,threads,round,seconds,cpu_seconds,failure"]
    for row in rows:
        for name, outcome in row.outcomes.items():
            failure = outcome.failure.replace('"', "'")
            for round_, pair in enumerate(zip(outcome.seconds, outcome.cpu, strict=True)):
                times = ",".join(f"{one:.6f}" for one in pair)
                words = [row.program.name, row.program.kind, name, str(round_), times]
                lines.append(",".join([*words, f'"{failure}"']))
    return "\n".join(lines) + "\n"
