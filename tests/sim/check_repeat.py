# SPDX-License-Identifier: MIT
"""A failure that pirn-policy-sim reports repeats: from the line that it prints, in a fresh process.

check_repeat.py PROGRAM: runs the deliberate mistakes (tests/policy/mistakes.c), then what each line
"repeat: ..." says, and compares the reasons. Also for mistakes that end the program, and for a
program that somebody ends.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys

REPEAT = re.compile(r"^repeat: pirn-policy-sim (.*)$", re.MULTILINE)
FOUND = re.compile(
    r'^"([\w-]+)" is found, seed \d+, (\w+): (.*)\nrepeat: pirn-policy-sim (.*)$', re.MULTILINE
)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.argv[1], *arguments], capture_output=True, text=True, check=False, timeout=500
    )


def expect(condition: object, what: str, output: str) -> None:
    if not condition:
        sys.exit(f"{what}:\n{output}")


def repeats_what_is_found() -> None:
    output = run("--mistakes").stdout
    found = FOUND.findall(output)
    expect(len(found) >= 8, "fewer mistakes than there are", output)
    for name, test, reason, arguments in found:
        again = run(*shlex.split(arguments))
        expect(again.returncode == 1, f"{name} does not repeat", again.stdout)
        expect(
            f"/{test}: {reason}" in again.stdout,
            f"{name} fails for another reason: {reason}",
            again.stdout,
        )


def repeats_what_ends_the_program(mistake: str, word: str) -> None:
    arguments = ("--sched", "mistake", "--mistake", mistake, "--hang", "1", "--suite")
    first = run(*arguments, "sync", "--seeds", "1")
    expect(first.returncode < 0, f"{mistake}: not ended by a signal", first.stdout)
    expect(f"{word}\n" in first.stdout, f"{mistake}: no word {word}", first.stdout)
    (line,) = REPEAT.findall(first.stdout)
    again = run(*shlex.split(line), "--hang", "1")
    expect(again.returncode == first.returncode, f"{mistake}: does not end so again", again.stdout)
    expect(
        REPEAT.findall(again.stdout) == [line], f"{mistake}: another run than {line}", again.stdout
    )


def tells_when_interrupted() -> None:
    """Lines are written at once, also into a pipe; the last one names the current run."""
    process = subprocess.Popen([sys.argv[1], "--seeds", "1000"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    output = first + process.stdout.read()
    status = process.wait(timeout=500)
    expect(first.endswith(" 0 failed\n"), "not a line", output)
    expect(status == -signal.SIGTERM and "INTERRUPTED\n" in output, f"status {status}", output)
    expect(len(REPEAT.findall(output)) == 1, "no line that repeats the run", output)


def main() -> None:
    repeats_what_is_found()
    repeats_what_ends_the_program("crashing", "CRASHED")
    repeats_what_ends_the_program("looping", "HANGS")
    tells_when_interrupted()


if __name__ == "__main__":
    main()
