# SPDX-License-Identifier: MIT
"""Run a stress program with many seeds, policies, numbers of workers and lengths of ticks.

A failure is printed at once, with the command that repeats it, and again at the end.
Exit status 1 if there was one.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

POLICIES = ("steal", "dist")
WORKERS = (2, 4, 8)
TICKS = (None, 1000)  # microseconds; None: the default
# The program ends itself if a thread hangs; this is for one that cannot.
LIMIT = 3600.0


@dataclass(frozen=True)
class Run:
    seed: int
    policy: str
    workers: int
    tick: int | None

    def environment(self) -> dict[str, str]:
        variables = {"PIRN_SCHED": self.policy, "PIRN_CPUS": str(self.workers)}
        if self.tick is not None:
            variables |= {"PIRN_TICK": str(self.tick), "PIRN_SLICE": str(self.tick)}
        return variables

    def arguments(self, args: argparse.Namespace) -> list[str]:
        features = ["--features", args.features] if args.features else []
        times = ["--seconds", str(args.seconds), "--seed", str(self.seed)]
        return [str(args.program), *times, *features]

    def command(self, args: argparse.Namespace) -> str:
        variables = [f"{name}={value}" for name, value in self.environment().items()]
        return " ".join([*variables, shlex.join(self.arguments(args))])


def failure(run: Run, args: argparse.Namespace) -> str | None:
    """The output and the end of the run; None if it passed."""
    try:
        ended = subprocess.run(
            run.arguments(args),
            env=os.environ | run.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return f"no end after {LIMIT:.0f} s"
    if ended.returncode == 0:
        return None
    how = f"signal {-ended.returncode}" if ended.returncode < 0 else f"status {ended.returncode}"
    return f"{ended.stdout.rstrip()}\n{how}".lstrip()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seconds", type=int, default=6, help="of each run")
    parser.add_argument("--first", type=int, default=int(time.time()) % 1000000, help="first seed")
    parser.add_argument("--features", help="as the program's option --features")
    args = parser.parse_args()
    if args.minutes <= 0 or args.seconds < 1:
        parser.error("--minutes and --seconds: more than 0")
    if not args.program.is_file():
        parser.error(f"{args.program}: no such program")
    args.program = args.program.resolve()
    return args


def main() -> int:
    args = parse()
    end = time.monotonic() + 60 * args.minutes
    failed: list[str] = []
    count = 0
    choices = itertools.cycle(itertools.product(TICKS, WORKERS, POLICIES))
    for seed, (tick, workers, policy) in zip(itertools.count(args.first), choices):
        run = Run(seed, policy, workers, tick)
        what = failure(run, args)
        count += 1
        if what is not None:
            failed.append(run.command(args))
            print(f"{what}\nfailed: {failed[-1]}", flush=True)
        if time.monotonic() > end:
            break
    print(f"{count} runs, seeds from {args.first}; {len(failed)} failed")
    for command in failed:
        print(f"  {command}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
