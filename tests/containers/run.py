# SPDX-License-Identifier: MIT
"""Runs programs on Pirn as containers do: run.py --build FOLDER CASE...

Cases: works, suites, older, calls, refused, bare, small, quota, affinity, cpuset, programs. Status
77: the system did not allow some of it, or lacks a program; the output says which. Without root,
network and Docker; control groups are used where this user may make some.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from groups import NoGroupsError, group
from real import PROGRAMS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/guide/containers.md"
DOCKER, SERVICE, PROGRAM, OLDER = (
    HERE / f"{name}.filter" for name in ("docker", "service", "program", "older")
)
SKIPPED = 77
PATIENCE = 300.0  # seconds: only a hang takes as long
ENOSYS, EPERM = 38, 1

# What usual filters refuse: a call that only some policies make, and one that can be replaced.
UNUSUAL = {"perf_event_open", "clone3"}

# Each refused, EPERM and ENOSYS in turn, and nothing is lost.
EXPENDABLE = [
    "madvise",
    "membarrier",
    "epoll_pwait2",
    "epoll_pwait",
    "epoll_create1",
    "epoll_ctl",
    "eventfd2",
    "fcntl",
    "preadv2",
    "pwritev2",
    "timer_create",
    "timer_settime",
    "timer_delete",
    "statx",
    "statfs",
    "faccessat",
    "readlinkat",
    "sched_getaffinity",
    "sched_setaffinity",
    "prlimit64",
    "perf_event_open",
    "clock_gettime",
    "rseq",
    "clone3",
    "sched_yield",
    "nanosleep",
    "getsockopt",
    "sigaltstack",
]


class WrongError(Exception):
    """What went wrong, with the output of what was run."""


def say(text: str) -> None:
    print(text, flush=True)


class Runner:
    def __init__(self, build: Path) -> None:
        self.build = build
        self.library = build / "lib/libpirn-pthread.so"
        self.skipped: list[str] = []

    def program(self, name: str) -> str:
        return str(self.build / f"tests/containers/containers-{name}")

    def skip(self, what: str, why: str) -> None:
        say(f"skipped: {what}: {why}")
        self.skipped.append(what)

    def confined(self, options: list[str], command: list[str], **environment: str) -> str | None:
        """The command's output; None: the system does not let us, and it has been said."""
        result = self.run([self.program("confine"), *options, "--", *command], **environment)
        if result.returncode == SKIPPED and "confine: skipped" in result.stdout:
            self.skip(" ".join(["confine", *options]), result.stdout.strip())
            return None
        if result.returncode != 0:
            raise WrongError(
                f"status {result.returncode} of {' '.join(result.args)}, {environment}:\n"
                f"{result.stdout}"
            )
        return result.stdout

    def run(self, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
        given = {k: v for k, v in os.environ.items() if not k.startswith("PIRN_")}
        try:
            return subprocess.run(
                command,
                env={**given, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired as e:
            raise WrongError(
                f"{' '.join(command)}, {environment}: no end after {PATIENCE:.0f} s:\n{e.output}"
            ) from e


@contextmanager
def filter_file(text: str) -> Iterator[str]:
    """A filter that can be read in the new namespaces, where /tmp is empty."""
    with tempfile.NamedTemporaryFile(
        "w", suffix=".filter", dir=HERE if os.access(HERE, os.W_OK) else None
    ) as file:
        file.write(text)
        file.flush()
        yield file.name


def in_docker(*options: str) -> list[str]:
    return ["--filter", str(DOCKER), "--container", *options]


def works(r: Runner) -> None:
    """Every feature, as Docker runs it (process 1), and as systemd filters services."""
    for cpus in ("1", "2"):
        r.confined(in_docker(), [r.program("works-pirn")], PIRN_CPUS=cpus)
    r.confined(in_docker(), [r.program("works-nptl")], LD_PRELOAD=str(r.library))
    r.confined(["--filter", str(SERVICE)], [r.program("works-pirn")], PIRN_CPUS="2")
    for filter_ in (DOCKER, SERVICE):  # looks for calls in modules, and redirects them
        r.confined(
            ["--filter", str(filter_)],
            [str(r.build / "tests/posix/posix-own-futex")],
            PIRN_CPUS="2",
        )


def suites(r: Runner) -> None:
    unit = str(r.build / "tests/unit/pirn-unit")
    for suite in ("core", "sync", "policy"):
        r.confined(in_docker(), [unit, "--suite", suite], PIRN_SCHED="steal", PIRN_CPUS="2")


def older(r: Runner) -> None:
    """Streams refuse RWF_NOWAIT, as on Linux before 6.4."""
    for cpus in ("1", "2"):
        r.confined(
            ["--filter", str(OLDER)], [str(r.build / "tests/posix/posix-waiters")], PIRN_CPUS=cpus
        )
    areas = "io io_block io_closed io_eintr io_errors io_many io_wait streams cancel_points"
    suite = ROOT / "tests/conformance"
    r.confined(
        ["--filter", str(OLDER)],
        [
            *(sys.executable, "-B", str(suite / "run.py")),
            *("--expected", str(suite / "expected.txt"), "--preload", str(r.library)),
            *("--configuration", "pirn.steal.2.preempt"),
            *(
                str(r.build / f"tests/conformance/conformance-{area}-pirn")
                for area in areas.split()
            ),
        ],
    )


def documented() -> list[str]:
    """The calls of the page's tables between its marks."""
    text = PAGE.read_text(encoding="utf-8")
    parts = re.findall(r"<!-- calls: begin -->(.*?)<!-- calls: end -->", text, re.DOTALL)
    found: list[str] = []
    column = 0
    for line in (line for part in parts for line in part.splitlines() if line.startswith("|")):
        cells = line.split("|")
        column = next(
            (i for i, cell in enumerate(cells) if cell.strip() in ("calls", "the call")), column
        )
        found += re.findall(r"`([a-z0-9_]+)`", cells[column])
    if not found or len(found) != len(set(found)):
        raise WrongError(f"{PAGE}: no calls between its marks, or one twice: {sorted(found)}")
    return found


def calls_of_source() -> set[str]:
    """Calls by number in the source, but for the layer that makes the program's own calls."""
    found: set[str] = set()
    files = [
        *ROOT.glob("port/env/linux/**/*.[ch]"),
        *ROOT.glob("port/libc/**/*.[ch]"),
        *ROOT.glob("src/*/*.[ch]"),
    ]
    for file in files:
        if "src/posix" not in str(file):
            found |= set(re.findall(r"\bSYS_([a-z0-9_]+)", file.read_text(encoding="utf-8")))
    return found


def allowed(profile: Path) -> set[str]:
    """Those with a condition, too."""
    lines = profile.read_text(encoding="ascii").splitlines()
    return {word for line in lines if line.startswith("allow ") for word in line.split()[1:]}


def calls(r: Runner) -> None:
    """The page has every call that the runtime makes: another one ends the program."""
    page = documented()
    missing = calls_of_source() - set(page)
    if missing:
        raise WrongError(f"{PAGE.name} lacks calls of the source: {' '.join(sorted(missing))}")
    for profile in (DOCKER, SERVICE):
        refused_there = set(page) - allowed(profile) - UNUSUAL
        if refused_there:
            raise WrongError(
                f"{profile.name} refuses calls of the runtime: {' '.join(sorted(refused_there))}"
            )
    text = PROGRAM.read_text(encoding="ascii") + "".join(f"allow {name}\n" for name in page)
    with filter_file(text) as name:
        for cpus in ("1", "2"):
            r.confined(["--filter", name], [r.program("works-pirn")], PIRN_CPUS=cpus)
        unit = str(r.build / "tests/unit/pirn-unit")
        r.confined(["--filter", name], [unit, "--suite", "core", "--repeat", "2"], PIRN_CPUS="2")
    check_filters_bite(r)


def check_filters_bite(r: Runner) -> None:
    """Without a call that is surely made the program ends: the filters are no dummies."""
    with filter_file("default allow\nnewer allow\nkill futex\n") as name:
        result = r.run(
            [r.program("confine"), "--filter", name, "--", r.program("works-pirn"), "threads"]
        )
    if result.returncode == 0 or "Bad system call" not in result.stdout:
        raise WrongError(f"futex was not filtered: status {result.returncode}:\n{result.stdout}")


def features(text: str) -> dict[str, str]:
    return {
        line.split()[1].rstrip(":"): line
        for line in text.splitlines()
        if re.match("(ok|failed) ", line)
    }


def is_lost(ours: str, system: str) -> bool:
    return system.startswith("ok") and not ours.startswith("ok")


def check_refused(r: Runner, refused_calls: list[str], errno: int) -> None:
    lines = [f"errno {errno} {call}\n" for call in refused_calls]
    with filter_file("".join(["default allow\nnewer allow\n", *lines])) as name:
        command = [r.program("confine"), "--filter", name, "--"]
        system = features(r.run([*command, r.program("works-nptl")]).stdout)
        ours = r.run([*command, r.program("works-pirn")], PIRN_CPUS="2").stdout
    lost = [line for feature, line in features(ours).items() if is_lost(line, system[feature])]
    if lost or not features(ours):
        raise WrongError(f"{refused_calls} refused (error {errno}): {lost}; output:\n{ours}")


def refused(r: Runner) -> None:
    """What works with the C library's threads while a call is refused works with Pirn's."""
    for call in EXPENDABLE:
        for errno in (EPERM, ENOSYS):
            check_refused(r, [call], errno)
        say(f"refused: {call}: nothing is lost")
    for errno in (EPERM, ENOSYS):  # the C library replaces clone3 only where it is not there
        check_refused(r, [call for call in EXPENDABLE if (call, errno) != ("clone3", EPERM)], errno)
    say("refused: all of them together: nothing is lost")


def bare(r: Runner) -> None:
    """Systems with less than Docker's: without /proc, /sys or /dev/shm, or with little there."""
    variants = [
        ["--without", "proc"],
        ["--without", "sys"],
        ["--without", "shm"],
        ["--without", "proc", "--without", "sys", "--without", "shm"],
        ["--shm", "4k"],
        ["--noexec"],
        ["--hidepid"],
        ["--without", "mask"],
    ]
    unit = str(r.build / "tests/unit/pirn-unit")
    for options in variants:
        if r.confined(in_docker(*options), [r.program("works-pirn")], PIRN_CPUS="2") is not None:
            r.confined(
                in_docker(*options), [unit, "--suite", "sync", "--repeat", "2"], PIRN_CPUS="2"
            )
            say(f"bare: {' '.join(options)}: everything works")
    if shutil.which("unshare") is None:
        r.skip("other namespaces", "unshare is not installed")
        return
    times = ["--time", "--monotonic", "1000000", "--boottime", "1000000"]
    for what, options in (("a user without a name", []), ("other times", times)):
        unshare = ["unshare", "--user", *options, "--fork", "--"]
        if r.run([*unshare, "true"]).returncode != 0:
            r.skip(what, r.run([*unshare, "true"]).stdout.strip())
            continue
        result = r.run([*unshare, r.program("works-pirn")], PIRN_CPUS="2")
        if result.returncode != 0:
            raise WrongError(f"{what}:\n{result.stdout}")
        say(f"bare: {what}: everything works")


def check_clear(result: subprocess.CompletedProcess[str], what: str) -> None:
    """It works, or fails with a message that names the reason; it neither crashes nor hangs."""
    if result.returncode == 0 or (
        result.returncode > 0 and re.search("pirn: |pthread_create", result.stdout)
    ):
        say(f"small: {what}: status {result.returncode}")
        return
    raise WrongError(f"{what}: status {result.returncode}, and no message:\n{result.stdout}")


def small(r: Runner) -> None:
    """Few processes (pids.max) and little memory (memory.max)."""
    program = r.program("works-pirn")
    for limit in (2, 3, 4, 5, 6, 8, 12, 20, 40):
        try:
            with group("pids", {"pids.max": str(limit)}) as g:
                check_clear(
                    g.run(
                        r.run, [program, "threads", "preemption", "pipe", "cancel"], PIRN_CPUS="2"
                    ),
                    f"{limit} processes",
                )
        except NoGroupsError as e:
            r.skip(f"at most {limit} processes", str(e))
            break
    for mebibytes in (4, 8, 16, 64):
        try:
            with group("memory", {"memory.max": str(mebibytes << 20)}) as g:
                result = g.run(r.run, [program, "threads", "storage"], PIRN_CPUS="2")
                if "Killed" not in result.stdout and result.returncode != -9:
                    check_clear(result, f"{mebibytes} MiB")
        except NoGroupsError as e:
            r.skip(f"{mebibytes} MiB", str(e))
            break


def workers(
    r: Runner, launch: Callable[..., subprocess.CompletedProcess[str]], **environment: str
) -> int:
    """How many there are by default."""
    command = [r.program("works-nptl"), "threads"]
    result = launch(command, LD_PRELOAD=str(r.library), PIRN_STATS="text", **environment)
    found = re.search(r"^pirn: cpus (\d+)$", result.stdout, re.MULTILINE)
    if result.returncode != 0 or found is None:
        raise WrongError(f"no counters: status {result.returncode}:\n{result.stdout}")
    return int(found[1])


def quota(r: Runner) -> None:
    """Workers by the control group's limit, by that of the group above, and as the user says."""
    processors = len(os.sched_getaffinity(0))
    if processors < 2:
        r.skip("quota", "there is one processor only")
        return
    with group("cpu", {}) as outer:
        for share, expected in ((0.5, 1), (1.0, 1), (1.01, 2), (2.0, 2), (None, processors)):
            outer.limit_cpu(share)
            with outer.below() as inner:
                for g in (outer, inner):
                    got = workers(r, lambda c, g=g, **e: g.run(r.run, c, **e))
                    if got != min(expected, processors):
                        raise WrongError(
                            f"{got} workers for {share} of {processors} processors, not {expected}"
                        )
        outer.limit_cpu(0.5)
        for option, expected in (("all", processors), ("auto", 1), ("3", 3)):
            got = workers(r, lambda c, **e: outer.run(r.run, c, **e), PIRN_CPUS=option)
            if got != expected:
                raise WrongError(f"{got} workers with PIRN_CPUS={option}, not {expected}")


def check_affinity(
    r: Runner,
    kind: str,
    shrink: str,
    grow: str,
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> bool:
    for bind, cpus in (("0", "1"), ("0", "2"), ("0", "4"), ("1", "2")):
        command = [r.program("affinity-pirn"), kind, shrink, grow]
        result = run(command, PIRN_CPUS=cpus, PIRN_BIND=bind)
        if result.returncode == SKIPPED:
            r.skip(kind, result.stdout.strip())
            return False
        if result.returncode != 0 or "affinity: done" not in result.stdout:
            raise WrongError(
                f"PIRN_BIND={bind} PIRN_CPUS={cpus}, {shrink}: status {result.returncode}:\n"
                f"{result.stdout}"
            )
    return True


def affinity(r: Runner) -> None:
    """taskset changes the processors of the running process."""
    if shutil.which("taskset") is None:
        r.skip("affinity", "taskset is not installed")
        return
    check_affinity(
        r,
        "soft",
        "taskset -apc $ONE $PID >/dev/null",
        "taskset -apc $ONE,$OTHER $PID >/dev/null",
        r.run,
    )


def cpuset(r: Runner) -> None:
    """The process's cpuset shrinks and grows."""
    first = sorted(os.sched_getaffinity(0))[:2]
    if len(first) < 2:
        r.skip("cpuset", "there is one processor only")
        return
    both = ",".join(map(str, first))
    with group("cpuset", {"cpuset.mems": None, "cpuset.cpus": both}) as g:
        file = g.file("cpuset.cpus")
        check_affinity(
            r,
            "hard",
            f"echo $ONE > {file}",
            f"echo {both} > {file}",
            lambda c, **e: g.run(r.run, c, **e),
        )


def programs(r: Runner) -> None:
    """Real programs of this machine, preloaded and not, in Docker's profile."""
    for program in PROGRAMS:
        command = program.command()
        if command is None:
            r.skip(program.name, f"{program.needs} is not installed")
            continue
        wanted = r.confined(in_docker(), command)
        if wanted is None:
            return
        began = time.monotonic()
        got = r.confined(in_docker(), ["env", f"LD_PRELOAD={r.library}", *command])
        if got != wanted or not wanted:
            raise WrongError(
                f"{program.name}: the output is\n{got}\nand with the system's threads\n{wanted}"
            )
        say(f"programs: {program.name}: {time.monotonic() - began:.1f} s")


CASES: dict[str, Callable[[Runner], None]] = {
    f.__name__: f
    for f in (works, suites, older, calls, refused, bare, small, quota, affinity, cpuset, programs)
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("cases", nargs="+", choices=sorted(CASES))
    given = parser.parse_args()
    runner = Runner(given.build)
    for case in given.cases:
        try:
            CASES[case](runner)
        except NoGroupsError as e:
            runner.skip(case, str(e))
        except WrongError as e:
            say(f"{case}: FAILED: {e}")
            return 1
    say("containers: " + ("done" if not runner.skipped else "done, but for what was skipped"))
    return SKIPPED if runner.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
