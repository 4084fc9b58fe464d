# SPDX-License-Identifier: MIT
"""Boots Linux in QEMU on a processor with protection keys, and runs the tests for them there.

    pkeys.py [--build DIR]

2 CPUs. The program (tests/posix/pkeys.c) runs with the system's threads and with Pirn's: on 1, 2
and 4 workers, under each of five policies, with ticks every 1 and 10 ms. Status 1: a run failed.
All output is in build/kernel/pkeys. `make pkeys-guest` builds everything first.
"""

from __future__ import annotations

from pathlib import Path

import click
from pirn_tools.guest.image import Image
from results import Part
from session import ROOT, boot, end, part, require, small_image

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


def make_image(build: Path) -> Image:
    image = small_image(script())
    for name in ("pkeys-nptl", "pkeys"):
        program = require(build / f"tests/posix/posix-{name}", "make build-release")
        image.add_program(f"/bin/{name}", program)
    return image


def check(parts: dict[str, Part]) -> list[str]:
    """What fails."""
    bad = [f"{p.name}: status {p.status}: {p.lines}" for p in parts.values() if p.status != 0]
    bad += [f"{name}: it has not run" for name in [*runs(), "end"] if name not in parts]
    return bad


@click.command(help=__doc__)
@click.option("--build", type=click.Path(path_type=Path), default=ROOT / "build/release")
@click.option("--limit", default=600.0, show_default=True, help="seconds until the guest is ended")
def main(build: Path, limit: float) -> None:
    found, times = boot(ROOT / "build/kernel/pkeys", make_image(build), limit, cpus=2)
    parts = {p.name: p for p in found}
    passed = sum(1 for run in runs() if run in parts and parts[run].status == 0)
    click.echo(f"{passed} of {len(runs())} runs passed")
    end(times, check(parts))


if __name__ == "__main__":
    main()
