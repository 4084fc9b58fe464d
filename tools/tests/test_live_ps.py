# SPDX-License-Identifier: MIT
"""`pirn ps` and what it reads, on programs that run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import live
import pytest
from live import SLOW, needs_cc, needs_programs, pirn, program, started

from pirn_tools.live.descriptors import address, internet
from pirn_tools.live.dump import Dump
from pirn_tools.live.process import Process
from pirn_tools.live.snapshot import Runtime, agreed

COMMON = {
    "on-sem": r"blocked .* semaphore 0x[0-9a-f]+ <sem>$",
    "takes-a": r'blocked .* mutex 0x[0-9a-f]+ <lock_b>, owned by (\d+\.\d+) "takes-b"$',
    "takes-b": r'blocked .* mutex 0x[0-9a-f]+ <lock_a>, owned by (\d+\.\d+) "takes-a"$',
    "on-cond": r"blocked .* condition 0x[0-9a-f]+ <cond>$",
    "on-sleep": r"blocked .* sleep, \d+\.\d s left$",
    "on-join": r'blocked .* end of thread (\d+\.\d+) "on-sleep"$',
}


def lines_of(output: str) -> dict[str, tuple[str, str]]:
    """By name: number, and the rest of the line."""
    found = re.findall(r"^ *(\d+\.\d+) +(\S+) +(.*?) *$", output, re.MULTILINE)
    return {name: (number, rest) for number, name, rest in found}


def check_states(threads: dict[str, tuple[str, str]]) -> None:
    numbers = {number: name for name, (number, _) in threads.items()}
    for name, pattern in COMMON.items():
        match = re.search(pattern, threads[name][1])
        assert match is not None, threads[name]
        if match.groups():
            assert numbers[match[1]] in pattern


@needs_programs
def test_ps_shows_states_under_the_pthread_api() -> None:
    with program("waits", "run") as process:
        said = pirn("ps", "-p", process.pid)
    assert said.returncode == 0, said.stderr
    threads = lines_of(said.stdout)
    check_states(threads)
    assert re.search(r"running +[01] +-$", threads["runs"][1])
    # Its CPU may sleep in the call.
    assert re.search(r"(blocked|in a call) .* descriptor 0 \(pipe\)$", threads["main"][1])
    assert f"live-waits ({process.pid}), policy steal: 9 threads" in said.stdout
    assert re.search(r'^ *[01] +\d+ +0 +[\d,]+ .* \d+% +\d+\.\d+ "runs"', said.stdout, re.MULTILINE)
    # Its kernel thread has CPU 0, unless it is in that call.
    lwp = r"\d+" if "in a call" in threads["main"][1] else process.pid
    assert re.search(rf"^ *0 +{lwp} ", said.stdout, re.MULTILINE)
    assert "are counted only after the program first reads a thread CPU clock" in said.stdout


@needs_programs
def test_ps_shows_states_under_the_native_api() -> None:
    with program("native", PIRN_SCHED="single") as process:
        said = pirn("ps", "-p", process.pid)
    assert said.returncode == 0, said.stderr
    check_states(lines_of(said.stdout))
    assert "policy single: 7 threads: 1 running, 6 blocked" in said.stdout


@needs_programs
def test_ps_shows_cpu_time_when_the_program_has_it_counted() -> None:
    with program("waits", "clock", "run") as process, Process(process.pid) as memory:
        runtime = Runtime(memory)

        def time_of(name: str) -> int:
            (found,) = (t.time_ns for t in runtime.look().threads if t.name == name)
            assert found is not None
            return found

        before = time_of("runs")
        while time_of("runs") < before + 50_000_000:
            assert process.poll() is None
        assert time_of("on-sem") < 50_000_000


@needs_programs
def test_ps_counts_ready_threads_when_there_are_more_than_cpus() -> None:
    with program("waits", "run", "run", "run", PIRN_CPUS="1") as process:
        with Process(process.pid) as memory:
            snapshot = Runtime(memory).look()
        assert sorted(t.state for t in snapshot.threads if t.name == "runs").count("ready") >= 2
        assert snapshot.ready_on(0) + snapshot.ready_on(None) >= 2


@needs_programs
def test_ps_shows_all_when_there_are_many_threads() -> None:
    with program("waits", "1000") as process:
        said = pirn("ps", "-p", process.pid)
    assert len(re.findall("one-of-many +OTHER 10 +blocked", said.stdout)) == 1000


@needs_programs
def test_look_survives_when_threads_come_and_go() -> None:
    with program("waits", "churn", "run") as process, Process(process.pid) as memory:
        runtime = Runtime(memory)
        for _ in range(100):
            snapshot = runtime.look()
            names = {t.name for t in snapshot.threads}
            assert {"on-sem", "takes-a", "takes-b", "on-cond"} <= names
        dump = Dump(runtime, snapshot)
        for _ in range(50):
            assert len(list(dump.lines(all_threads=True))) > 2 * len(snapshot.threads)


@needs_programs
def test_ps_works_when_the_library_is_stripped(tmp_path: Path) -> None:
    library = os.environ["PIRN_LIBRARY"]
    copy = tmp_path / "libpirn.so.0"
    subprocess.run(["strip", "-o", str(copy), library], check=True)
    with program("native", LD_LIBRARY_PATH=str(tmp_path), LD_PRELOAD=str(copy)) as process:
        said = pirn("ps", "-p", process.pid)
        dumped = pirn("dump", "--limit", SLOW, "-p", process.pid)
        assert str(copy) in Path(f"/proc/{process.pid}/maps").read_text()
    check_states(lines_of(said.stdout))
    assert re.search(r"#\d+ +on_sem at native.c:\d+", dumped.stdout)


def refused(said: subprocess.CompletedProcess[str], text: str) -> None:
    assert said.returncode == 1
    assert said.stdout == ""
    assert re.fullmatch(f"Error: .*{text}.*\n", said.stderr), said.stderr


VERBS = (("ps",), ("dump",), ("top", "-n", "1"))


@pytest.mark.parametrize("verb", VERBS)
def test_refuses_when_there_is_no_such_process(verb: tuple[str, ...]) -> None:
    refused(pirn(*verb, "-p", 2**22 + 1), f"no process has the number {2**22 + 1}")


@pytest.mark.parametrize("verb", VERBS)
def test_refuses_when_it_is_no_pirn_program(verb: tuple[str, ...]) -> None:
    with subprocess.Popen(["sleep", str(live.LIMIT)]) as process:
        said = pirn(*verb, "-p", process.pid)
        process.kill()
    refused(said, f"process {process.pid} has no Pirn runtime: it is not linked with")


def test_refuses_when_the_process_has_ended() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        refused(pirn("ps", "-p", process.pid), f"process {process.pid} has ended")


@pytest.mark.skipif(0 < os.getuid() == Path("/proc/1").stat().st_uid, reason="all is ours here")
def test_refuses_when_it_may_not_read() -> None:
    """Another user's process."""
    code = (
        "import os, sys; from pirn_tools.cli import entry; import pirn_tools.live.tables\n"
        "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "sys.argv[1:] = ['ps', '-p', '1']; entry()"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=live.LIMIT
    )
    refused(said, "no permission to read the memory of process 1: it has to be yours")


FAKE = """
#include <stdio.h>
#include <stdint.h>
#include <unistd.h>
struct entry { char name[28]; uint32_t value, size; };
static struct entry entries[] = {{"rt.started", 0, 4}};
static uint32_t rt[64];
static const char reasons[1][20];
struct { char magic[8]; uint32_t version, entries; void *entry, *rt, *chunks; uint32_t n, max;
         const void *reason; }
pirn_debug_layout = {MAGIC, VERSION, ENTRIES, entries, rt, rt, 1, 20, reasons};
int main(void) { puts("ready"); fflush(stdout); pause(); }
"""


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "fake.c").write_text(FAKE)
    return tmp_path


@needs_cc
@pytest.mark.parametrize(
    ("magic", "version", "entries", "text"),
    [
        ("pirn-dbg", 1, 1, "table is damaged: it has no sizeof.cpu"),
        ("pirn-dbg", 99, 1, "has version 99 of the library's table, this command reads version 1"),
        ("pirn-dbg", 1, 1 << 30, "table is damaged: it has 1073741824 entries"),
        ("something", 1, 1, "has no table at its symbol"),
    ],
)
def test_refuses_when_the_table_is_another(
    fake: Path, magic: str, version: int, entries: int, text: str
) -> None:
    values = {"MAGIC": f'"{magic[:8]}"', "VERSION": version, "ENTRIES": entries}
    defines = [f"-D{name}={value}" for name, value in values.items()]
    output = fake / "fake"
    subprocess.run(
        ["cc", "-rdynamic", *defines, "-o", str(output), str(fake / "fake.c")], check=True
    )
    with started(output) as process:
        refused(pirn("ps", "-p", process.pid), text)


@needs_programs
def test_threads_run_where_the_cpus_say_so() -> None:
    """Never more of them than there are CPUs, however fast these go from one to the next."""
    words = ("churn", "churn", "run", "run", "run")
    with program("waits", *words) as process, Process(process.pid) as memory:
        runtime = Runtime(memory)
        for _ in range(200):
            snapshot = runtime.look()
            running = {t.at: t.cpu for t in snapshot.threads if t.state == "running"}
            assert len(running) <= len(snapshot.cpus)
            said = {cpu.runs: cpu.number for cpu in snapshot.cpus if cpu.runs is not None}
            assert running.items() <= said.items()


@needs_programs
def test_ps_and_dump_say_what_a_descriptor_is() -> None:
    with program("waits", "descriptors") as process:
        said = pirn("ps", "-p", process.pid)
        dumped = pirn("dump", "--limit", SLOW, "--all", "-p", process.pid)
    threads = lines_of(said.stdout)
    place = r"127\.0\.0\.1:\d+"
    for name, what in (
        ("on-tcp", rf"descriptor \d+ \(TCP ({place}), peer {place}\)"),
        ("on-accept", rf"descriptor \d+ \(TCP, listens at {place}\)"),
        ("on-pipe", r"descriptor \d+ \(pipe, other end: descriptor \d+\)"),
        ("on-unix", r"descriptor \d+ \(Unix socket\)"),
        ("on-eventfd", r"descriptor \d+ \(eventfd\)"),
    ):
        # A thread whose CPU had nothing else to run makes the call itself.
        assert re.search(rf"(blocked|in a call) .* {what}$", threads[name][1]), threads[name]
        does = r"(waits for|in a call: \w+,)"
        assert re.search(rf'"{name}": {does} {what}$', dumped.stdout, re.MULTILINE), dumped.stdout
    silent = r"read, descriptor \d+ \(pipe, other end: descriptor \d+\)"
    assert re.search(rf"in a call .* {silent}$", threads["on-syscall"][1]), threads["on-syscall"]
    assert re.search(rf'"on-syscall": in a call: {silent}$', dumped.stdout, re.MULTILINE)


def test_addresses_are_read_as_the_kernel_writes_them() -> None:
    assert address("0100007F:1F90") == "127.0.0.1:8080"
    assert address("00000000000000000000000001000000:0050") == "[::1]:80"
    assert address("0000000000000000FFFF00000100007F:0050") == "127.0.0.1:80"
    for damaged in ("", "0100007F", "xyz:1", "0100:1", "0100007F:zz", "01" * 8 + ":1"):
        assert address(damaged) == "?"
    assert internet("TCP", "0100007F:0050", "00000000:0000", "0A") == "TCP, listens at 127.0.0.1:80"
    assert internet("UDP", "0100007F:0050", "00000000:0000", "07") == "UDP 127.0.0.1:80"


@needs_programs
def test_equal_threads_are_one_line_if_wanted() -> None:
    with program("waits", "2000") as process:
        said = pirn("ps", "--equal", "-p", process.pid)
    assert said.returncode == 0, said.stderr
    assert re.search(r"^Threads  Name +Class +State +Waits for +Ids$", said.stdout, re.MULTILINE)
    same = re.findall(r"^ *([\d,]+)  one-of-many .* <sem> +(.*)$", said.stdout, re.MULTILINE)
    assert [number for number, _ in same] == ["2,000"]
    assert re.fullmatch(r"(\d+\.1, ){3}\d+\.1 and 1,996 more", same[0][1])
    # The others are each by themselves, and the time that is left does not tell sleepers apart.
    assert re.search(r"^ *1  on-sem .* <sem> +\d+\.1$", said.stdout, re.MULTILINE)
    assert re.search(r"^ *1  on-sleep .* blocked +sleep +\d+\.\d+$", said.stdout, re.MULTILINE)
    assert re.search(r"^ *1  takes-a .* owned by \d+\.\d+ \"takes-b\"", said.stdout, re.MULTILINE)


@needs_programs
def test_cpus_decide_where_a_thread_runs() -> None:
    """Its descriptor may have been read when it ran on another one."""
    with program("waits", "run") as process, Process(process.pid) as memory:
        snapshot = Runtime(memory).look()
    (runs,) = (t for t in snapshot.threads if t.state == "running")
    (cpu,) = (one for one in snapshot.cpus if one.runs == runs.at)
    (other,) = (one for one in snapshot.cpus if one is not cpu)
    stale = replace(runs, cpu=other.number, tid=other.tid)
    assert agreed([stale], snapshot.cpus) == [runs]
    assert [t.state for t in agreed([runs], [other])] == ["ready"]
