# SPDX-License-Identifier: MIT
"""Boots Linux in QEMU on a processor with protection keys, and runs the tests for them there.

    pkeys.py [--build DIR]

2 CPUs. The program (tests/posix/pkeys.c) runs with the system's threads and with Pirn's: on 1, 2
and 4 workers, under each of five policies, with ticks every 1 and 10 ms. Status 1: a run failed.
All output is in build/kernel/pkeys. `make pkeys-guest` builds everything first.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from image import Image
from machine import Guest
from results import Part, read
from run import BUSYBOX, CACHE, HERE, MOUNTED, ROOT, part, require

POLICIES = ("single", "central", "dist", "steal", "request")
WORKERS = (1, 2, 4)
TICKS = (1000, 10000)  # microseconds
SYSTEM = "NPTL"


def runs() -> dict[str, str]:
    """Names and commands."""
    found = {SYSTEM: "pkeys-nptl"}
    for policy in POLICIES:
        for workers in WORKERS:
            for tick in TICKS:
                settings = f"PIRN_SCHED={policy} PIRN_CPUS={workers} PIRN_TICK={tick}"
                found[settings] = f"{settings} pkeys"
    return found


def script() -> str:
    lines = ["# Written by pkeys.py."]
    lines += part("system", ["uname -r", "grep -o -m1 ospke /proc/cpuinfo"])
    for name, command in runs().items():
        lines += part(name, [command])
    lines += part("end", ["cat /proc/uptime"])
    return "\n".join(lines) + "\n"


def make_image(build: Path) -> bytes:
    image = Image()
    for folder in [*MOUNTED, "/sys/fs/bpf"]:
        image.add_folder(folder)
    image.add_program("/bin/busybox", BUSYBOX)
    for name in ("pkeys-nptl", "pkeys"):
        program = require(build / f"tests/posix/posix-{name}", "make build-release")
        image.add_program(f"/bin/{name}", program)
    image.add_bytes("/init", (HERE / "init.sh").read_bytes())
    image.add_bytes("/guest/all.sh", script().encode())
    return image.archive()


def check(parts: dict[str, Part]) -> list[str]:
    """What fails."""
    bad = [f"{p.name}: status {p.status}: {p.lines}" for p in parts.values() if p.status != 0]
    bad += [f"{name}: it has not run" for name in [*runs(), "end"] if name not in parts]
    return bad


@click.command(help=__doc__)
@click.option("--build", type=click.Path(path_type=Path), default=ROOT / "build/release")
@click.option("--limit", default=600.0, show_default=True, help="seconds until the guest is ended")
def main(build: Path, limit: float) -> None:
    kernel = require(CACHE / "linux/vmlinuz", "tools/setup-kernel")
    require(BUSYBOX, "tools/setup-kernel")
    folder = ROOT / "build/kernel/pkeys"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "initrd").write_bytes(make_image(build))
    guest = Guest(kernel, folder / "initrd", folder, cpus=2)
    try:
        times = guest.run(limit)
    except (TimeoutError, OSError) as error:
        raise click.ClickException(f"{error}; its console: {guest.console}") from None
    parts = {p.name: p for p in read(guest.output.read_text(errors="replace"))}
    bad = check(parts)
    name = (CACHE / "linux/name").read_text().strip()
    passed = sum(1 for run in runs() if run in parts and parts[run].status == 0)
    click.echo(f"{passed} of {len(runs())} runs passed")
    click.echo(f"{name}: booted in {times.boot:.1f} s, {times.all:.1f} s in all")
    for line in bad:
        click.echo(f"failed: {line}", err=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
