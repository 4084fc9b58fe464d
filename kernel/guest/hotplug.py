# SPDX-License-Identifier: MIT
"""Boots Linux in QEMU, takes a processor offline under running threads, and limits CPU time.

    hotplug.py [--build DIR]

4 CPUs. tests/containers/affinity.c runs while a processor goes offline and comes back, and while
the cpuset of its control group changes (version 2); on 1, 2 and 4 workers, bound ones, too. Then a
program with threads says how many workers it has by default in groups with limits. Status 1: a run
failed. All output is in build/kernel/hotplug. `make hotplug-guest` builds everything first.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
from pirn_tools.guest.image import Image
from results import Part
from session import ROOT, boot, end, part, require, small_image

CPUS = 4
GROUPS = "/sys/fs/cgroup"
ROUNDS = 60  # a worker's threads sleep every 50
WORKERS = ("PIRN_CPUS=1", "PIRN_CPUS=2", "PIRN_CPUS=4", "PIRN_CPUS=2 PIRN_BIND=1")
CHANGES = {
    "offline": (
        "echo 0 > /sys/devices/system/cpu/cpu$OTHER/online",
        "echo 1 > /sys/devices/system/cpu/cpu$OTHER/online",
    ),
    "cpuset": (f"echo $ONE > {GROUPS}/set/cpuset.cpus", f"echo 0-1 > {GROUPS}/set/cpuset.cpus"),
}
# Of a group, and of the group in it: microseconds in 100,000; workers.
LIMITS = {
    ("max", "max"): 4,
    ("max", "50000"): 1,
    ("max", "150000"): 2,
    ("250000", "max"): 3,
    ("100000", "300000"): 1,
    ("800000", "400000"): 4,
}


def in_group(name: str, command: str) -> str:
    return f"(echo 0 > {GROUPS}/{name}/cgroup.procs; {command})"


def changes() -> dict[str, str]:
    """Names and commands."""
    found = {}
    for name, (shrink, grow) in CHANGES.items():
        for workers in WORKERS:
            command = f"{workers} affinity hard '{shrink}' '{grow}' {ROUNDS}"
            found[f"{name}, {workers}"] = in_group("set" if name == "cpuset" else "", command)
    return found


def limits() -> dict[str, tuple[list[str], int]]:
    """Names, commands, and how many workers there must be."""
    show = "PIRN_STATS=text threads threads"
    found = {}
    for (outer, inner), workers in LIMITS.items():
        found[f"limits {outer} {inner}"] = (
            [
                f"echo '{outer} 100000' > {GROUPS}/outer/cpu.max",
                f"echo '{inner} 100000' > {GROUPS}/outer/inner/cpu.max",
                in_group("outer/inner", show),
            ],
            workers,
        )
    commands, _ = found["limits max 50000"]
    everything = in_group("outer/inner", f"PIRN_CPUS=all {show}")
    found["PIRN_CPUS=all"] = ([*commands[:-1], everything], CPUS)
    return found


def script() -> str:
    lines = ["# Written by hotplug.py.", f"mount -t cgroup2 groups {GROUPS}"]
    lines += [f"echo '+cpu +cpuset' > {GROUPS}/cgroup.subtree_control"]
    lines += [f"mkdir {GROUPS}/set {GROUPS}/outer; echo 0-1 > {GROUPS}/set/cpuset.cpus"]
    lines += [f"echo +cpu > {GROUPS}/outer/cgroup.subtree_control; mkdir {GROUPS}/outer/inner"]
    lines += part("system", ["uname -r", f"cat {GROUPS}/cgroup.controllers"])
    for name, (commands, _) in limits().items():
        lines += part(name, commands)
    for name, command in changes().items():
        lines += part(name, [command])
    lines += part("end", ["cat /proc/uptime"])
    return "\n".join(lines) + "\n"


def make_image(build: Path) -> Image:
    image = small_image(script())
    for name, program in (("affinity", "affinity-pirn"), ("threads", "works-pirn")):
        path = build / f"tests/containers/containers-{program}"
        image.add_program(f"/bin/{name}", require(path, "make build-release"))
    return image


def check(parts: dict[str, Part]) -> list[str]:
    """What fails."""
    bad = [f"{p.name}: status {p.status}: {p.lines}" for p in parts.values() if p.status != 0]
    names = [*changes(), *limits(), "end"]
    bad += [f"{name}: it has not run" for name in names if name not in parts]
    for name, (_, expected) in limits().items():
        lines = "\n".join(parts[name].lines) if name in parts else ""
        workers = re.search(r"^pirn: cpus (\d+)$", lines, re.MULTILINE)
        if workers is None or int(workers[1]) != expected:
            bad.append(f"{name}: not {expected} workers: {lines}")
    return bad


@click.command(help=__doc__)
@click.option("--build", type=click.Path(path_type=Path), default=ROOT / "build/release")
@click.option("--limit", default=1800.0, show_default=True, help="seconds until the guest is ended")
def main(build: Path, limit: float) -> None:
    found, times = boot(ROOT / "build/kernel/hotplug", make_image(build), limit, cpus=CPUS)
    parts = {p.name: p for p in found}
    bad = check(parts)
    click.echo(f"{len(parts)} parts ran, {len(bad)} things failed")
    end(times, bad)


if __name__ == "__main__":
    main()
