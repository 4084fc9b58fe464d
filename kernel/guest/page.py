# SPDX-License-Identifier: MIT
"""The page of results from the guest, docs/results/kernel.md: counts, not times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from pirn_tools import machine, paths
from pirn_tools.figures import markdown
from results import Part
from session import CACHE, ROOT
from traces import Situation

PAGE = ROOT / "docs/results/kernel.md"
SIZES = tuple(f"wavemix, {kb} KB" for kb in (4, 8, 16, 32, 64))
RELAYS = ("relay", "relay, work after the wake-up", "relay, real-time threads")
PLACES = ("at_waker", "at_producer", "apart", "moves")
COUNTERS = ("here", "elsewhere", "pushed", "standard", "late", "next", "migrations", "inferred")

INTRO = """\
The [scheduler for Linux](../guide/kernel.md) and Linux's own in a guest with four CPUs. The guest's
clock counts instructions, and its CPUs take turns on one of this computer's. So this page has
counts of what threads did and where, and no times. Runs differ slightly.

`EEVDF` is Linux's default, `SCHED_FIFO` its real-time class; `none`, `old` and `new` are the
[rules](../guide/kernel.md#rules) with the declared producers, `new, inferred` with learned ones."""

WAVEMIX = """\
In [wavemix](../../apps/README.md) four waves fill a buffer each, mixer0 and mixer1 read two of
these each, and mixer2 reads theirs: {samples} samples, after {warmup} that do not count. It
declares who reads from whom, but not under `EEVDF`, `SCHED_FIFO` and `new, inferred`."""


@dataclass(frozen=True)
class Played:
    """A situation of steps.toml in the guest."""

    situation: Situation
    plays: str  # how many counted
    bad: list[str]


Found = dict[tuple[str, str], Part]  # by program and scheduler


def _find(parts: Sequence[Part]) -> Found:
    found = {}
    for p in parts:
        program, bar, scheduler = p.name.partition("|")
        if bar:
            found[program, scheduler] = p
    return found


def _schedulers(found: Found) -> list[str]:
    return list(dict.fromkeys(scheduler for _, scheduler in found))


def _by_size(found: Found, cell: Callable[[Part], str]) -> str:
    head = ["", *(size.removeprefix("wavemix, ") for size in SIZES)]
    rows = [[s, *(cell(found[size, s]) for size in SIZES)] for s in _schedulers(found)]
    return markdown.table(head, rows)


def _share(p: Part) -> float:
    return int(p.values["with_producer"]) / int(p.values["mixers"])


def _percent(p: Part) -> str:
    return f"{100 * _share(p):.0f} %"


def _migrations(p: Part) -> str:
    return p.values["migrations"]


def _counted(found: Found, programs: Sequence[str]) -> str:
    """The scheduler's counters, for its rules."""
    rows = []
    for program in programs:
        for scheduler in _schedulers(found):
            counters = found[program, scheduler].counters
            if counters:
                name = program.removeprefix("wavemix, ")
                rows.append([name, scheduler, *(str(counters[key]) for key in COUNTERS)])
    return markdown.table(["buffers", "rule", *COUNTERS], rows, left=(0, 1))


def _relay(found: Found, program: str) -> str:
    rows = []
    for scheduler in _schedulers(found):
        p = found[program, scheduler]
        counters = [str(p.counters.get(key, "")) for key in COUNTERS]
        rows.append([scheduler, *(p.values[key] for key in PLACES), *counters])
    return markdown.table(["", *PLACES, *COUNTERS], rows)


def _span(values: Sequence[float], unit: str = "") -> str:
    least, most = min(values), max(values)
    words = f"{least:.0f}" if round(least) == round(most) else f"{least:.0f} to {most:.0f}"
    return f"{words}{unit}"


def _in_short(found: Found) -> str:
    """Shares and migrations over the sizes of buffers, for each scheduler."""
    lines = []
    for scheduler in _schedulers(found):
        runs = [found[size, scheduler] for size in SIZES]
        shares = _span([100 * _share(p) for p in runs], " %")
        moves = _span([float(p.values["migrations"]) for p in runs])
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


def text(parts: Sequence[Part], played: Sequence[Played], facts: dict[str, str]) -> str:
    found = _find(parts)
    one = found[SIZES[0], "EEVDF"].values
    sections = [
        "<!-- SPDX-License-Identifier: MIT -->\n"
        "<!-- Written by `make kernel-doc`: change kernel/guest/page.py. -->\n"
        "# Task affinity in Linux",
        INTRO,
        markdown.facts(facts),
        "## wavemix",
        WAVEMIX.format(**one),
        "Mixers that ran on a CPU where one of their inputs had been made for the same sample, and "
        "threads that ran on another CPU than for the sample before, over all sizes of buffers:",
        _in_short(found),
        f"Mixers where an input had been made, of {one['mixers']} runs:",
        _by_size(found, _percent),
        "Migrations, of all seven threads:",
        _by_size(found, _migrations),
        "What the scheduler [counted](../guide/kernel.md#counters), with the samples before:",
        _counted(found, SIZES),
        "## relay",
        "The program of the [guide](../guide/kernel.md#in-a-guest), whose threads pass on no data. "
        "The first columns are what it saw: a consumer on the CPU of the thread that woke it, on "
        "that of another producer, or apart from both; threads that ran elsewhere than before.",
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


def write(build: Path, parts: Sequence[Part], played: Sequence[Played]) -> None:
    facts = {
        "command": "`make kernel-doc`",
        "commit": machine.commit(ROOT),
        "kernel": (CACHE / "linux/name").read_text().strip(),
        "guest": f"4 CPUs, {machine.first_line('qemu-system-x86_64', '--version')}",
        "compiler": machine.compiler(build),
    }
    PAGE.write_text(text(parts, played, facts), encoding="utf-8")
    click.echo(f"page: {paths.short(PAGE)}")
