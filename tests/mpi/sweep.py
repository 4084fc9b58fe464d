# SPDX-License-Identifier: MIT
"""pirn-sim-sweep: each seed runs once; failures are found and can be repeated; a process that dies
loses only its share; wrong options are refused.

Usage: sweep.py SWEEP PIRN-SIM-TESTS PIRN-POLICY-SIM -- MPIRUN...

The processes are started by a script of this test, which records the seeds, and ends or damages
the process of the share that begins with seed DAMAGED.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 500  # s: hangs only
FIRST, SEEDS, SHARE, DAMAGED = 5, 20, 3, 11
SUITE = ("--suite", "poll", "--sched", "steal")
TOTAL = re.compile(
    r"^(\d+) seeds in (\d+) shares on 3 ranks, 6 processes: (\d+) schedules, (\d+) failures, "
    r"(\d+) shares lost, ",
    re.MULTILINE,
)
REPEAT = re.compile(r"^repeat: pirn-(?:sim-tests|policy-sim) (.*)$", re.MULTILINE)
LOST = re.compile(r"^lost: (.*)$", re.MULTILINE)

place = sys.argv.index("--")
SWEEP, TESTS, POLICIES = (str(Path(name).resolve()) for name in sys.argv[1:place])
MPIRUN = sys.argv[place + 1 :]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def expect(condition: object, what: str, done: subprocess.CompletedProcess[str]) -> None:
    if not condition:
        sys.exit(f"sweep: {what}; exit status {done.returncode}:\n{done.stdout}")


def sweep(program: Path | str, *options: str) -> tuple[subprocess.CompletedProcess[str], list[int]]:
    """The run, and its numbers: seeds, shares, schedules, failures, shares that were lost."""
    seeds = (f"--first={FIRST}", f"--seeds={SEEDS}", f"--share={SHARE}", "--jobs=2")
    done = run(*MPIRUN, "-n", "3", SWEEP, f"--program={program}", *seeds, *options)
    found = TOTAL.findall(done.stdout)
    expect(len(found) == 1, "no line of totals, or more than one", done)
    return done, [int(number) for number in found[0]]


def schedules_of(*options: str) -> int:
    done = run(TESTS, *options)
    found = re.search(r"^(\d+) schedules, ", done.stdout, re.MULTILINE)
    expect(found is not None and done.returncode == 0, "the simulator alone fails", done)
    assert found is not None
    return int(found[1])


def script(folder: Path, damaged: str, others: str) -> Path:
    """What a share runs: the first and the number of seeds follow the options --first, --seeds."""
    path = folder / "program"
    path.write_text(
        f"""#!/bin/sh
case "$*" in *--list) exec {others} "$@";; esac
echo "$*" >> {folder}/shares
case "$*" in *"--first {DAMAGED} "*) {damaged};; esac
exec {others} "$@"
"""
    )
    path.chmod(0o755)
    return path


def seeds_recorded(folder: Path) -> list[int]:
    seeds: list[int] = []
    for line in (folder / "shares").read_text().splitlines():
        found = re.search(r"--first (\d+) --seeds (\d+)$", line)
        assert found is not None, line
        seeds += range(int(found[1]), int(found[1]) + int(found[2]))
    return sorted(seeds)


def each_seed_runs_once(folder: Path) -> None:
    done, totals = sweep(script(folder, ":", TESTS), *SUITE)
    expect(done.returncode == 0, "fails", done)
    expect(seeds_recorded(folder) == list(range(FIRST, FIRST + SEEDS)), "not each seed once", done)
    alone = schedules_of(*SUITE, "--first", str(FIRST), "--seeds", str(SEEDS))
    expect(totals == [SEEDS, 7, alone, 0, 0], f"not {alone} schedules", done)


def a_killed_process_loses_its_share(folder: Path) -> None:
    done, totals = sweep(script(folder, "kill -9 $$", TESTS), *SUITE)
    share = ("--first", str(DAMAGED), "--seeds", str(SHARE))
    alone = schedules_of(*SUITE, "--first", str(FIRST), "--seeds", str(SEEDS))
    alone -= schedules_of(*SUITE, *share)
    expect(done.returncode != 0, "a lost share passes", done)
    expect(totals == [SEEDS, 7, alone, 0, 1], f"not {alone} schedules, one share lost", done)
    expect(seeds_recorded(folder) == list(range(FIRST, FIRST + SEEDS)), "not each seed once", done)
    expect("LOST: the process was ended by signal 9 (Killed)" in done.stdout, "no reason", done)
    command = f"{folder}/program {' '.join((*SUITE, *share))}"
    expect(LOST.findall(done.stdout) == [command], f"is not the command {command}", done)


def failures_repeat(folder: Path, mistake: str, word: str, lost: int) -> None:
    """One share runs under a policy with a mistake."""
    damage = f'exec {POLICIES} "$@" --sched mistake --mistake {mistake} --hang 1'
    done, totals = sweep(script(folder, damage, f"{POLICIES} --sched steal"), "--suite", "sync")
    expect(done.returncode != 0, f"{mistake} passes", done)
    expect(totals[:2] == [SEEDS, 7] and totals[4] == lost, f"not {lost} shares lost", done)
    expect(word in done.stdout and totals[3] > 0, f"{mistake}: no word {word}", done)
    lines = REPEAT.findall(done.stdout)
    expect(len(lines) == 2 * totals[3], "not each failure in the report and at the end", done)
    expect(lines[: totals[3]] == lines[totals[3] :], "other failures at the end", done)
    again = run(POLICIES, *shlex.split(lines[0]), "--hang", "1")
    expect(again.returncode != 0 and word in again.stdout, f"{lines[0]} does not repeat", again)


def a_mutant_is_found() -> None:
    done, totals = sweep(TESTS, "--suite=poll", "--mutant=poll-once")
    expect(done.returncode == 0 and totals[3] > 0 and totals[4] == 0, "mutant not found", done)
    again = run(TESTS, *shlex.split(REPEAT.findall(done.stdout)[-1]))
    expect(again.returncode == 0 and ": caught after 1 seeds" in again.stdout, "not again", again)
    done, totals = sweep(TESTS, "--suite=cancel", "--mutant=poll-once")
    expect(done.returncode != 0 and totals[3:] == [0, 0], "found where it has no effect", done)


def wrong_options_are_refused() -> None:
    for option, message in (
        ("--share=0", "--share=0: not a whole number from 1 to 1000000"),
        ("--jobs=x", "--jobs=x: not a whole number from 1 to 1000"),
        ("--suite=polls", "--suite=polls: not one of: core, "),
        ("--mutant=none-such", "--mutant=none-such: not one of: "),
        ("--program=/none/such", "--program=/none/such: No such file or directory"),
        ("--program=/bin/false", "LOST: the process ended with status 1, before its last line"),
    ):
        done = run(*MPIRUN, "-n", "2", SWEEP, option)
        expect(done.returncode != 0 and message in done.stdout, f"{option}: no message", done)


def main() -> None:
    checks = (
        each_seed_runs_once,
        a_killed_process_loses_its_share,
        lambda folder: failures_repeat(folder, "losing", "FAILED sync/", 0),
        lambda folder: failures_repeat(folder, "crashing", "CRASHED\n", 1),
        lambda folder: failures_repeat(folder, "looping", "HANGS\n", 1),
    )
    for check in checks:
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder).resolve())
    a_mutant_is_found()
    wrong_options_are_refused()
    print("sweep: done")


main()
