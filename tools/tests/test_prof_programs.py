# SPDX-License-Identifier: MIT
"""Real programs under the profiler: calls that are known, times as gprof and perf find them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from profiles import needs_cc, prof, program
from test_command import needs_library

pytestmark = [needs_cc, needs_library]

CALLS = """\
#include <pthread.h>
#include <sched.h>

static __thread volatile long sink;
typedef void function(void);

void leaf(void) { sink++; }
void one(void) { leaf(); leaf(); }
void two(void) { one(); leaf(); one(); }
int again(int n) { return n == 0 ? 1 : 1 + again(n - 1); }
static function *const both[] = {one, two};

void *worker(void *arg)
{
    for (int i = 0; i < 100; i++) {
        both[i % 4 == 0]();
        sched_yield();
    }
    again((int)(long)arg);
    return arg;
}

int main(void)
{
    pthread_t t[8];
    two();
    for (long i = 0; i < 8; i++)
        if (pthread_create(&t[i], NULL, worker, (void *)i))
            return 1;
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    return 0;
}
"""

# Of the time 60, 30 and 10 percent, under callers that take none themselves. They
# compute in registers: the time of a loop through memory depends on where it lies.
TIMES = """\
#include <pthread.h>

volatile unsigned long sink;

#define ROUNDS(n) unsigned long x = sink; \
    for (int i = 0; i < (n); i++) x = x * 25214903917u + 11; \
    sink = x

__attribute__((noinline)) void small(void) { ROUNDS(100000); }
__attribute__((noinline)) void medium(void) { ROUNDS(300000); }
__attribute__((noinline)) void large(void) { ROUNDS(600000); }
__attribute__((noinline)) void below(void) { medium(); large(); sink++; }

void *worker(void *arg)
{
    for (int i = 0; i < 2000; i++) { below(); small(); }
    return arg;
}

int main(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, worker, NULL))
        return 1;
    worker(NULL);
    return pthread_join(t, NULL);
}
"""
TOP = ["large", "medium", "small"]


def library_folder() -> Path:
    return Path(os.environ["PIRN_LIBRARY"]).parent


def linked(*flags: str, text: str) -> Path:
    """With Pirn; it finds the library where it was built."""
    folder = library_folder()
    always = "-Wl,--no-as-needed"
    return program(
        *flags, always, f"-L{folder}", f"-Wl,-rpath,{folder}", "-lpirn-pthread", text=text
    )


def record(tmp_path: Path, *words: object) -> Path:
    """Runs the command as a user does."""
    output = tmp_path / "p.prof"
    command = [sys.executable, "-m", "pirn_tools", "prof", "record", "-o", output, *words]
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=100
    )
    assert result.returncode == 0, result.stderr
    assert re.match(r"\S+: [\d,]+ threads, [\d,]+ calls, [\d,]+ samples", result.stderr)
    return output


def read(*words: object) -> dict[str, Any]:
    result = prof(*words, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("cpus", [1, 2])
@pytest.mark.parametrize("sched", ["steal", "single"])
def test_known_calls_are_found_exactly(tmp_path: Path, cpus: int, sched: str) -> None:
    binary = linked("-finstrument-functions", "-fno-inline", text=CALLS)
    file = record(tmp_path, "--rate", 0, "--cpus", cpus, "--sched", sched, "--", binary)
    found = {one["name"]: one["calls"] for one in read("flat", file)["functions"]}
    one, two = 8 * 75 + 2 * (8 * 25 + 1), 8 * 25 + 1
    # One of four calls `two` (i % 4 == 0), the other three `one`.
    assert found == {
        "main": 1,
        "worker": 8,
        "one": one,
        "two": two,
        "leaf": 2 * one + two,
        "again": sum(n + 1 for n in range(8)),
    }
    nodes = read("tree", file, "-u", "two")["nodes"]
    ways = [(node["name"], node["calls"]) for node in nodes if node["calls"] is not None]
    assert sorted(ways) == sorted(
        [
            *[("worker", 8), ("two", 200), ("one", 200), ("one", 200), ("leaf", 200)],
            *[("leaf", 200)] * 4,
            *[("main", 1), ("two", 1), ("one", 1), ("one", 1), ("leaf", 1)],
            *[("leaf", 1)] * 4,
        ]
    )
    single = read("tree", file, "--merge", "none", "--thread", "user", "-u", "again")["nodes"]
    roots = [node for node in single if node["parent"] is None]
    assert len(roots) == 8


def test_calls_are_counted_though_the_tree_is_full(tmp_path: Path) -> None:
    binary = linked("-finstrument-functions", "-fno-inline", text=CALLS)
    whole = read("flat", record(tmp_path, "--rate", 0, "--cpus", 1, "--", binary))
    file = record(tmp_path, "--rate", 0, "--cpus", 1, "--nodes", 64, "--", binary)
    part = read("flat", file)
    lost = read("stat", file)
    calls = [{one["name"]: one["calls"] for one in found["functions"]} for found in (whole, part)]
    assert lost["nodes"] < 100
    assert sum(calls[1].values()) + lost["lost_calls"] == sum(calls[0].values())
    if not lost["lost_calls"]:
        assert calls[0] == calls[1]


def shares(functions: list[dict[str, Any]]) -> dict[str, float]:
    """Of those three functions, in percent of their sum."""
    own = {one["name"]: one["own"] for one in functions if one["name"] in TOP}
    return {name: 100 * samples / sum(own.values()) for name, samples in own.items()}


def agree(found: dict[str, float], others: dict[str, float]) -> None:
    """The same order, and about the same times."""
    assert sorted(found, key=lambda name: -found[name]) == TOP
    assert sorted(others, key=lambda name: -others[name]) == TOP
    assert found == pytest.approx(others, abs=15)  # gprof has some 200 samples


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Of the unmodified program."""
    tmp_path = tmp_path_factory.mktemp("ours")
    binary = program("-pthread", text=TIMES)
    file = record(tmp_path, "--preload", "--rate", 500, "--cpus", 2, "--", binary)
    return shares(read("flat", file)["functions"])


def gprof_shares(binary: Path, gmon: Path) -> dict[str, float]:
    command = ["gprof", "-b", "-p", str(binary), str(gmon)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds = {}
    for line in text.splitlines():
        words = line.split()
        if words and words[-1] in TOP:
            seconds[words[-1]] = float(words[2])
    return {name: 100 * one / sum(seconds.values()) for name, one in seconds.items()}


@pytest.mark.skipif(shutil.which("gprof") is None, reason="no gprof")
def test_gprof_finds_the_same_functions(tmp_path: Path, ours: dict[str, float]) -> None:
    own = program("-pg", "-pthread", text=TIMES)
    subprocess.run([own], check=True, cwd=tmp_path, timeout=100)
    theirs = gprof_shares(own, tmp_path / "gmon.out")
    agree(ours, theirs)
    # And of what we have counted and sampled, converted.
    binary = linked("-finstrument-functions", text=TIMES)
    file = record(tmp_path, "--rate", 500, "--cpus", 2, "--", binary)
    result = prof("gprof", file, "-o", tmp_path / "ours.out")
    assert result.exit_code == 0, result.output
    agree(gprof_shares(binary, tmp_path / "ours.out"), theirs)


def perf(tmp_path: Path) -> dict[str, float]:
    binary = program("-pthread", text=TIMES)
    data = tmp_path / "perf.data"
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "500", "-o", str(data), str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    if done.returncode:
        pytest.skip(f"perf does not record here: {done.stderr.strip()[:200]}")
    report = ["perf", "report", "-i", str(data), "--stdio", "-q", "--no-children", "-F"]
    text = subprocess.run(
        [*report, "overhead,symbol"], capture_output=True, text=True, check=True
    ).stdout
    rows = re.findall(r"([\d.]+)%.* (\w+)\s*$", text, re.MULTILINE)
    found = {name: float(share) for share, name in rows if name in TOP}
    return {name: 100 * one / sum(found.values()) for name, one in found.items()}


@pytest.mark.skipif(shutil.which("perf") is None, reason="no perf")
def test_perf_finds_the_same_functions(tmp_path: Path, ours: dict[str, float]) -> None:
    agree(ours, perf(tmp_path))


def test_callers_are_found_by_frames(tmp_path: Path) -> None:
    flags = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]
    binary = program("-pthread", *flags, text=TIMES)
    file = record(tmp_path, "--preload", "--frames", "--rate", 500, "--", binary)
    found = {one["name"]: one for one in read("flat", file)["functions"]}
    assert (
        found["worker"]["total"] > 0.8 * read("flat", file)["samples"]
    )  # `small` has none of its own, and hides it
    assert found["worker"]["own"] < 0.1 * found["worker"]["total"]


def test_program_that_dies_leaves_no_profile(tmp_path: Path) -> None:
    text = "#include <stdlib.h>\nint main(void) { abort(); }\n"
    command = [sys.executable, "-m", "pirn_tools", "prof", "record", "-o", tmp_path / "p", "--"]
    result = subprocess.run([*command, linked(text=text)], capture_output=True, text=True)
    assert result.returncode == 134
    assert re.search("no profile: .*: the file is cut off|has written no profile", result.stderr)
