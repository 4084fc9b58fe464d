# SPDX-License-Identifier: MIT
"""Command lines of tests and benchmarks: what is wrong is refused before anything runs.

check.py NAME=PROGRAM ...: each ends with status 2 and a message that names the value and what is
valid; --help ends with status 0.
"""

from __future__ import annotations

import re
import subprocess
import sys

# Arguments, and a pattern that the message matches.
CASES: dict[str, list[tuple[str, str]]] = {
    "pirn-sim-tests": [
        ("--suite nope", r"--suite=nope: not one of: core, sync, .*, io\b"),
        ("--test nope", r"--test 'nope': not one of: join_returns_value_when_thread_ends, "),
        ("--suite core --test sem_keeps_units_when_contended", r"not one of: join_returns"),
        ("--sched nope", r'--sched=nope: .*there is no policy "nope"; there are: steal '),
        ("--sched steal:amount=two", r'takes one\|half, not "two"'),
        ("--suite classes --sched steal", r"suite classes.* --sched=steal; .* discipline=posix"),
        ("--memory strong", r"--memory=strong: not one of: sc, weak, both\b"),
        ("--cpus 99", r"--cpus=99: not a whole number from 0 to 16\b"),
        ("--seeds x", r"--seeds=x: not a whole number from 0 to "),
        ("--seeds -1", r"--seeds=-1: not a whole number from 0 to "),
        ("--seed 18446744073709551616", r"--seed=18446744073709551616: not a whole number "),
        ("--seeds 0", r"--seeds=0: .*--seconds"),
        ("--seed 1 --seeds 2", r"--seed=1: .*--seeds"),
        ("--seconds x", r"--seconds=x: not a number of seconds"),
        ("--seconds nan", r"--seconds=nan: not a number of seconds"),
        ("--seconds -1", r"--seconds=-1: not a number of seconds"),
        ("--mutant nope", r"--mutant=nope: not one of: none, publish-early, "),
        ("--trace file", r"--trace=file: .* --seed"),
        ("--load nope.so", r"--load=nope\.so: \./nope\.so: cannot open shared object file"),
        ("extra", r"'extra': one operand too many"),
        ("--seeds", r"'--seeds': the value is missing"),
    ],
    "pirn-policy-sim": [
        ("--sched hom", r'there is no policy "hom"; there are: .* home owned relay ranked'),
        ("--mistake nope", r"--mistake=nope: not one of: blind, "),
        ("--mistake blind", r"--mistake=blind: .*--sched=mistake"),
        ("1000 home", r"'1000': one operand too many"),
    ],
    "pirn-sim-posix-tests": [
        ("--suite core", r"--suite=core: not one of: signals, calls, process\b")
    ],
    "pirn-latecomers": [("csv", r"'csv': one operand too many")],
    "pirn-sim-model": [
        ("--topology nope", r"--topology=nope: not one of: xeon, i7, numa64\b"),
        ("--workload nope", r"--workload=nope: not one of: wavemix, pairs\b"),
        ("--sched nope", r'--sched=nope: .*there is no policy "nope"; there are: steal '),
        ("--pin all --sched dist", r"--pin=all: .*--sched"),
        ("--pin one", r"--pin=one: not one of: none, waves, all\b"),
        ("--cpus 5", r"--cpus=5: xeon has 4"),
        ("--buffer 6", r"--buffer=6: a multiple of 4 "),
        ("--buffer 2048", r"--buffer=2048: not a whole number from 4 to 1024\b"),
        ("--trace file --seeds 2", r"--trace=file: .*--seeds"),
        ("--serial --pin all", r"--pin=all: .*--serial"),
        ("xeon", r"'xeon': one operand too many"),
    ],
    "pirn-unit": [
        ("--suite signal", r"--suite=signal: not one of: core, sync, policy, classes, call\b"),
        ("--test nope", r"--test 'nope': not one of: join_returns_value_when_thread_ends, "),
        ("--repeat 0", r"--repeat=0: not a whole number from 1 to "),
    ],
    "pirn-policy-unit": [("--test nope", r"--test 'nope': not one of: ")],
    "pirn-classq": [("--seed x", r"--seed=x: not a whole"), ("7", r"'7': one operand too many")],
    "pirn-arenas": [("--seed 1x", r"--seed=1x: not a whole number from 0 to ")],
    "pirn-litmus": [
        ("nope", r"NAME 'nope': not one of: mp-relaxed, "),
        ("--seeds 0", r"--seeds=0: not a whole number from 1 to "),
        ("-n x", r"--seeds=x: not a whole number from 1 to "),
    ],
    "pirn-cpp17": [
        ("--test nope", r"--test 'nope': not one of: \w+"),
        ("--repeat x", r"--repeat=x: not a whole number from 1 to "),
        ("--terminate nope", r"--terminate=nope: not one of: escape, forget\b"),
    ],
    "pirn-cpp-freestanding": [("nope", r"END 'nope': not one of: join, forget, stack, unlock")],
    "conformance-cond-nptl": [
        ("--case nope", r"--case 'nope': not one of: \w+"),
        ("", r"give either --list or --case"),
    ],
    "pirn-fault": [
        ("", r"WHAT is missing"),
        ("nope", r"WHAT 'nope': not one of: start, overflow, memory, scarce, given\b"),
        (
            "overflow nope",
            r"WHICH 'nope': not one of: joinable, detached, static, sized, elsewhere\b",
        ),
        ("memory 1", r"memory: 1 arguments; it takes: MB CACHED"),
        ("memory 1 x", r"CACHED 'x': not a whole number from 0 to "),
    ],
    "pirn-fault-limits": [("nope", r"CASE 'nope': not one of: nproc, memory\b")],
    "pirn-fault-deadlock": [("nope", r"CASE 'nope': not one of: cycle, ")],
    "gdb-states": [("nope", r"END 'nope': not one of: core\b")],
    "live-waits": [
        ("walk", r"clock, run, churn, descriptors, or N 'walk': not a whole number from 1 to ")
    ],
    "metered-waits": [("nope", r"CASE 'nope': not one of: yield, sleep, call, compute\b")],
    "posix-classes": [("ticks", r"'ticks': one operand too many")],
    "posix-heldlocks": [
        ("nope", r"KIND 'nope': not one of: allocator, linker\b"),
        ("linker", r"LIBRARY goes with linker"),
    ],
    "pirn-preempt": [("nope", r"CASE 'nope': not one of: spin, registers, malloc, blocked\b")],
    "pirn-carriers": [("--seconds x", r"--seconds=x: not a number of seconds")],
    "pirn-profiled": [("nope", r"CASE 'nope': not one of: calls, ")],
    "pirn-profiled-native": [("nope", r"CASE 'nope': not one of: calls, many, recursion\b")],
    "pirn-obeys": [("nope", r"CASE 'nope': not one of: threads, describe, environment\b")],
    "starve-nptl": [("nope", r"NAME 'nope': not one of: [\w-]+, ")],
    "tls-live-nptl": [("x", r"COUNT 'x': not a whole number from 1 to ")],
    "tls-memory-nptl": [("0", r"COUNT '0': not a whole number from 1 to ")],
    "tools-threads": [("nope", r"CASE 'nope': not one of: good, keeps, heap_overflow, ")],
    "pirn-traced": [("nope", r"CASE 'nope': not one of: threads, marks, ")],
    "pirn-trace-cost": [
        ("nope 5", r"CASE 'nope': not one of: yield, create_join, pingpong\b"),
        ("yield x", r"N 'x': not a whole number from 1 to "),
        ("yield", r"N is missing"),
    ],
    "pirn-trace-dump": [("/nonexistent", r"/nonexistent: no trace"), ("", r"FILE is missing")],
    "mjpeg-mutate-nptl": [("/dev/null x", r"COUNT 'x': not a whole number from 1 to ")],
    "apps-psnr": [("a b 1 1 421", r"FORMAT '421': not one of: 420, 422, 444, 400\b")],
    "pirn-stress-mix": [
        ("--threads 100000", r"--threads=100000: not a whole number from 1 to "),
        ("--seed -1", r"--seed=-1: not a whole number from 0 to "),
    ],
    "pirn-stress-blocked": [("--count x", r"--count=x: not a whole number from 1 to ")],
    "pirn-stress-posix-nptl": [
        ("--features nonsense", r"--features 'nonsense': not one of: mutex, rwlock, "),
        ("--features mutex,-rwlock", r'=mutex,-rwlock: either all names with "-", or none'),
        ("--features relay,barrier", r"--features=relay,barrier: nothing is left"),
        ("--seconds", r"'--seconds': the value is missing"),
        ("--seconds 5x", r"--seconds=5x: not a whole number from 1 to "),
        ("--seconds 0", r"--seconds=0: not a whole number from 1 to "),
        ("--actors 1", r"--actors=1: not a whole number from 2 to "),
        ("--unknown 1", r"'--unknown': no such option, .*there are: seconds, actors, "),
    ],
    "stress-closing-nptl": [("--slots=33", r"--slots=33: not a whole number from 1 to 32\b")],
    "micro-nptl": [
        ("--row nope", r"--row=nope: not one of: yield, "),
        ("--row yield --workers 65", r"--workers=65: not a whole number from 1 to 64\b"),
        ("--row yield --samples x", r"--samples=x: not a whole number from 1 to "),
        ("", r"--row is missing"),
    ],
    "micro-floor": [("--row yield", r"--row=yield: not one of: switch, ")],
}


def run(program: str, arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [program, *arguments.split()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, re.sub(r"\n +", " ", done.stdout)


def problems(name: str, program: str) -> list[str]:
    found = []
    unknown = ("--nope", r"'--nope': no such option, .*; there are: .*\bhelp\b")
    for arguments, pattern in [*CASES[name], unknown]:
        status, output = run(program, arguments)
        if status != 2 or not re.search(pattern, output):
            found.append(f"{name} {arguments}: status {status}, no {pattern!r} in:\n{output}")
    status, output = run(program, "--help")
    if status != 0 or not output.startswith("Usage: ") or "--help" not in output:
        found.append(f"{name} --help: status {status}:\n{output}")
    return found


def main() -> None:
    programs = dict(argument.split("=", 1) for argument in sys.argv[1:])
    found = [problem for name in programs for problem in problems(name, programs[name])]
    print("\n".join(found))
    print(f"{len(programs)} programs, {len(found)} problems")
    if found or not programs:
        sys.exit(1)


if __name__ == "__main__":
    main()
