# SPDX-License-Identifier: MIT
"""Runs conformance cases on a board: one boot for as many as follow each other.

usage: conformance.py [--verbose] [--left-out] [--boots N] COMMAND... [-- AREA|CASE...]

COMMAND boots the program (harness_board.c). A case that ends the program, or after which it is not
as new, is followed by another boot; nothing is tried again. Exit status: 0 when every case passed
or was unsupported. Cases that are left out are counted only when all are asked for, because that
takes a boot of its own.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys

UNSUPPORTED = "unsupported: "


class Tally:
    def __init__(self) -> None:
        self.passed = 0
        self.unsupported: list[str] = []
        self.failed: list[str] = []
        self.boots = 0


def boot(command: list[str], words: list[str]) -> tuple[int, list[str]]:
    child = subprocess.run(
        [*command, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return child.returncode, [line.rstrip("\r") for line in child.stdout.splitlines()]


def cases_of(lines: list[str]) -> list[tuple[str, list[str]]]:
    """The output of each case that began."""
    cases: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("run "):
            cases.append((line.removeprefix("run "), []))
        elif cases:
            cases[-1][1].append(line)
    return cases


def judge(name: str, said: list[str], status: int | None, tally: Tally) -> None:
    """status: how the program ended, if it ended in this case."""
    if f"pass {name}" in said and not status:
        tally.passed += 1
        return
    reasons = [line.removeprefix(UNSUPPORTED) for line in said if line.startswith(UNSUPPORTED)]
    if reasons:
        tally.unsupported.append(f"{name}: {reasons[0]}")
        return
    tally.failed.append(f"{name}: status {status}\n    " + "\n    ".join(said))


def list_names(command: list[str], areas: list[str]) -> list[str]:
    _, names = boot(command, ["--list", *areas])
    return [name for name in names if "." in name and " " not in name]


def run(command: list[str], areas: list[str], verbose: bool, most: int) -> Tally:
    """most: boots; 0: as many as it takes."""
    tally = Tally()
    names: list[str] = []
    begin: list[str] = []
    while True:
        status, lines = boot(command, [*begin, *areas])
        tally.boots += 1
        cases = cases_of(lines)
        ended = "done" in lines
        if verbose:
            print("\n".join(lines), flush=True)
        if not cases and not ended:
            tally.failed.append("nothing began\n    " + "\n    ".join(lines))
        for i, (name, said) in enumerate(cases):
            last = i == len(cases) - 1 and not ended
            judge(name, said, status if last else None, tally)
        if ended or not cases:
            break
        if tally.boots == most:
            tally.failed.append(f"after {cases[-1][0]} another boot is needed, against --boots")
            break
        names = names or list_names(command, areas)
        left = names[names.index(cases[-1][0]) + 1 :]
        if not left:
            break
        begin = ["--from", left[0]]
    return tally


def what_is_left_out(command: list[str]) -> list[str]:
    _, lines = boot(command, ["--left-out"])
    return [
        f"{what}: {why.strip()}"
        for what, why in itertools.pairwise(lines)
        if what.startswith("left out ")
    ]


def main() -> int:
    words, areas = sys.argv[1:], []
    if "--" in words:
        words, areas = words[: words.index("--")], words[words.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--verbose", action="store_true", help="all that the program prints")
    parser.add_argument("--left-out", action="store_true", help="name the cases that are left out")
    parser.add_argument("--boots", type=int, default=0, help="fail if it takes more boots")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args(words)
    left_out = what_is_left_out(args.command) if args.left_out or not areas else []
    tally = run(args.command, areas, args.verbose, args.boots)
    text = (
        f"{tally.passed} passed, {len(tally.unsupported)} unsupported, {len(tally.failed)} failed"
    )
    text += f"; {tally.boots} boots"
    if left_out:
        ncases = sum(not line.startswith("left out area ") for line in left_out)
        text += f"; {ncases} cases are left out, and {len(left_out) - ncases} areas"
    print(text)
    for line in tally.unsupported:
        print(f"UNSUPPORTED {line}")
    for line in left_out if args.left_out else []:
        print(line)
    for line in tally.failed:
        print(f"FAIL {line}")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
