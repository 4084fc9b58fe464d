# SPDX-License-Identifier: MIT
"""`pirn dump`: back traces of threads of programs that run."""

from __future__ import annotations

import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from live import LIMIT, SLOW, needs_programs, pirn, program

from pirn_tools.live.equal import Found, Trace, groups
from pirn_tools.live.snapshot import Thread
from pirn_tools.live.waits import Wait


def traces(output: str) -> dict[str, tuple[str, list[str]]]:
    """By name: what the thread does, the lines beneath."""
    found: dict[str, tuple[str, list[str]]] = {}
    for part in output.split("\n\n"):
        head, *rest = part.splitlines()
        match = re.fullmatch(r'Thread \d+\.\d+ "(.*?)"(?: \(main\))?: (.*)', head)
        if match is not None:
            found.setdefault(match[1], (match[2], rest))
    return found


def functions(lines: list[str]) -> list[str]:
    return [line.split()[1].split("+")[0] for line in lines if "#" in line]


@needs_programs
def test_dump_shows_who_waits_where_under_the_pthread_api() -> None:
    with program("waits", "run", 3) as process:
        said = pirn("dump", "--limit", SLOW, "--all", "-p", process.pid)
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
    assert re.fullmatch(r"sleeps, \d+\.\d s left", found["on-sleep"][0])
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
        said = pirn("dump", "--limit", SLOW, "-p", process.pid)
    found = traces(said.stdout)
    does, lines = found["main"]
    assert does.startswith("running on CPU ")
    assert "main" in functions(lines), lines
    assert functions(found["on-sem"][1])[-2:] == ["on_sem", "thread_entry"]
    assert said.stdout.count("Cycle: ") == 1


@needs_programs
def test_dump_goes_through_the_signal_frame_of_a_preempted_thread() -> None:
    with program("waits", "run", "run", "run", PIRN_CPUS="1") as process:
        end, said = (
            time.monotonic() + LIMIT,
            pirn("dump", "--limit", SLOW, "--all", "-p", process.pid),
        )
        # Until the first tick those that are ready have not run yet.
        while not (ready := re.findall(r'Thread \S+ "runs": ready\n((?:    #.*\n)+)', said.stdout)):
            assert time.monotonic() < end, said.stdout
            said = pirn("dump", "--limit", SLOW, "--all", "-p", process.pid)
    through = [functions(text.splitlines()) for text in ready]
    assert any(names[-2:] == ["runs", "thread_entry"] for names in through), said.stdout


@needs_programs
def test_dump_shows_equal_threads_once() -> None:
    with program("waits", 2000) as process:
        said = pirn("dump", "--limit", SLOW, "-p", process.pid)
        each = pirn("dump", "--limit", SLOW, "--all", "-p", process.pid)
    assert said.returncode == each.returncode == 0, said.stderr + each.stderr
    found = re.search(
        r'^2,001 threads like (\d+)\.1 "on-sem": wait for semaphore 0x[0-9a-f]+ <sem>\n'
        r"    \(also \d+\.1, \d+\.1, \d+\.1, \d+\.1, \d+\.1 and 1,995 more\)\n    #0 ",
        said.stdout,
        re.MULTILINE,
    )
    assert found is not None, said.stdout
    assert said.stdout.count("one-of-many") == 0
    assert len(said.stdout.splitlines()) < 100
    assert each.stdout.count("one-of-many") == 2000
    for output in (said.stdout, each.stdout):
        assert output.count("Cycle: ") == 1
        # The last thread to wait for a descriptor makes the call itself, and its CPU sleeps in it.
        does = "(waits for|in a call: read,)"
        main = rf'^Thread 2\.0 "live-waits" \(main\): {does} descriptor 0 \(pipe\)$'
        assert re.search(main, output, re.MULTILINE), output


def found(index: int, trace: Trace, does: str, wait: Wait | None) -> Found:
    thread = SimpleNamespace(id=f"{index}.1", index=index, label=f'{index}.1 "t"')
    return Found(cast("Thread", thread), trace, does, wait)


def heads(*threads: Found) -> list[str]:
    return [f"{one.head} {one.others}".strip() for one in groups(threads)]


def test_threads_are_apart_when_stack_state_or_kind_of_wait_differ() -> None:
    here, there = Trace((1, 2)), Trace((1, 3))
    mutex, sem = Wait("mutex", "m"), Wait("semaphore", "s")
    assert heads(
        found(1, here, "waits for mutex m", mutex),
        found(2, there, "waits for mutex m", mutex),
        found(3, here, "waits for semaphore s", sem),
        found(4, here, "ready", None),
        found(5, here, "waits for mutex m", mutex),
    ) == [
        '2 threads like 1.1 "t": wait for mutex m also 5.1',
        'Thread 2.1 "t": waits for mutex m',
        'Thread 3.1 "t": waits for semaphore s',
        'Thread 4.1 "t": ready',
    ]


def test_waits_for_many_different_objects_are_one_group_and_for_few_are_not() -> None:
    here = Trace((1, 2))

    def on(index: int, number: int) -> Found:
        return found(index, here, f"waits for fd {number}", Wait("fd", str(number), left=number))

    few = [on(i, i % 3) for i in range(6)]
    assert heads(*few) == [
        '2 threads like 0.1 "t": wait for fd 0, 0.0 s left also 3.1',
        '2 threads like 1.1 "t": wait for fd 1, 1.0 s left also 4.1',
        '2 threads like 2.1 "t": wait for fd 2, 2.0 s left also 5.1',
    ]
    assert heads(*(on(i, i % 4) for i in range(8))) == [
        '8 threads like 0.1 "t": wait for fd (4 different ones), 0.0 to 3.0 s left '
        "also 1.1, 2.1, 3.1, 4.1, 5.1 and 2 more"
    ]


def test_sleepers_are_one_group() -> None:
    here = Trace((1, 2))
    sleepers = [found(i, here, "sleeps, 1.0 s left", Wait("sleep", "", left=i)) for i in (1, 9)]
    assert heads(*sleepers) == ['2 threads like 1.1 "t": sleep, 1.0 to 9.0 s left also 9.1']


SOURCES = Path(__file__).parents[2] / "tests" / "live"


def line_of(name: str, text: str) -> int:
    lines = (SOURCES / name).read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if text in line)


@needs_programs
def test_names_are_those_of_the_source_and_lines_those_of_the_named_function() -> None:
    """Of inlined code the line of its call counts, as the name is that of the function around it.
    The innermost frame is in the switch, which is inlined; the address behind a call that does not
    return belongs to the next function."""
    with program("cxx") as process:
        said = pirn("dump", "--limit", SLOW, "-p", process.pid)
        listed = pirn("ps", "-p", process.pid)
    does, lines = traces(said.stdout)["in-cxx"]
    assert re.fullmatch(r"waits for semaphore 0x[0-9a-f]+ <demo::gate>", does)
    assert "<demo::gate>" in listed.stdout
    assert "_ZN" not in said.stdout + listed.stdout
    assert "port_arch.h" not in said.stdout
    assert re.search(r"#0 +sem_wait_plain_point at sem\.c:\d+$", lines[0]), lines
    at = next(i for i, line in enumerate(lines) if "waits_for" in line)
    wanted = [
        ("void demo::waits_for<sem_t>(sem_t*)", line_of("cxx.cpp", "the line that dump names")),
        ("demo::never_returns()", line_of("cxx.cpp", "waits_for<sem_t>(&gate)")),
        ("demo::calls_last()", line_of("cxx.cpp", "    never_returns();")),
        ("begins_here", line_of("cxx.cpp", "demo::calls_last();")),
    ]
    shown = [re.sub(r" +#\d+ +", "", line) for line in lines[at : at + 4]]
    assert shown == [f"{name} at cxx.cpp:{line}" for name, line in wanted]
