# SPDX-License-Identifier: MIT
"""tools/debuggers/pirn-gdb.py on states.c, whose threads are named after what they wait for.

usage: check_gdb.py CASE --objcopy OBJCOPY --program PROGRAM -- pirn board run ... BOARD

The command gets the option --gdb, and gdb is started as it says.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

# Name of the thread: state, place.
WAITING = {
    "holder-1": r"waiting for mutex 0x\w+ <m2>, owned by thread \d+ \"holder-2\" +holder_1 \(\)",
    "holder-2": r"waiting for mutex 0x\w+ <m1>, owned by thread \d+ \"holder-1\" +holder_2 \(\)",
    "on-sem": r"waiting for semaphore 0x\w+ <sem> +inner \(\) at .*waits\.h:\d+",
    "on-mutex": r"waiting for mutex 0x\w+ <mains>, owned by thread \d+ \".*\" +on_mutex \(\)",
    "on-inherits": r"waiting for mutex 0x\w+ <inherits>, owned by thread \d+ \".*\" +on_inherits",
    "on-cond": r"waiting for condition 0x\w+ <cond> +on_cond \(\)",
    "on-rwlock": r"waiting for rwlock to read 0x\w+ <rwlock>, held by writer \d+ \".*\" +on_rwlock",
    "on-barrier": r"waiting for barrier 0x\w+ <barrier> +on_barrier \(\)",
    "on-sleep": r"sleeping, until [\d.]+ s \(CLOCK_MONOTONIC\) +on_sleep \(\)",
    "on-join": r"waiting for the end of thread \d+ \"on-sleep\" +on_join \(\)",
}
READY = {
    "computes": r"ready +computes_on \(\) at .*states\.c:\d+",
    "yields": r"ready +yields \(\) at .*states\.c:\d+",
}
MAIN = r"\S*gdb-states.elf"


class Failed(Exception):  # noqa: N818
    pass


def want(pattern: str, said: str) -> None:
    if not re.search(pattern, said, re.MULTILINE):
        msg = f"nothing matches '{pattern}'"
        raise Failed(msg)


def calls(*functions: str) -> str:
    """The frames of a back trace that ends with these functions and the thread's first one."""
    frames = [rf"^#\d+ .*{name} \(.*\n" for name in (*functions, "thread_entry")]
    return "".join(frames).replace("^", "") + r"(?!#)"


class Case:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.program = str(args.program)
        self.said = ""

    def gdb(self, kind: str, cpus: int, preempt: int, *commands: str) -> str:
        """Each command by itself, so that an error does not end the others."""
        at = self.args.command.index("run") + 1
        line = [*self.args.command[:at], "--gdb", "--cpus", str(cpus)]
        line += [
            "--env",
            f"PIRN_PREEMPT={preempt}",
            *self.args.command[at:],
            self.program,
            kind,
        ]
        board = subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert board.stderr is not None
            first = board.stderr.readline()
            want(r"^pirn: waiting for gdb-multiarch ", first)
            words = shlex.split(first.removeprefix("pirn: waiting for "))
            settings = (
                "pagination off",
                "width 0",
                "confirm off",
                "tcp connect-timeout unlimited",
            )
            words[1:1] = [
                "-nx",
                "-batch",
                *(x for s in settings for x in ("-iex", f"set {s}")),
            ]
            words += [x for command in (*commands, "kill") for x in ("-ex", command)]
            with tempfile.TemporaryFile("w+") as file:
                gdb = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
                output, errors = board.communicate()  # gdb ends the board
                try:
                    gdb.wait(60)
                except subprocess.TimeoutExpired:  # it has never been there, and gdb waits for it
                    gdb.kill()
                    gdb.wait()
                file.seek(0)
                said = file.read()
        finally:
            board.terminate()
            board.wait()
        self.said = f"{shlex.join(line)}\n{first}{output}{errors}{shlex.join(words)}\n{said}"
        if re.search(r"Traceback|Python Exception|Error occurred in Python", said):
            msg = "the script has failed"
            raise Failed(msg)
        return said

    def at_settled(self, kind: str, cpus: int, preempt: int, *commands: str) -> str:
        return self.gdb(kind, cpus, preempt, "hbreak settled", "continue", *commands)

    def table(self, said: str, states: dict[str, str]) -> dict[str, str]:
        """Number of each thread, by name; checks the states."""
        numbers: dict[str, str] = {}
        for name, pattern in states.items():
            want(rf"^[ *] +\d+ +{name} +OTHER 10 +{pattern}", said)
            numbers[name] = re.search(rf"^[ *] +(\d+) +{name} ", said, re.MULTILINE)[1]
        return numbers

    def ready(self) -> None:
        said = self.at_settled(
            "ready",
            1,
            1,
            "info pirn threads",
            "info pirn waits",
            "info pirn workers",
            "pirn thread apply all bt",
            "pirn thread on-sem",
            "frame function inner",
            "info locals",
            "pirn thread none",
            "echo NONE\\n",
            "bt",
        )
        numbers = self.table(said, WAITING | READY)
        want(
            rf"^[ *] +\d+ +{MAIN} +OTHER 10 +running on CPU 0 +settled \(\) at .*states\.c",
            said,
        )
        want(rf"^[ *] +\d+ +{MAIN} +OTHER 10 +ready +begins at 0x\w+ <never_ran>", said)
        holders = [f'{numbers[name]} "{name}"' for name in ("holder-1", "holder-2")]
        want(f"^deadlock: {holders[0]} -> {holders[1]} -> {holders[0]}$", said)
        want(rf'^policy steal\nCPU +gdb +Switches +Runs\n0 +1 +\d+ +\d+ "{MAIN}"$', said)
        for name in WAITING:
            function = name.replace("-", "_")
            frames = (*("inner",) * 4, function) if name == "on-sem" else (function,)
            want(rf'^Thread \d+ "{name}", .*:\n#1 (?:.*\n)*?{calls(*frames)}', said)
        interrupted = calls("<signal handler called>", "computes_on", "computes")
        want(rf'^Thread \d+ "computes", ready:\n#1 (?:.*\n)*?{interrupted}', said)
        want(
            rf'^Thread \d+ "yields", ready:\n#1 (?:.*\n)*?{calls("sched_yield", "yields")}',
            said,
        )
        want(rf'^Thread \d+ "{MAIN}", ready:\n#1 .* in thread_entry \(.*\n(?!#)', said)
        want(
            rf'^Thread \d+ "{MAIN}", running on CPU 0:\n#0 +settled .*\n#1 .* in main \(',
            said,
        )
        want(r"^local = 42\d\d$", said)
        want(r"\A#0 +settled \(\) at .*\n#1 .* in main \(", said.split("NONE\n")[1])

    def running(self) -> None:
        said = self.at_settled(
            "running",
            2,
            0,
            "info pirn threads",
            "info pirn workers",
            "pirn thread computes",
            "bt",
            "info threads",
        )
        numbers = self.table(said, WAITING)
        place = rf'"computes": running on CPU [01]\]\n\[Switching .*\n(?:.*\n)*?{calls("computes")}'
        want(rf"^[ *] +\d+ +{MAIN} +OTHER 10 +running on CPU [01] +settled \(\) at", said)
        want(
            r"^[ *] +\d+ +computes +OTHER 10 +running on CPU [01] +computes_on \(\) at",
            said,
        )
        want(r'^[01] +[12] +\d+ +\d+ "computes"$', said)
        want(rf'^[01] +[12] +\d+ +\d+ "{MAIN}"$', said)
        want(place, said)
        assert numbers

    def errors(self) -> None:
        said = self.gdb("ready", 1, 1, "info pirn threads", "pirn thread 1")
        want(
            "^the runtime has not started yet: it does at the start of the program",
            said,
        )
        with tempfile.TemporaryDirectory() as where:
            other = Path(where) / "other.elf"
            subprocess.run(
                [
                    self.args.objcopy,
                    "--remove-section=.pirn_debug",
                    self.program,
                    str(other),
                ],
                check=True,
            )
            self.program = str(other)
            said = self.at_settled("ready", 1, 1, "info pirn threads", "bt")
        want(
            r"^this image has no section \.pirn_debug, by which Pirn's threads are found",
            said,
        )
        want(r"^#1 .* in main \(", said)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=("ready", "running", "errors"))
    parser.add_argument("--objcopy", required=True)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("command", nargs="+")
    case = Case(parser.parse_args())
    try:
        getattr(case, case.args.case)()
    except Failed as failure:
        sys.exit(f"{failure} in:\n{case.said}")


if __name__ == "__main__":
    main()
