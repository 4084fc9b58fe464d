#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs on boards under QEMU: compares their output with this machine's, counts each core's
instructions.

    .venv/bin/python bench/run_board_apps.py [--board riscv64-virt]... [--rounds N] [--publish]

Writes into --output (results/): board-apps.csv, board-apps.md. With --publish also
docs/results/board-programs.md, between its two marks. Boards and applications must be built
(`make boards`, `make apps`); x264 is built here. Another output than this machine's is an error.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import page, session
from harness.board_programs import Programs, Work, make_plugin, run_board, run_host, works
from harness.tables import markdown
from pirn_tools import paths
from pirn_tools.board import boards
from pirn_tools.board.boards import Board
from pirn_tools.errors import UserError

CORES = (1, 2, 4)


@dataclass(frozen=True)
class Result:
    """Medians over the rounds, in instructions."""

    board: str
    work: Work
    cores: int
    total: float
    busiest: float


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--board", action="append", help="this one [those whose board.toml has bench.programs]"
    )
    parser.add_argument("--rounds", type=int, default=9, help="runs of each, from 1 [9]")
    parser.add_argument("--output", type=Path, default=None, help="folder [results]")
    parser.add_argument(
        "--publish", action="store_true", help="into docs/results/board-programs.md"
    )
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: 1 or more is valid")
    return options


def chosen(root: Path, asked: Sequence[str] | None) -> list[Board]:
    places = [boards.folder(root)]
    if asked:
        return [boards.find(places, name) for name in asked]
    return [board for board in boards.load_all(places) if board.bench.programs]


def measure(
    board: Board, binary: Path, work: Work, wanted: bytes, plugin: Path, rounds: int
) -> list[Result]:
    results = []
    for cores in CORES:
        totals, busiest = [], []
        for _ in range(rounds):
            counts, written = run_board(board, cores, binary, work, plugin)
            if written != wanted:
                raise UserError(
                    f"{work.name} on {board.name} with {cores} cores: another output than here"
                )
            totals.append(sum(counts))
            busiest.append(max(counts))
        results.append(
            Result(board.name, work, cores, statistics.median(totals), statistics.median(busiest))
        )
        print(f"{board.name} {work.name} {cores}: {results[-1].busiest / 1e6:.1f} M", flush=True)
    return results


def table(results: Sequence[Result]) -> str:
    body = []
    for result in results:
        alone = next(r for r in results if r.work == result.work and r.cores == 1)
        body.append(
            [
                result.work.name,
                str(result.cores),
                f"{result.total / 1e6:.1f} M",
                f"{result.busiest / 1e6:.1f} M",
                f"{alone.total / result.busiest:.2f}",
            ]
        )
    return markdown(["program", "cores", "instructions", "busiest core", "ratio"], body)


def report(results: Sequence[Result], version: str, rounds: int) -> str:
    emulator = subprocess.run(
        ["qemu-system-riscv64", "--version"], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    parts = ["# Programs on boards", ""]
    works_seen = list(dict.fromkeys(result.work for result in results))
    parts += [f"- `{work.name}`: {work.what}" for work in works_seen]
    parts += [f"- x264 {version}; {emulator[0] if emulator else 'QEMU'}; {rounds} rounds", ""]
    for board in dict.fromkeys(result.board for result in results):
        parts += [f"### {board}", "", table([r for r in results if r.board == board]), ""]
    return "\n".join(parts)


def write_csv(path: Path, results: Sequence[Result]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["board", "program", "cores", "instructions", "busiest"])
        writer.writerows([r.board, r.work.name, r.cores, r.total, r.busiest] for r in results)


def run() -> int:
    options = arguments()
    root = paths.project()
    output = options.output or root / "results"
    programs = Programs(root)
    folder = root / "build" / "board-apps"
    plugin = make_plugin(root, folder)
    all_works = works(root, programs.source.folder, folder)
    wanted = {work.name: run_host(programs.host(work), work) for work in all_works}
    results: list[Result] = []
    for board in chosen(root, options.board):
        for work in all_works:
            binary = programs.on(board, work)
            results += measure(board, binary, work, wanted[work.name], plugin, options.rounds)
    output.mkdir(parents=True, exist_ok=True)
    write_csv(output / "board-apps.csv", results)
    text = report(results, programs.source.version, options.rounds)
    (output / "board-apps.md").write_text(text)
    print(text)
    if options.publish:
        page.publish(root / "docs/results/board-programs.md", text, output, ())
    return 0


if __name__ == "__main__":
    session.main("run_board_apps.py", run)
