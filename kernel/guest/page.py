# SPDX-License-Identifier: MIT
"""Writes docs/results/kernel.md, a page of counts, from what the guest's runs have left.

    page.py [--build DIR]

`make kernel-doc` runs the guest first.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from pirn_tools import machine, paths
from pirn_tools.figures import markdown
from results import read_cell, several, spread
from session import HERE, ROOT
from traces import Situation, situations

PAGE = ROOT / "docs/results/kernel.md"
RESULTS = "results.json"
SIZES = tuple(f"wavemix, {kb} KB" for kb in (4, 8, 16, 32, 64))
RELAYS = ("relay", "relay, work after the wake-up", "relay, real-time threads")
PLACES = ("at_waker", "at_producer", "apart", "moves")
COUNTERS = ("here", "elsewhere", "pushed", "standard", "late", "next", "migrations", "inferred")

INTRO = """\
The [scheduler for Linux](../guide/kernel.md) and Linux's own in a guest with four CPUs. The guest's
clock counts instructions, and its CPUs take turns on one of this computer's. So this page has
counts of what threads did and where, and no times. {rounds}

`EEVDF` is Linux's default, `SCHED_FIFO` its real-time class; `none`, `old` and `new` are the
[rules](../guide/kernel.md#rules) with the declared producers, `new, inferred` with learned ones.
Of wavemix there are also runs in which the waves, or all threads, are tied to the CPUs of the
thesis' Table 3.2 (`wavemix --pin`)."""

WAVEMIX = """\
In [wavemix](../../apps/README.md) four waves fill a buffer each, mixer0 and mixer1 read two of
these each, and mixer2 reads theirs: {samples} samples, after {warmup} that do not count. It
declares who reads from whom, except under Linux's own schedulers and `new, inferred`."""


@dataclass(frozen=True)
class Played:
    """A situation of steps.toml in the guest."""

    situation: Situation
    plays: str  # how many counted
    bad: list[str]


@dataclass(frozen=True)
class Run:
    """Of a program under a scheduler."""

    values: dict[str, str]
    counters: dict[str, int]


Found = dict[tuple[str, str], list[Run]]  # by program and scheduler: the rounds


def read_json(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {"parts": {}, "situations": {}}
    found: dict[str, dict[str, Any]] = json.loads(path.read_text())
    return found


def _find(parts: dict[str, Any]) -> Found:
    found: Found = {}
    for name, part in parts.items():
        cell = read_cell(name)
        if cell is not None and cell.program in (*SIZES, *RELAYS):
            if part["status"] != 0:
                raise click.ClickException(f"{name}: status {part['status']}")
            found.setdefault(cell.of_rounds, []).append(Run(part["values"], part["counters"]))
    for programs in (SIZES, RELAYS):
        for program in programs:
            for scheduler in _schedulers(found, programs):
                if (program, scheduler) not in found:
                    raise click.ClickException(f"{program}, {scheduler}: not run")
    if not found:
        raise click.ClickException("no program has run; run kernel/guest/run.py")
    return found


def _played(kept: dict[str, Any]) -> list[Played]:
    found = []
    for one in situations(HERE / "steps.toml"):
        if one.name not in kept:
            raise click.ClickException(f"{one.name}: not played; run kernel/guest/run.py")
        found.append(Played(one, kept[one.name]["plays"], kept[one.name]["bad"]))
    return found


def _schedulers(found: Found, programs: Sequence[str]) -> list[str]:
    """Those under which one of these programs has run."""
    each = (scheduler for program, scheduler in found if program in programs)
    return list(dict.fromkeys(each))


def _by_size(found: Found, value: Callable[[Run], float], unit: str = "") -> str:
    head = ["", *(size.removeprefix("wavemix, ") for size in SIZES)]
    rows = [
        [s, *(spread([value(run) for run in found[size, s]], unit) for size in SIZES)]
        for s in _schedulers(found, SIZES)
    ]
    return markdown.table(head, rows)


def _percent(p: Run) -> float:
    return 100 * int(p.values["with_producer"]) / int(p.values["mixers"])


def _migrations(p: Run) -> float:
    return float(p.values["migrations"])


def _counters(runs: Sequence[Run]) -> list[str]:
    """Medians. Empty: not a scheduler that counts."""
    return [
        f"{statistics.median(run.counters[key] for run in runs):.0f}" if runs[0].counters else ""
        for key in COUNTERS
    ]


def _counted(found: Found, programs: Sequence[str]) -> str:
    """The scheduler's counters, for its rules."""
    rows = []
    for program in programs:
        for scheduler in _schedulers(found, programs):
            runs = found[program, scheduler]
            if runs[0].counters:
                name = program.removeprefix("wavemix, ")
                rows.append([name, scheduler, *_counters(runs)])
    return markdown.table(["buffers", "rule", *COUNTERS], rows, left=(0, 1))


def _relay(found: Found, program: str) -> str:
    rows = []
    for scheduler in _schedulers(found, RELAYS):
        runs = found[program, scheduler]
        places = [several([run.values[key] for run in runs]) for key in PLACES]
        rows.append([scheduler, *places, *_counters(runs)])
    return markdown.table(["", *PLACES, *COUNTERS], rows)


def _span(values: Sequence[float], unit: str = "") -> str:
    least, most = min(values), max(values)
    words = f"{least:.0f}" if round(least) == round(most) else f"{least:.0f} to {most:.0f}"
    return f"{words}{unit}"


def _in_short(found: Found) -> str:
    """Shares and migrations over the sizes of buffers and all rounds, for each scheduler."""
    lines = []
    for scheduler in _schedulers(found, SIZES):
        runs = [run for size in SIZES for run in found[size, scheduler]]
        shares = _span([_percent(p) for p in runs], " %")
        moves = _span([_migrations(p) for p in runs])
        lines.append(f"- `{scheduler}`: {shares} of the mixers' runs, {moves} migrations.")
    return "\n".join(lines)


def _steps(played: Sequence[Played]) -> str:
    rows = [
        [one.situation.title, str(len(one.situation.lines)), "differs" if one.bad else "the same",
         one.plays]
        for one in played
    ]  # fmt: skip
    head = ["situation", "lines", "the trace and the rule", ""]
    return markdown.table(head, rows, left=(0, 2, 3))


def _rounds(found: Found) -> str:
    numbers = sorted({len(runs) for runs in found.values()})
    if numbers == [1]:
        return "This is one run of each: how\nmuch another one would differ is not known."
    each = " or ".join(str(number) for number in numbers)
    return (
        f"Runs differ: a\nfigure is the median of {each} runs, "
        "with the least and the greatest in brackets."
    )


def text(found: Found, played: Sequence[Played], facts: dict[str, str]) -> str:
    one = found[SIZES[0], "EEVDF"][0].values
    sections = [
        "<!-- SPDX-License-Identifier: MIT -->\n"
        "<!-- Written by `make kernel-doc`: change kernel/guest/page.py. -->\n"
        "# Task affinity in Linux",
        INTRO.format(rounds=_rounds(found)),
        markdown.facts(facts),
        "## wavemix",
        WAVEMIX.format(**one),
        "Mixers that ran on a CPU where one of their inputs had been made for the same sample, and "
        "threads that ran on another CPU than for the sample before, over all sizes of buffers and "
        "all runs:",
        _in_short(found),
        f"Mixers where an input had been made, of {one['mixers']} runs:",
        _by_size(found, _percent, " %"),
        "Migrations, of all seven threads:",
        _by_size(found, _migrations),
        "What the scheduler [counted](../guide/kernel.md#counters), in all 110 samples, medians:",
        _counted(found, SIZES),
        "## relay",
        "The program of the [guide](../guide/kernel.md#in-a-guest), whose threads pass on no data. "
        "The first columns are what it saw: a consumer on the CPU of the thread that woke it, on "
        "that of another producer, or apart from both; threads that ran elsewhere than before. The "
        "others are the scheduler's counters, medians.",
    ]
    for program in RELAYS:
        sections += [f"{program.capitalize()}:", _relay(found, program)]
    sections += [
        "## Step by step",
        "Situations of the thesis, played with real threads in the guest (`kernel/guest/steps.c`). "
        "Each line of the scheduler's trace, of the threads that it places, is compared with what "
        "the rule says (`kernel/guest/steps.toml`). A play in which another thread of the system "
        "ran does not count.",
        _steps(played),
    ]
    return "\n\n".join(sections) + "\n"


def _made(kept: dict[str, dict[str, Any]], what: str) -> str:
    """The commit or the kernel of all results; several if runs were made with several."""
    entries = [*kept["parts"].values(), *kept["situations"].values()]
    return markdown.joined(list(dict.fromkeys(entry[what] for entry in entries)))


@click.command(help=__doc__)
@click.option("--build", type=click.Path(path_type=Path), default=ROOT / "build/kernel")
def main(build: Path) -> None:
    kept = read_json(build / "guest" / RESULTS)
    found, played = _find(kept["parts"]), _played(kept["situations"])
    facts = {
        "command": "`make kernel-doc`",
        "commit": _made(kept, "commit"),
        "kernel": _made(kept, "kernel"),
        "guest": f"4 CPUs, {machine.first_line('qemu-system-x86_64', '--version')}",
        "compiler": machine.compiler(build),
    }
    PAGE.write_text(text(found, played, facts), encoding="utf-8")
    click.echo(f"page: {paths.short(PAGE)}")


if __name__ == "__main__":
    main()
