#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the cost of scheduling on boards under QEMU: master/worker, join chain, ticks.

    .venv/bin/python bench/run_board_scheduling.py [--board riscv64-virt]... [--publish]

Writes into --output (results/): board-scheduling.csv, board-scheduling.md. With --publish also
docs/results/board-scheduling.md, between its two marks; that says how it is measured. With
--short: one small case of each kind, whose results are checked (ctest). The boards must be built
(`make boards`).
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from harness import board, page, session
from harness.board import Place
from harness.tables import markdown
from pirn_tools import paths
from pirn_tools.errors import UserError

POLICIES = ("steal", "single", "central", "dist", "request")
CORES = (1, 2, 4)
WORKERS = (4, 40, 400)
CHAINS = (40, 400)
RATES = (100, 250, 1000)  # ticks a second
CHAIN_RATES = (10, 1000)
WORK = 16e6  # instructions that master/worker computes here
THESIS_WORK = 330e6  # cycles that the thesis's computes: 5.5 s at 60 MHz
THESIS_WORKERS = {4: "0.28 %", 40: "0.67 %", 400: "1.37 %"}
THESIS_CHAINS = {40: 1.7, 400: 28.4}  # seconds
THESIS_HZ = 60e6
PROFILED = 8  # functions
PROGRAMS = ("master_worker", "join_chain")
COLUMNS = ("board", "what", "threads", "cores", "policy", "rate", "value")
Row = tuple[str, str, int, int, str, int, float]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--board", action="append", help="this one [all that are built]")
    parser.add_argument("--output", type=Path, default=None, help="folder [results]")
    parser.add_argument(
        "--publish", action="store_true", help="into docs/results/board-scheduling.md"
    )
    parser.add_argument("--short", action="store_true", help="one case of each kind, checked")
    options = parser.parse_args()
    if options.publish and options.short:
        parser.error("--publish: not with --short")
    return options


def settings(policy: str = "steal", rate: int = 0) -> dict[str, str]:
    """Idle cores sleep at once: a searching core would add useless instructions."""
    us = str(1_000_000 // rate) if rate else "10000"
    preempt = "1" if rate else "0"
    ticks = {"PIRN_PREEMPT": preempt, "PIRN_TICK": us, "PIRN_SLICE": us}
    return {"PIRN_SPIN": "0", "PIRN_SCHED": policy, **ticks}


def count(
    place: Place, program: str, cores: int, options: Mapping[str, str], **numbers: int
) -> float:
    words = [f"--{name}={value}" for name, value in numbers.items()]
    return board.instructions(board.run(place, program, cores, options, words))


def step_cost(place: Place) -> float:
    """Instructions of a million steps of master/worker's work, of one thread alone."""
    some = [count(place, "master_worker", 1, settings(), threads=1, work=n) for n in (2, 4)]
    return (some[1] - some[0]) / 2


class Board:
    """The counts of one board."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.rows: list[Row] = []
        self.step = step_cost(place)
        self.work = max(1, round(WORK / self.step))
        self.useful = self.work * self.step

    def add(
        self, what: str, threads: int, cores: int, policy: str, rate: int, value: float
    ) -> float:
        self.rows.append((self.place.board, what, threads, cores, policy, rate, value))
        return value

    def workers(self, threads: int, cores: int, rate: int = 0) -> float:
        numbers = {"threads": threads, "work": self.work}
        total = count(self.place, "master_worker", cores, settings(rate=rate), **numbers)
        return self.add("master_worker", threads, cores, "steal", rate, total)

    def chain(self, threads: int, cores: int, policy: str = "steal", rate: int = 0) -> float:
        total = count(self.place, "join_chain", cores, settings(policy, rate), threads=threads)
        return self.add("join_chain", threads, cores, policy, rate, total)

    def ticks(self, rate: int) -> int:
        """Their number in master/worker with 4 threads on one core."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "stats.json"
            options = {**settings(rate=rate), "PIRN_STATS": f"json:{file}"}
            count(self.place, "master_worker", 1, options, threads=4, work=self.work)
            return int(json.loads(file.read_text())["ticks"])


def workers_table(b: Board) -> str:
    body = []
    for cores in CORES:
        for threads in WORKERS:
            total = b.workers(threads, cores)
            rest = total - b.useful
            body.append([
                str(cores), str(threads), f"{total / 1e6:.1f} M", f"{rest / 1e3:.0f} k",
                f"{rest / threads:.0f}", f"{100 * rest / (rest + THESIS_WORK):.3f} %",
                THESIS_WORKERS[threads],
            ])  # fmt: skip
    head = ["cores", "threads", "in all", "beside the work", "a thread", "share", "thesis"]
    return markdown(head, body)


def chain_table(b: Board) -> str:
    body = []
    for cores in CORES:
        for threads in CHAINS:
            total = b.chain(threads, cores)
            body.append([
                str(cores), str(threads), f"{total / 1e6:.3f} M", f"{total / threads:.0f}",
                f"{1e3 * total / THESIS_HZ:.1f} ms", f"{1e3 * THESIS_CHAINS[threads]:.0f} ms",
            ])  # fmt: skip
    head = ["cores", "threads", "in all", "a link", "at 60 MHz", "thesis"]
    return markdown(head, body)


def policies_table(b: Board) -> str:
    def cells(name: str) -> list[str]:
        chains = [b.chain(400, cores, name) for cores in CORES]
        chains += [b.chain(400, CORES[-1], name, rate) for rate in CHAIN_RATES]
        return [name, *(f"{chain / 400:.0f}" for chain in chains)]

    head = ["a link of 400", *(f"{n} core{'s' * (n > 1)}" for n in CORES)]
    head += [f"{CORES[-1]}, ticks of {rate} Hz" for rate in CHAIN_RATES]
    return markdown(head, [cells(name) for name in POLICIES])


def ticks_table(b: Board) -> str:
    without = b.workers(4, 1)
    body = [["off", f"{without / 1e6:.2f} M", "0", "-", "-"]]
    for rate in RATES:
        total, ticks = b.workers(4, 1, rate), b.ticks(rate)
        extra = total - without
        each = f"{extra / ticks:.0f}" if ticks else "-"
        share = f"{100 * extra / total:.3f} %"
        body.append([f"{rate}", f"{total / 1e6:.2f} M", str(ticks), share, each])
    return markdown(["ticks a second", "in all", "ticks", "overhead", "a tick"], body)


def profile_table(b: Board) -> str:
    """Samples of join chains on one core, by Pirn's profiler."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chain.prof"
        options = {**settings(), "PIRN_PROF": str(file), "PIRN_PROFRATE": "20000"}
        count(b.place, "join_chain", 1, options, threads=400, repeat=20)
        command = [str(b.place.root / ".venv/bin/pirn"), "prof", "flat", str(file), "--json"]
        done = subprocess.run(
            command, cwd=b.place.root, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise UserError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    found = json.loads(done.stdout)
    rows = sorted(found["functions"], key=lambda row: -row["own"])[:PROFILED]
    body = [[row["name"], f"{100 * row['own'] / found['samples']:.1f} %"] for row in rows]
    return markdown([f"of {found['samples']} samples", "share"], body)


def sections(place: Place) -> tuple[list[str], list[Row]]:
    b = Board(place)
    text = [
        f"### {place.board}",
        f"Master/worker; the work is {b.useful / 1e6:.2f} M instructions:", workers_table(b),
        "Join chain:", chain_table(b), policies_table(b),
        "Master/worker with 4 workers on one core, and ticks:", ticks_table(b),
        "Join chains of 400 on one core, profile:", profile_table(b),
    ]  # fmt: skip
    return text, b.rows


def check(holds: bool, what: str) -> None:
    if not holds:
        raise UserError(what)


def short(place: Place) -> None:
    """Small cases, with the conditions that must hold on every board."""
    b = Board(place)
    b.work, b.useful = 2, 2 * b.step
    total = b.workers(4, 2)
    check(b.useful < total < 1.5 * b.useful, f"4 workers: {total} of {b.useful} instructions")
    check(b.workers(4, 2) == total, "the same run again has another number of instructions")
    tick = 1e9 / board.NS / 10
    for policy in ("steal", "dist"):
        slow, fast = (b.chain(40, 2, policy, rate) for rate in (10, 1000))
        check(slow < tick, f"{policy}: a chain of 40 takes {slow} instructions, a tick {tick}")
        check(fast < 1.5 * slow, f"{policy}: {slow} instructions at 10 Hz, {fast} at 1000 Hz")
    print("done")


def main() -> int:
    options = arguments()
    root = paths.project()
    places = board.chosen(root, options.board, PROGRAMS)
    if options.short:
        for place in places:
            short(place)
        return 0
    output = options.output or root / "results"
    output.mkdir(parents=True, exist_ok=True)
    text, rows = ["# What scheduling costs on boards"], []
    for place in places:
        parts, counted = sections(place)
        text += parts
        rows += counted
    with (output / "board-scheduling.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    whole = "\n\n".join(text)
    (output / "board-scheduling.md").write_text(whole)
    print(whole)
    if options.publish:
        page.publish(root / "docs/results/board-scheduling.md", whole, output, ())
    return 0


if __name__ == "__main__":
    session.main("run_board_scheduling.py", main)
