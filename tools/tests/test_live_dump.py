# SPDX-License-Identifier: MIT
"""`pirn dump`: back traces of threads of programs that run."""

from __future__ import annotations

import re
import time

from live import LIMIT, needs_programs, pirn, program


def traces(output: str) -> dict[str, tuple[str, list[str]]]:
    """By name: what the thread does, the lines beneath."""
    found: dict[str, tuple[str, list[str]]] = {}
    for part in output.split("\n\n"):
        head, *rest = part.splitlines()
        match = re.fullmatch(r'Thread \d+\.\d+ "(.*?)": (.*)', head)
        if match is not None:
            found.setdefault(match[1], (match[2], rest))
    return found


def functions(lines: list[str]) -> list[str]:
    return [line.split()[1].split("+")[0] for line in lines if "#" in line]


@needs_programs
def test_dump_shows_who_waits_where_under_the_pthread_api() -> None:
    with program("waits", "run", 3) as process:
        said = pirn("dump", "-p", process.pid)
    assert said.returncode == 0, said.stderr
    found = traces(said.stdout)
    does, lines = found["on-sem"]
    assert re.fullmatch(r"waits for semaphore 0x[0-9a-f]+ <sem>", does)
    at = functions(lines).index("inner")
    assert functions(lines)[at : at + 5] == ["inner"] * 4 + ["on_sem"]
    assert functions(lines)[-1] == "thread_entry"
    assert re.search(r"inner at waits.c:\d+$", lines[at])
    assert "main" in functions(found["live-waits"][1])
    for name in ("takes-a", "takes-b", "on-mutex", "on-cond", "on-sleep", "on-join"):
        assert name.replace("-", "_") in functions(found[name][1]), found[name]
    assert re.fullmatch(r"sleeps, 99\d\.\d s left", found["on-sleep"][0])
    does, lines = found["runs"]
    assert re.fullmatch("running on CPU [01]", does)
    assert lines == ["    (no back trace: it runs, and is not stopped to look at it)"]
    assert said.stdout.count("(back trace: as thread ") == 3
    assert re.search(
        r'^Cycle: (\d+\.\d+) "takes-a" -> \d+\.\d+ "takes-b" -> \1 "takes-a"$',
        said.stdout,
        re.MULTILINE,
    )


@needs_programs
def test_dump_shows_threads_that_wait_in_the_kernel_under_the_native_api() -> None:
    with program("native") as process:
        said = pirn("dump", "-p", process.pid)
    found = traces(said.stdout)
    does, lines = found["main"]
    assert does.startswith("running on CPU ")
    assert "main" in functions(lines), lines
    assert functions(found["on-sem"][1])[-2:] == ["on_sem", "thread_entry"]
    assert said.stdout.count("Cycle: ") == 1


@needs_programs
def test_dump_goes_through_the_signal_frame_of_a_preempted_thread() -> None:
    with program("waits", "run", "run", "run", PIRN_CPUS="1") as process:
        end, said = time.monotonic() + LIMIT, pirn("dump", "-p", process.pid)
        # Until the first tick those that are ready have not run yet.
        while not (ready := re.findall(r'Thread \S+ "runs": ready\n((?:    #.*\n)+)', said.stdout)):
            assert time.monotonic() < end, said.stdout
            said = pirn("dump", "-p", process.pid)
    through = [functions(text.splitlines()) for text in ready]
    assert any(names[-2:] == ["runs", "thread_entry"] for names in through), said.stdout
