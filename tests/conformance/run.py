# SPDX-License-Identifier: MIT
"""Runs cases of the conformance programs, each in a process of its own.

    run.py --expected expected.txt [--configuration pirn.steal.2.preempt] PROGRAM...

A program's file name is conformance-AREA-KIND; its cases are called AREA.case.
A configuration is `nptl`, or `pirn.POLICY.CPUS.PREEMPT`, the last being `preempt` or `coop`;
further parts NAME=VALUE set PIRN_NAME. `preload....` is the same with the library of --preload
preloaded.
Exit status: 0 when every case passed, was unsupported, or failed as listed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import expected

UNSUPPORTED = 77
LIMIT = 100.0  # seconds; only a hang takes so long, on a loaded machine under a sanitizer too
PREEMPT = {"preempt": "1", "coop": "0"}
LIMIT_LISTED = {"fails": 5.0, "hangs": 0.5}


class Result(NamedTuple):
    outcome: str  # pass, fail, hang, unsupported
    detail: str
    seconds: float


class Tally:
    def __init__(self) -> None:
        self.passed = 0
        self.unsupported: list[str] = []
        self.listed = 0
        self.skipped = 0
        self.wrong: list[str] = []
        self.failed: dict[int, list[str]] = {}  # by line of the list: cases that failed as listed
        self.useless: set[int] = set()  # lines of which a case passed

    def total(self) -> int:
        return self.passed + len(self.unsupported) + self.listed + self.skipped + len(self.wrong)


def environment(configuration: str, preload: str) -> dict[str, str]:
    env = dict(os.environ)
    parts = configuration.split(".")
    if parts[0] == "preload":
        env["LD_PRELOAD"] = preload
    if parts[0] != "nptl":
        if len(parts) < 4 or parts[3] not in PREEMPT:
            form = f"{parts[0]}.POLICY.CPUS.{'|'.join(PREEMPT)}"
            raise SystemExit(f"run.py: {configuration}: not {form}")
        env["PIRN_SCHED"], env["PIRN_CPUS"] = parts[1:3]
        env["PIRN_PREEMPT"] = PREEMPT[parts[3]]
        for setting in parts[4:]:
            name, _, value = setting.partition("=")
            env["PIRN_" + name.upper()] = value
    return env


def end_group(process: subprocess.Popen[bytes]) -> None:
    """The process leads a group of its own, so processes that it leaves behind are ended, too."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def outcome_of(status: int, lines: list[str], case: str) -> tuple[str, str]:
    if status == 0 and f"pass {case}" in lines:
        return "pass", ""
    if status == UNSUPPORTED and lines and lines[-1].startswith("unsupported: "):
        return "unsupported", lines[-1].removeprefix("unsupported: ")
    if status < 0:
        lines = [*lines, f"died by {signal.Signals(-status).name}"]
    elif status == 0:
        lines = [*lines, "ended with status 0 before its end"]
    elif not lines:
        lines = [f"exit status {status}"]
    return "fail", "\n".join(lines)


def wait(process: subprocess.Popen[bytes], limit: float) -> bool:
    """False if it has not ended in time."""
    ended = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        return bool(poll.poll(limit * 1000))
    finally:
        os.close(ended)


def run_case(program: Sequence[str], name: str, env: dict[str, str], limit: float) -> Result:
    """Not through a pipe: a child that is left behind would keep it open."""
    started = time.monotonic()
    with os.fdopen(os.memfd_create("output"), "r+b") as output:
        process = subprocess.Popen(
            [*program, "--case", name],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        ended = wait(process, limit)
        end_group(process)
        status = process.wait()
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
    seconds = time.monotonic() - started
    if not ended:
        return Result("hang", "\n".join([*lines, f"no end after {limit:g} s"]), seconds)
    return Result(*outcome_of(status, lines, name), seconds)


def names_of(program: Sequence[str], env: dict[str, str]) -> list[str]:
    try:
        command = [*program, "--list"]
        text = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"run.py: {error}") from error
    return text.stdout.split()


def judge(case: str, result: Result, entry: expected.Entry | None, tally: Tally) -> None:
    good = result.outcome in ("pass", "unsupported")
    if entry is not None and good:
        text = f"remove expected.txt:{entry.line}: {case} is listed ({entry.reason})"
        tally.wrong.append(f"{result.outcome.upper()} {case}: {text}")
        tally.useless.add(entry.line)
    elif entry is not None:
        tally.listed += 1
        tally.failed.setdefault(entry.line, []).append(case)
    elif result.outcome == "pass":
        tally.passed += 1
    elif good:
        tally.unsupported.append(f"{case}: {result.detail}")
    else:
        text = result.detail.replace("\n", "\n    ")
        tally.wrong.append(f"{result.outcome.upper()} {case}\n    {text}")


def report(configuration: str, tally: Tally) -> None:
    counts = [f"{tally.passed} passed"]
    if tally.unsupported:
        counts.append(f"{len(tally.unsupported)} unsupported")
    if tally.listed:
        counts.append(f"{tally.listed} failed as listed")
    if tally.skipped:
        counts.append(f"{tally.skipped} listed and not tried here")
    if tally.wrong:
        counts.append(f"{len(tally.wrong)} WRONG")
    print(f"{configuration}: {', '.join(counts)}")
    for line in tally.unsupported:
        print(f"UNSUPPORTED {line}")
    for line in tally.wrong:
        print(line)


def shrink(path: str, tally: Tally) -> None:
    """A pattern of which some cases pass becomes a line for each that fails."""
    kept = []
    with open(path) as file:  # noqa: PTH123
        lines = file.read().splitlines()
    for number, text in enumerate(lines, 1):
        if number not in tally.useless:
            kept.append(text)
            continue
        where, _, rest = text.split(None, 2)
        kept += [f"{where} {case} {rest}" for case in tally.failed.get(number, [])]
    with open(path, "w") as file:  # noqa: PTH123
        file.write("\n".join([*kept, ""]))
    print(f"{path}: {len(lines)} lines before, {len(kept)} now")


def run_program(program: str, args: argparse.Namespace, tally: Tally) -> None:
    env = environment(args.configuration, args.preload)
    entries = expected.read(args.expected)
    area = os.path.basename(program).split("-", 1)[1].rsplit("-", 1)[0]  # noqa: PTH119
    command = [*shlex.split(args.runner), program]
    for name in names_of(command, env):
        case = f"{area}.{name}"
        if not fnmatchcase(case, args.case):
            continue
        entry = expected.find(entries, args.configuration, case)
        if entry and (args.unlisted_only or not entry.is_tried_in(args.configuration)):
            tally.skipped += 1
            continue
        limit = args.limit if entry is None else LIMIT_LISTED[entry.how]
        result = run_case(command, name, env, limit)
        if args.verbose:
            print(f"{result.seconds:7.3f} s {result.outcome:5} {case}", flush=True)
        judge(case, result, entry, tally)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", nargs="+")
    parser.add_argument("--configuration", default="nptl")
    parser.add_argument("--expected", required=True, help="list of expected failures")
    parser.add_argument("--case", default="*", help="only cases that match, such as 'mutex.lock*'")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds until a case hangs")
    parser.add_argument("--preload", default="", help="library for preload configurations")
    parser.add_argument("--runner", default="", help="command that runs the programs")
    parser.add_argument("--unlisted-only", action="store_true", help="skip what is listed")
    parser.add_argument("--shrink", action="store_true", help="remove lines whose cases pass")
    parser.add_argument("--verbose", action="store_true", help="time and outcome of each case")
    args = parser.parse_args()
    tally = Tally()
    try:
        for program in args.program:
            run_program(program, args, tally)
    except expected.ListError as error:
        raise SystemExit(f"run.py: {error}") from error
    report(args.configuration, tally)
    if args.shrink:
        shrink(args.expected, tally)
    if tally.total() == 0:
        print("no case ran")
        return 1
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
