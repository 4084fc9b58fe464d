# SPDX-License-Identifier: MIT
"""Boots Linux in QEMU with two NUMA nodes and runs threads of Pirn there.

    numa.py [--build DIR]

4 CPUs, 2 on each node, and bound workers. The program (nodes.c) runs with the nodes that the kernel
tells, and as if there were one; then the runs are compared. A guest shows what happens, not what it
gains: QEMU's memory is as near to one CPU as to another. Status 1: a run or a check failed. All
output is in build/kernel/numa. `make numa-guest` builds everything first.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click
from pirn_tools.guest.image import Image
from results import Part, table
from session import ROOT, boot, end, part, require, small_image

# No CPU takes a consumer because it has been without work for long.
SETTINGS = "PIRN_CPUS=4 PIRN_BIND=1 PIRN_SCHED=steal:affinity=declared,affinity-idle=1000000"
RUNS = {"one node": "off", "two nodes": "auto"}


class Share(NamedTuple):
    """Of what the program counts."""

    what: str
    part: str
    whole: tuple[str, ...]

    def of(self, run: Part) -> float:
        whole = sum(int(run.values[key]) for key in self.whole)
        return int(run.values[self.part]) / whole if whole else 0.0


SHARES = [
    Share("threads taken away that stay on their node", "near", ("near", "far")),
    Share("threads with a stack of the node that made them", "home", ("made",)),
    Share("consumers on the other CPU of a taken producer's node", "with", ("woken",)),
]


def script() -> str:
    lines = ["# Written by numa.py."]
    lines += part("system", ["uname -r", "cat /sys/devices/system/node/online"])
    for name, nodes in RUNS.items():
        lines += part(name, [f"{SETTINGS} PIRN_NODES={nodes} nodes"])
    lines += part("end", ["cat /proc/uptime"])
    return "\n".join(lines) + "\n"


def make_image(build: Path) -> Image:
    image = small_image(script())
    image.add_program("/bin/nodes", require(build / "bin/nodes", "make kernel"))
    return image


def check(parts: dict[str, Part]) -> list[str]:
    """What fails. Shows the shares."""
    bad = [f"{p.name}: status {p.status}" for p in parts.values() if p.status != 0]
    if "end" not in parts:
        bad.append("the guest ended too early: see console.txt")
    missing = [name for name in RUNS if name not in parts or not parts[name].values]
    bad += [f"{name}: there is no closing line" for name in missing]
    if missing:
        return bad
    if parts["system"].lines[1:2] != ["0-1"]:
        bad.append(f"the guest does not have nodes 0 and 1, but {parts['system'].lines[1:]}")
    one, two = (parts[name] for name in RUNS)
    rows = [[s.what, f"{s.of(one):.0%}", f"{s.of(two):.0%}"] for s in SHARES]
    click.echo(table(["", *RUNS], rows))
    bad += [f"{s.what}: not more with two nodes" for s in SHARES if s.of(two) <= s.of(one)]
    return bad


@click.command(help=__doc__)
@click.option("--build", type=click.Path(path_type=Path), default=ROOT / "build/kernel")
@click.option("--limit", default=600.0, show_default=True, help="seconds until the guest is ended")
def main(build: Path, limit: float) -> None:
    parts, times = boot(build / "numa", make_image(build), limit, nodes=2)
    bad = check({p.name: p for p in parts})
    end(times, bad)


if __name__ == "__main__":
    main()
