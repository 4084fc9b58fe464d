# SPDX-License-Identifier: MIT
"""`pirn guest`, which `make guest-NAME` calls: a build's tests and programs in QEMU."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import click

from pirn_tools import paths
from pirn_tools.errors import UserError
from pirn_tools.guest import cases, kinds, programs, qemu, results
from pirn_tools.guest.system import Folder, System, outermost
from pirn_tools.world import inputs
from pirn_tools.world.plan import Program

# Not conformance: a configuration of that suite takes half an hour here.
LABELS = "^(unit|policy|posix|tls|preempt|stress|fault)$"
SILENCE = 240.0  # seconds without a sign of life after which the guest hangs
LOOKS = 0.5  # seconds between two looks at results


@dataclass
class Watch:
    """What the guest has written so far. It tells each result once."""

    folder: Path
    total: int
    told: int = 0
    told_programs: int = 0
    looked: float = 0.0
    alive: str = ""
    changed: float = field(default_factory=time.monotonic)

    @property
    def path(self) -> Path:
        return self.folder / "results.jsonl"

    def read(self) -> results.Results:
        return results.read(self.path.read_text(errors="replace") if self.path.exists() else "")

    def booted(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    def trouble(self) -> str:
        now = time.monotonic()
        if now - self.looked < LOOKS:
            return ""
        self.looked = now
        self.tell(self.read())
        alive = self.folder / "alive"
        beat = alive.read_text() if alive.exists() else ""
        if beat != self.alive:
            self.alive, self.changed = beat, now
        failure = qemu.fatal(self.folder / "console.txt")
        if failure:
            return f"the guest's kernel failed: {failure}"
        if now - self.changed > SILENCE:
            return f"the guest hangs: no sign of life for {SILENCE:.0f} s"
        return ""

    def tell(self, found: results.Results) -> None:
        for one in found.tests[self.told :]:
            self.told += 1
            click.echo(results.told(one, self.told, self.total))
        for run in found.programs[self.told_programs :]:
            self.told_programs += 1
            verdict = f"FAILS: {run.failure}" if run.failure else f"passes {run.seconds:.1f} s"
            click.echo(f"{run.name}, {run.threads}: {verdict}")


@click.command(
    short_help="Run tests and programs in QEMU: another architecture, or an older kernel."
)
@click.argument("name")
@click.option("--build", type=click.Path(path_type=Path), help="A build's folder (build/PRESET).")
@click.option("--labels", default=LABELS, show_default=True, help="Of tests, as ctest's -L.")
@click.option("--tests", default="", metavar="REGEX", help="Tests by name, as ctest's -R.")
@click.option("--skip", default="", metavar="REGEX", help="Tests left out, as ctest's -E.")
@click.option("--program", "chosen", multiple=True, metavar="NAME", help="Repeatable.")
@click.option("--only", type=click.Choice(["tests", "programs"]), help="Leave the others out.")
@click.option("--cpus", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option("--memory", type=click.IntRange(512, 1 << 20), default=2048, show_default=True)
@click.option("--jobs", type=click.IntRange(1, 256), help="Tests at a time (as many as CPUs).")
@click.option(
    "--scale",
    type=click.FloatRange(1, 100),
    default=4.0,
    show_default=True,
    help="Limits of tests and programs are so many times longer.",
)
@click.option("--rounds", type=click.IntRange(1, 100), default=1, show_default=True)
@click.option(
    "--limit",
    type=click.FloatRange(60),
    default=14400.0,
    show_default=True,
    help="Seconds until the guest is ended.",
)
@click.option("--shell", is_flag=True, help="A shell in the guest instead; it ends with exit.")
@click.option("--list", "only_list", is_flag=True, help="List tests and programs.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where results go (build/guest-NAME).",
)
def guest(
    name: str,
    build: Path | None,
    labels: str,
    tests: str,
    skip: str,
    chosen: tuple[str, ...],
    only: str | None,
    cpus: int,
    memory: int,
    jobs: int | None,
    scale: float,
    rounds: int,
    limit: float,
    shell: bool,
    only_list: bool,
    output: Path | None,
) -> None:
    """Boot Debian's kernel of the guest NAME in QEMU, and run a build's tests there.

    Then programs of Debian's packages, with the system's threads and with Pirn. Folders of this
    machine are seen in the guest, which cannot change them. tools/setup-guest gets what it needs.
    """
    root = paths.project()
    kind = kinds.find(name)
    built = (build or root / "build" / kind.preset).resolve()
    library = kinds.library(built, kind)
    listed: list[cases.Case] = []
    if only != "programs":
        listed = cases.cases(cases.ask(built, labels, tests, skip), scale)
        if not listed:
            raise UserError(f"{built} has no test of these labels and names", status=2)
    picked = [] if only == "tests" else programs.choose(programs.load(), chosen)
    if only_list:
        lines = [f"test {one.name}" for one in listed]
        click.echo("\n".join([*lines, *(f"program {one.name}" for one in picked)]))
        return
    files = kinds.files(root, kind)
    out = (output or root / "build" / f"guest-{kind.name}").resolve()
    locked = prepare(out)
    plan = {
        "tests": [one.write() for one in listed],
        "jobs": jobs or cpus,
        "programs": [one.name for one in picked],
        "world": str(root / "apps/world"),
        "library": str(library),
        "inputs": str(inputs.make(out / "inputs") if picked else out),
        "rounds": rounds,
        "scale": scale,
    }
    (out / "plan.json").write_text(json.dumps(plan, indent=1) + "\n")
    seen = outermost([root, kinds.source(built), built])
    folders = (*(Folder(path) for path in seen), Folder(out, writable=True))
    system = System(kind, files, out, folders, cpus, memory, shell)
    system.initrd.write_bytes(system.image(root / "tools").archive())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends QEMU, too
    with locked:
        if shell:
            sys.exit(subprocess.run(system.command(), check=False).returncode)
        sys.exit(boot(system, limit, listed, picked))


def prepare(out: Path) -> TextIO:
    """Results of earlier runs are removed. This process alone uses the folder while it is open."""
    out.mkdir(parents=True, exist_ok=True)
    locked = (out / "lock").open("w")
    try:
        fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(f"another guest uses {out}: wait for its end, or use --output") from None
    for name in ("results.jsonl", "alive", "system.txt", "console.txt"):
        (out / name).unlink(missing_ok=True)
    shutil.rmtree(out / "logs", ignore_errors=True)
    (out / "logs").mkdir()
    return locked


def boot(
    system: System,
    limit: float,
    listed: Sequence[cases.Case],
    picked: Sequence[Program],
) -> int:
    click.echo(
        f"{len(listed)} tests and {len(picked)} programs in Linux {system.files.version}, "
        f"{system.kind.name}, {system.cpus} CPUs"
    )
    watch = Watch(system.out, len(listed))
    look = qemu.Look(watch.booted, watch.trouble)
    begin, trouble, times = time.monotonic(), "", None
    try:
        times = qemu.run(system.command(), system.console, limit, look)
    except qemu.GuestError as error:
        trouble = str(error)
    found = watch.read()
    watch.tell(found)
    good = finish(found, listed, picked)
    took = f"booted in {times.boot:.0f} s, " if times else ""
    took += f"{time.monotonic() - begin:.0f} s in all"
    click.echo(f"{took}; outputs: {paths.short(system.out / 'logs')}")
    if not trouble and not found.ended:
        trouble = "the guest turned itself off before the end of the plan"
    if trouble:
        tell_failure(system, found, trouble)
    return 0 if good and not trouble else 1


def tell_failure(system: System, found: results.Results, what: str) -> None:
    click.echo(f"failed: {what}", err=True)
    if found.running:
        click.echo(f"it ran then: {', '.join(found.running)}", err=True)
    for path in (system.console, system.out / "system.txt"):
        lines = qemu.last_lines(path, 8)
        if lines:
            click.echo(f"the end of {paths.short(path)}:", err=True)
            click.echo("\n".join(f"  {line}" for line in lines), err=True)


def finish(found: results.Results, listed: Sequence[cases.Case], picked: Sequence[Program]) -> bool:
    """The summary; whether all is well."""
    good = found.ended
    if listed:
        lines, passed = results.summary(found, [one.name for one in listed])
        good = good and passed
        click.echo("\n" + "\n".join(lines))
    if picked:
        rows, failures = results.program_table(found, [one.name for one in picked])
        good = good and not failures
        click.echo("\n" + results.text_table(rows))
        for failure in failures:
            click.echo(f"  failed: {failure}")
        click.echo("Seconds of an emulated machine show no ratio of speeds.")
    return good
