# SPDX-License-Identifier: MIT
"""The tables of docs/results/programs.md."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pirn_tools.programs.compare import Outcome
from pirn_tools.programs.plan import Program, Run
from pirn_tools.programs.sources import Source

HEAD = """<!-- SPDX-License-Identifier: MIT -->
<!-- Written by `make programs`; apps/programs/programs.toml says what is run. -->
# Programs of others

These programs are built from Debian's source packages, unchanged; only a flag of the linker puts
`libpirn-pthread` before the C library ([how](../../apps/programs/README.md)). Every run writes the
same bytes as with the C library's threads (NPTL), or is marked as failing.
"""

LEGEND = """Milliseconds with NPTL, then time with Pirn / time with NPTL: medians of {rounds}
rounds, in turn, on {cpus} CPUs; below 1, Pirn is faster. The system's load was {load} at the
start: above the number of CPUs, differences of some tens of percent are chance."""

LINKED = "`no ticks` is `steal` with `PIRN_PREEMPT=0`; workers: one a CPU."
PRELOADED = """Debian's own binaries, with the library preloaded (`pirn run`),
policy `steal`."""


@dataclass(frozen=True)
class Row:
    """One run of one program."""

    program: Program
    source: Source
    run: Run
    outcomes: list[Outcome]

    def of(self, family: str) -> list[Outcome]:
        return [one for one in self.outcomes if one.configuration.family == family]


def milliseconds(outcome: Outcome) -> str:
    if outcome.failure:
        return "**fails**"
    return f"{statistics.median(outcome.seconds) * 1000:,.0f}"


def ratio(outcome: Outcome, reference: Outcome) -> str:
    if outcome.failure:
        return "**fails**"
    base = statistics.median(reference.seconds)
    return f"{statistics.median(outcome.seconds) / base:.2f}" if base else "-"


def table(rows: Sequence[Row], reference: str, family: str) -> list[str]:
    names = [one.configuration.name for one in rows[0].of(family)]
    head = ["program", "run", "NPTL", *names]
    lines = [cells(head), cells(["---", "---", *["--:"] * (len(names) + 1)])]
    for row in rows:
        base = row.of(reference)[0]
        ratios = [ratio(one, base) for one in row.of(family)]
        lines.append(cells([row.program.name, row.run.what, milliseconds(base), *ratios]))
    return lines


def cells(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"


def failures(rows: Sequence[Row]) -> list[str]:
    """Each way to fail once, with where it was seen, and the reason that programs.toml gives."""
    seen: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for one in row.outcomes:
            if one.failure:
                why = row.program.fails.get(one.configuration.family, "not expected")
                where = seen.setdefault((row.program.name, one.failure, why), [])
                where.append(f"{one.configuration.name} ({row.run.what})")
    return [
        f"- **{name}**: {failure}. Why: {why}. Seen under {', '.join(where)}."
        for (name, failure, why), where in seen.items()
    ]


def programs(rows: Sequence[Row]) -> list[str]:
    lines = [cells(["program", "source package", "threads"]), cells(["---"] * 3)]
    done = []
    for row in rows:
        if row.program.name not in done:
            done.append(row.program.name)
            note = f" ({row.source.note})" if row.source.note else ""
            package = f"{row.program.package} {row.source.version}{note}"
            lines.append(cells([row.program.name, package, row.program.language]))
    return lines


def page(rows: Sequence[Row], rounds: int, load: float) -> str:
    legend = LEGEND.format(rounds=rounds, cpus=len(os.sched_getaffinity(0)), load=f"{load:.1f}")
    failed = failures(rows) or ["None."]
    parts = [
        HEAD,
        *programs(rows),
        "",
        "## Linked with libpirn-pthread",
        "",
        f"{legend} {LINKED}",
        "",
        *table(rows, "nptl", "pirn"),
        "",
        "## Preloaded",
        "",
        PRELOADED,
        "",
        *table(rows, "installed", "preload"),
        "",
        "## What fails",
        "",
        *failed,
    ]
    return "\n".join(parts) + "\n"


def csv(rows: Sequence[Row]) -> str:
    """Every sample."""
    lines = ["program,run,family,configuration,round,seconds,cpu_seconds,failure"]
    for row in rows:
        for one in row.outcomes:
            for number, (seconds, cpu) in enumerate(zip(one.seconds, one.cpu, strict=True)):
                what = [row.program.name, f'"{row.run.what}"', one.configuration.family]
                what += [one.configuration.name, str(number), f"{seconds:.6f}", f"{cpu:.6f}"]
                lines.append(",".join([*what, f'"{one.failure}"']))
    return "\n".join(lines) + "\n"
