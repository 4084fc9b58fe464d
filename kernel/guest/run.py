# SPDX-License-Identifier: MIT
"""Boots Linux in QEMU, runs programs under its schedulers and under Pirn's for sched_ext.

    run.py [--build DIR] [--only NAME]... [--rounds N] [--peer COMMAND]... [--no-checks]

Prints a table for each program of programs.toml, a trace of two consumers, which situations of
steps.toml went as the rule says, and the checks of checks.sh. Status 1: a run or a check failed, or
the boot took more than 30 s of CPU time. All output is in build/kernel/guest. `make kernel-guest`
builds everything first. --peer: the command of a program that loads another scheduler for
sched_ext, and keeps it loaded until SIGTERM; each gets a row in each table. --rounds: each program
runs so often under each scheduler, all of them in turn; the tables then have medians and ranges.
What ran is written to results.json there, beside what only earlier runs have run; page.py makes a
page of it.
"""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import either
import page
import traces
from machine import CLOCKS
from pirn_tools import machine
from pirn_tools.guest.image import Image
from results import Cell, Part, read_cell, several, table
from session import CACHE, HERE, ROOT, boot, end, kernel_name, part, require, small_image

PRELOAD = "LD_PRELOAD=/lib/libpirn-kernel.so"
SOURCED = ("checks.sh", "peer.sh", "steps.sh")
CHECKS = ("options", "loaded", "declared", "partial", "busy", "ejected", "undone")
OTHERS = ("trace", "steps", *CHECKS)  # what --only takes besides programs
SHOWN = 24  # lines of the trace
FIFO = "/usr/bin/chrt -f 10"


@dataclass(frozen=True)
class Scheduler:
    name: str
    load: str | None = None  # options of pirn-kernel load; None: Linux's own
    prefix: str = ""
    options: str = ""  # of wavemix, the only program that runs with them
    declared: bool = True
    peer: Path | None = None  # a program that loads a scheduler of others
    command: tuple[str, ...] = ()  # that starts it in the guest


SCHEDULERS = [
    Scheduler("EEVDF"),
    Scheduler("SCHED_FIFO", prefix=FIFO),
    Scheduler("SCHED_FIFO, waves pinned", prefix=FIFO, options="--pin=waves"),
    Scheduler("SCHED_FIFO, all pinned", prefix=FIFO, options="--pin=all"),
    Scheduler("none", "--rule=none"),
    Scheduler("old", "--rule=old"),
    Scheduler("new", "--rule=new"),
    Scheduler("new, inferred", "--rule=new --infer=on", declared=False),
]


@dataclass(frozen=True)
class Program:
    name: str
    file: str
    command: str
    undeclared: str
    values: list[str]
    samples: str = ""  # wavemix's table of samples, in the guest

    def runs_under(self, scheduler: Scheduler) -> bool:
        return not scheduler.options or bool(self.samples)


def read_peer(number: int, command: str) -> Scheduler:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise click.UsageError(f"--peer={command}: {error}") from None
    if not words or not Path(words[0]).is_file():
        raise click.UsageError(f'--peer={command}: there is no file "{"".join(words[:1])}"')
    path = Path(words[0])
    options = words[1:]
    there = (f"/peer/{number}/{path.name}", *options)
    return Scheduler(" ".join([path.name, *options]), declared=False, peer=path, command=there)


def read_programs(build: Path, only: tuple[str, ...]) -> list[Program]:
    listed = tomllib.loads((HERE / "programs.toml").read_text())["program"]
    programs = [Program(**entry) for entry in listed]
    unknown = set(only) - {program.name for program in programs} - set(OTHERS)
    if unknown:
        names = ", ".join([*(program.name for program in programs), *OTHERS])
        raise click.UsageError(f"--only={unknown.pop()}: not one of: {names}")
    chosen = [p for p in programs if not only or p.name in only]
    for program in chosen:
        if not (build / program.file).exists():
            click.echo(f"{program.name}: left out, there is no {build / program.file}")
    return [program for program in chosen if (build / program.file).exists()]


# ---- the script that the guest runs ----


def run_commands(program: Program, scheduler: Scheduler) -> list[str]:
    kept = ["status=$?", *([f"cat {program.samples}"] if program.samples else [])]
    if scheduler.peer is not None:
        run = [program.undeclared, *kept, "peer_end", "( exit $status ); }"]
        return [f"peer_begin {shlex.join(scheduler.command)} && {{", *run]
    if scheduler.load is None:
        words = (scheduler.prefix, program.undeclared, scheduler.options)
        return [" ".join(word for word in words if word), *kept, "( exit $status )"]
    command = program.command if scheduler.declared else program.undeclared
    return [
        f"pirn-kernel load {scheduler.load} && {{",
        f"{PRELOAD} {command}",
        *kept,
        "pirn-kernel counters",
        "pirn-kernel unload && ( exit $status ); }",
    ]


def trace_commands() -> list[str]:
    return [
        "pirn-kernel load",
        "pirn-kernel events --number=150 --seconds=5 >/tmp/events & watcher=$!",
        "usleep 200000",
        f"{PRELOAD} relay --rounds=20 --rt --affinity >/tmp/traced",
        "wait $watcher; status=$?",
        "cat /tmp/events",
        "pirn-kernel unload; ( exit $status )",
    ]


def trace_lines(only: tuple[str, ...], situations: list[traces.Situation]) -> list[str]:
    lines = []
    if not only or "trace" in only:
        lines += part("trace", trace_commands())
    if not only or "steps" in only:
        for one in situations:
            play = f"{one.name} {one.plays} {one.load}"
            lines += part(f"steps {one.name}", [f"steps_play pirn-kernel {play}"])
        for one in (one for one in situations if one.fault):
            options = f"{one.load} --slice=20000 --misbehave={one.fault}"
            play = f"{one.name} {traces.FAULT_PLAYS} {options}"
            lines += part(f"fault {one.name}", [f"steps_play pirn-kernel-faulty {play}"])
    return lines


def script(
    programs: list[Program],
    schedulers: list[Scheduler],
    traced: list[str],
    checks: list[str],
    rounds: int = 1,
) -> str:
    lines = ["# Written by run.py.", "ulimit -l unlimited"]
    lines += [f". /guest/{name}" for name in SOURCED]
    lines += part("system", ["uname -r", "cat /proc/uptime"])
    for number in range(1, rounds + 1):
        for program, scheduler in itertools.product(programs, schedulers):
            if program.runs_under(scheduler):
                name = Cell(program.name, scheduler.name, number).name
                lines += part(name, run_commands(program, scheduler))
    lines += traced
    for check in checks:
        lines += part(f"check {check}", [f"check_{check}"])
    lines += part("end", ["cat /proc/uptime"])
    return "\n".join(lines) + "\n"


def make_image(
    build: Path, programs: list[Program], schedulers: list[Scheduler], commands: str
) -> Image:
    image = small_image(commands)
    for tool in ("pirn-kernel", "pirn-kernel-faulty"):
        image.add_program(f"/bin/{tool}", build / "bin" / tool)
    image.add_program("/lib/libpirn-kernel.so", build / "lib/libpirn-kernel.so")
    for name in ("relay", "steps"):
        image.add_program(f"/bin/{name}", build / "bin" / name)
    wavemix = require(build / either.PROGRAM, "make kernel, with the applications")
    image.add_program(f"/bin/{wavemix.name}", wavemix)
    calls = build / "kernel/tests/pirn-kernel-calls-test"
    image.add_program("/bin/calls", require(calls, "make kernel, with tests"))
    for program in programs:
        image.add_program(f"/bin/{Path(program.file).name}", build / program.file)
    for tool in ("chrt", "setpriv"):  # busybox has less
        image.add_program(f"/usr/bin/{tool}", Path(shutil.which(tool) or f"/usr/bin/{tool}"))
    for scheduler in schedulers:
        if scheduler.peer is not None:
            image.add_program(scheduler.command[0], scheduler.peer)
    for config in (CACHE / "linux").glob("config-*"):  # other schedulers read it
        image.add_bytes(f"/boot/{config.name}", config.read_bytes())
    for name in SOURCED:
        image.add_bytes(f"/guest/{name}", (HERE / name).read_bytes())
    return image


# ---- what came out ----


def program_table(program: Program, parts: list[Part]) -> str:
    """Values of the program's last line, then counters of the scheduler, but those that stay 0."""
    named = dict.fromkeys(key for p in parts for key in p.counters)
    counters = [key for key in named if any(p.counters.get(key, 0) > 0 for p in parts)]
    head = [program.name, *program.values, *counters]
    rows = []
    for scheduler, runs in by_scheduler(parts).items():
        row = [
            scheduler,
            *(several([p.values.get(key, "") for p in runs]) for key in program.values),
        ]
        row += [several([str(p.counters.get(key, "")) for p in runs]) for key in counters]
        rows.append(row)
    return table(head, rows)


def by_scheduler(parts: list[Part]) -> dict[str, list[Part]]:
    """The rounds of one program."""
    found: dict[str, list[Part]] = {}
    for p in parts:
        cell = read_cell(p.name)
        if cell is not None:
            found.setdefault(cell.scheduler, []).append(p)
    return found


def failures(parts: list[Part], situations: list[traces.Situation]) -> list[str]:
    bad = [f"{p.name}: status {p.status}" for p in parts if p.status != 0]
    bad += [f"{p.name}: {line}" for p in parts for line in p.lines if line.startswith("FAILED")]
    ended = "the kernel has ended"
    for p in parts:  # only checks do that on purpose
        if read_cell(p.name) is not None or p.name == "trace":
            bad += [f"{p.name}: {line}" for line in p.lines if line.startswith(ended)]
        if p.name == "trace":
            bad += traces.relay_faults(p.lines)
    bad += [line for one in played(parts, situations) for line in one.bad]
    bad += missed(parts, situations)
    if not parts or parts[-1].name != "end":
        bad.append("the guest ended too early: see console.txt")
    return bad


def played(parts: list[Part], situations: list[traces.Situation]) -> list[page.Played]:
    """Of the situations that ran."""
    found = []
    for one in situations:
        for p in parts:
            if p.name == f"steps {one.name}":
                bad, plays = traces.compare(one, p.lines)
                if p.counters.get("dropped") != 0:
                    bad.append(f"{one.name}: the trace is not whole: {p.counters}")
                found.append(page.Played(one, plays, bad))
    return found


def missed(parts: list[Part], situations: list[traces.Situation]) -> list[str]:
    """Faults of the scheduler that the traces do not show."""
    return [
        f"{one.name}: the trace is right although consumers have the fault {one.fault}"
        for one in situations
        for p in parts
        if p.name == f"fault {one.name}" and not traces.caught(one, p.lines)
    ]


def show(parts: list[Part], programs: list[Program], situations: list[traces.Situation]) -> None:
    for program in programs:
        cells = ((read_cell(p.name), p) for p in parts)
        own = [p for cell, p in cells if cell is not None and cell.program == program.name]
        click.echo(f"\n{program_table(program, own)}")
    for p in parts:
        lines = p.lines
        if p.name == "trace":
            events = (line for line in lines if traces.read([line]))
            lines = [e for e in events if traces.read([e])[0].thread in traces.PRODUCERS][-SHOWN:]
        if p.name == "trace" or p.name.startswith("check "):
            click.echo(f"\n{p.name}")
            click.echo("\n".join(f"  {line}" for line in lines))
    click.echo("")
    for one in played(parts, situations):
        result = "differs" if one.bad else f"{len(one.situation.lines)} lines as the rule says"
        click.echo(f"{one.situation.title}: {result} ({one.plays})")


def write_json(path: Path, parts: list[Part], situations: list[page.Played]) -> None:
    """Into results.json: what earlier runs have run, and this one has not, stays. All rounds of a
    program under a scheduler are of one run."""
    kept = page.read_json(path)
    made = {"commit": machine.commit(ROOT), "kernel": kernel_name()}
    anew = {cell.of_rounds for p in parts if (cell := read_cell(p.name)) is not None}
    kept["parts"] = {
        name: entry
        for name, entry in kept["parts"].items()
        if "|" not in name or ((cell := read_cell(name)) and cell.of_rounds not in anew)
    }
    for p in parts:
        entry: dict[str, Any] = {"status": p.status, "values": p.values, "counters": p.counters}
        kept["parts"][p.name] = entry | made
    for one in situations:
        entry = {"plays": one.plays, "bad": one.bad}
        kept["situations"][one.situation.name] = entry | made
    path.write_text(json.dumps(kept, indent=1) + "\n")


@click.command(help=__doc__)
@click.option("--build", type=click.Path(path_type=Path), default=ROOT / "build/kernel")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="this program, or: trace, steps, a check; may be repeated",
)
@click.option(
    "--peer",
    multiple=True,
    metavar="COMMAND",
    help="also run under this scheduler; may be repeated",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 99),
    default=1,
    show_default=True,
    help="runs of each program under each scheduler",
)
@click.option("--checks/--no-checks", default=True, help="errors of users, faults")
@click.option("--clock", type=click.Choice(list(CLOCKS)), default="virtual", show_default=True)
@click.option("--limit", default=3600.0, show_default=True, help="seconds until the guest is ended")
def main(
    build: Path,
    only: tuple[str, ...],
    peer: tuple[str, ...],
    rounds: int,
    checks: bool,
    clock: str,
    limit: float,
) -> None:
    require(build / "bin/pirn-kernel", "make kernel")
    programs = read_programs(build, only)
    situations = traces.situations(HERE / "steps.toml")
    schedulers = [*SCHEDULERS, *(read_peer(i, command) for i, command in enumerate(peer))]
    folder = build / "guest"
    traced = trace_lines(only, situations)
    chosen = [name for name in CHECKS if checks and (not only or name in only)]
    commands = script(programs, schedulers, traced, chosen, rounds)
    image = make_image(build, programs, schedulers, commands)
    parts, times = boot(folder, image, limit, clock=clock)
    write_json(folder / page.RESULTS, parts, played(parts, situations))
    show(parts, programs, situations)
    end(times, failures(parts, situations) + either.faults(build, parts))


if __name__ == "__main__":
    main()
