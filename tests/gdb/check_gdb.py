# SPDX-License-Identifier: MIT
"""tools/debuggers/pirn-gdb.py on states.c, whose threads are named after what they wait for.

usage: check_gdb.py CASE --gdb GDB --states PROGRAM --plain PROGRAM --library FILE --build DIR ...
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "debuggers" / "pirn-gdb.py"

# Name of the thread: state, place.
STATES = {
    "holder-1": r"waiting for mutex 0x\w+ <m2>, owned by thread \d+ \"holder-2\" +holder_1 \(\)",
    "holder-2": r"waiting for mutex 0x\w+ <m1>, owned by thread \d+ \"holder-1\" +holder_2 \(\)",
    "on-robust": r"waiting for mutex 0x\w+ <robust>, owned by thread \d+ \".*states\" +on_robust",
    "on-cond": r"waiting for condition 0x\w+ <cond> +on_cond \(\)",
    "on-rwlock": r"waiting for rwlock to read 0x\w+ <rwlock>, held by writer \d+ \".*\" +on_rwlock",
    "on-barrier": r"waiting for barrier 0x\w+ <barrier> +on_barrier \(\)",
    "on-read": r"waiting for descriptor \d+ +on_read \(\)",
    "on-sleep": r"sleeping, until [\d.]+ s \(CLOCK_MONOTONIC\) +on_sleep \(\)",
    "on-join": r"waiting for the end of thread \d+ \"on-sleep\" +on_join \(\)",
    "on-sem": r"waiting for semaphore 0x\w+ <sem> +inner \(\) at .*waits\.h:\d+",
}


class Failed(Exception):  # noqa: N818
    pass


def want(pattern: str, said: str) -> None:
    if not re.search(pattern, said, re.MULTILINE):
        msg = f"nothing matches '{pattern}'"
        raise Failed(msg)


def refuse(pattern: str, said: str) -> None:
    if re.search(pattern, said, re.MULTILINE):
        msg = f"'{pattern}' should not be there"
        raise Failed(msg)


class Case:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.environment = dict(os.environ, DEBUGINFOD_URLS="")
        self.said = ""

    def gdb(self, program: list[str], *commands: str, early: tuple[str, ...] = ()) -> str:
        """Each command by itself, so that an error does not end the others."""
        line = [self.args.gdb, "-nx", "-batch", "-iex", "set pagination off"]
        line += ["-iex", "set confirm off", "-iex", "set width 0"]
        line += ["-iex", "set auto-load safe-path /"]
        for command in early:
            line += ["-iex", command]
        for command in commands:
            line += ["-ex", command]
        line += ["--args", *program] if len(program) < 2 or program[1] != "-core" else program
        run = subprocess.run(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=self.environment,
            timeout=600,
        )
        self.said = f"{' '.join(line)}\n{run.stdout}"
        refuse(r"Traceback|Python Exception|Error occurred in Python", self.said)
        return self.said

    def at_settled(self, *commands: str) -> str:
        source = f"source {SCRIPT}"
        return self.gdb([self.args.states], source, "break settled", "run", *commands)

    def table(self, said: str) -> dict[str, str]:
        """Number of each thread, by name; checks the states."""
        numbers: dict[str, str] = {}
        for name, pattern in STATES.items():
            want(rf"^[ *] +\d+ +{name} +OTHER 10 +{pattern}", said)
            numbers[name] = re.search(rf"^[ *] +(\d+) +{name} ", said, re.MULTILINE)[1]
        return numbers

    def live(self) -> None:
        said = self.at_settled("info pirn threads", "info pirn waits")
        numbers = self.table(said)
        want(
            r"^[ *] +\d+ +\S*states +OTHER 10 +running on worker 0 +settled \(\) at .*states\.c",
            said,
        )
        want(r"^[ *] +\d+ +\S*states +OTHER 10 +ready +begins at 0x\w+ <never_ran>", said)
        holders = numbers["holder-1"], numbers["holder-2"]
        names = [f'{n} "holder-{i + 1}"' for i, n in enumerate(holders)]
        want(f"^deadlock: {names[0]} -> {names[1]} -> {names[0]}$", said)
        said = self.at_settled(
            "pirn thread on-sem",
            "bt",
            "frame function inner",
            "info locals",
            "up",
            "pirn thread",
            "pirn thread on-join bt",
            "pirn thread",
            "pirn thread none",
            "echo NONE\\n",
            "bt",
            "pirn thread on-sem",
            "next",
            "echo AFTER\\n",
            "bt",
            "pirn thread",
            "pirn thread apply all bt",
            "pirn thread on-sem frame function on_sem",
            "kill",
        )
        want(r'^\[thread \d+ "on-sem": waiting for semaphore', said)
        n = re.search(r'^\[thread (\d+) "on-sem"', said, re.MULTILINE)[1]
        want(r"inner \(depth=.*\n(?:.*inner.*\n){3}.* on_sem \(arg=", said)
        want(r"^local = 42\d\d$", said)
        want(rf"^thread {n} is selected$[\s\S]*on_join \(arg=[\s\S]*^thread {n} is selected$", said)
        none = said.split("NONE\n")[1]
        want(r"\A#0 +settled \(\) at .*\n#1 .* in main \(", none)
        after = said.split("AFTER\n")[1]
        want(r"\A#0 .*\b(settled|main) \(", after)
        want(r"^no thread is selected", after)
        for name in STATES:
            want(rf'^Thread \d+ "{name}", .*:\n#1 ', after)
        want(r"on_sem \(arg=.*\n\d\d\s", after)

    def workers(self) -> None:
        said = self.at_settled("info pirn threads", "info pirn workers", "kill")
        self.table(said)
        want(r"^policy steal\n^Worker +LWP +gdb +Switches +Runs", said)
        want(r'^\d +\d+ +\d+ +\d+ +\d+ "\S*states"', said)
        # Or the thread that was made last: the other worker may be quick.
        want(r'^1 +\d+ +\d+ +\d+ +(nothing|\d+ "\S*states")', said)

    def core(self) -> None:
        pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
        if not re.fullmatch(r"core(\.%p)?", pattern):
            print(f"SKIPPED: core files go elsewhere here (core_pattern is '{pattern}')")
            sys.exit(0)
        with tempfile.TemporaryDirectory() as where:
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            if hard != resource.RLIM_INFINITY:
                print("SKIPPED: core files are not allowed here (hard limit)")
                sys.exit(0)
            subprocess.run(
                ["sh", "-c", f"ulimit -c unlimited; exec '{self.args.states}' core"],
                cwd=where,
                check=False,
                env=self.environment,
            )
            core = next(Path(where).glob("core*"))
            program = [self.args.states, "-core", str(core)]
            said = self.gdb(program, f"source {SCRIPT}", "info pirn threads", "info pirn waits")
            n = self.table(said)["on-sem"]
            want(r"^deadlock: .*holder-1.* -> .*holder-2", said)
            said = self.gdb(
                program,
                f"source {SCRIPT}",
                f"pirn thread {n}",
                "bt",
                "frame function inner",
                "info locals",
            )
            want(r"inner \(depth=.*\n(?:.*inner.*\n){3}.* on_sem \(arg=", said)
            want(r"^local = 42\d\d$", said)

    def stripped(self) -> None:
        """Neither debug information nor symbols but the exported ones."""
        with tempfile.TemporaryDirectory() as where:
            library = Path(where) / "libpirn-pthread.so.0"
            shutil.copy(self.args.library, library)
            subprocess.run([self.args.strip, "--strip-all", str(library)], check=True)
            early = (f"set environment LD_PRELOAD {library}", "set startup-with-shell off")
            commands = ["break settled", "run", "info pirn threads", "info pirn waits"]
            commands += ["pirn thread apply all bt", "info sharedlibrary"]
            said = self.gdb([self.args.states], f"source {SCRIPT}", *commands, early=early)
            want(r"\bon-sem\b", said)
            want(r"^deadlock: .*holder-1.* -> .*holder-2", said)
            want(rf"Yes \(\*\) +{library}", said)
            want(r"inner \(depth=.*\n(?:.*inner.*\n){3}.* on_sem \(arg=", said)

    def errors(self) -> None:
        def one(program: str, *commands: str) -> str:
            return self.gdb([program], f"source {SCRIPT}", *commands)

        want("^the program is not being run: `run` it", one(self.args.states, "info pirn threads"))
        said = one(self.args.plain, "break main", "run", "info pirn threads")
        want("^this program has no Pirn runtime, or its libraries are not loaded yet", said)
        said = one(self.args.states, "break main", "run", "info pirn threads")
        want("^the runtime has not started yet", said)
        said = self.at_settled("pirn thread 4711")
        want("^there is no thread 4711: `info pirn threads` shows the number and name", said)
        said = self.at_settled("pirn thread x", "pirn thread gdb-states")
        want("^there is no thread x: `info pirn threads`", said)
        want("^there are 2 threads gdb-states: `info pirn threads`", said)
        want("^usage: pirn thread apply", self.at_settled("pirn thread apply all"))
        version = "set {int}((char*)&pirn_debug_layout+8) = 99"
        want("^this script reads version 1 .*has 99", self.at_settled(version, "info pirn threads"))

    def installed(self) -> None:
        """gdb finds the script by itself."""
        with tempfile.TemporaryDirectory() as where:
            prefix = Path(where).resolve() / "usr"
            install = ["cmake", "--install", self.args.build, "--component", "library"]
            install += ["--prefix", str(prefix)]
            subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
            if not (prefix / "share/pirn/pirn-gdb.py").exists():
                msg = "share/pirn/pirn-gdb.py is not installed"
                raise Failed(msg)
            library = next(prefix.rglob("libpirn-pthread.so.0"))
            early = (
                f"set environment LD_PRELOAD {library}",
                "set startup-with-shell off",
                f"add-auto-load-scripts-directory {prefix}/share/gdb/auto-load",
            )
            commands = ["break settled", "run", "info pirn threads"]
            self.table(self.gdb([self.args.states], *commands, early=early))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    for name in ("gdb", "states", "plain", "library", "build", "strip"):
        parser.add_argument(f"--{name}", required=True)
    case = Case(parser.parse_args())
    try:
        getattr(case, case.args.case)()
    except Failed as failure:
        sys.exit(f"{failure} in:\n{case.said}")


if __name__ == "__main__":
    main()
