# SPDX-License-Identifier: MIT
"""`pirn bench figures`: on stand-ins for programs, and on the real ones where they are built."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image
from synthetic import HZ, Writer, play
from test_command import APPS

from pirn_tools.cli import main
from pirn_tools.figures import facts
from pirn_tools.figures.latecomers import Panel, alone, sentence
from pirn_tools.figures.plan import Run
from pirn_tools.figures.shmac import ROWS, SHMAC
from pirn_tools.trace.model import Model, build
from pirn_tools.trace.read import load
from pirn_tools.trace.show import CPU_ROWS

PICTURES = ["3.3", "3.3-request", "3.4", "3.5", "3.6", "5.3", "5.4", "5.5", "5.6"]
REAL = [
    APPS / "join_chain-pirn",
    APPS / "master_worker-pirn",
    APPS.parent / "tests" / "sim" / "pirn-latecomers",
]
US = HZ // 1_000_000
JOIN = 8  # of enum wait_reason, as synthetic.py has it


def figures(*arguments: str | Path, build: Path | None = None) -> Result:
    environment = {"PIRN_BUILD": str(build)} if build else {}
    return CliRunner(env=environment).invoke(
        main, ["bench", "figures", *map(str, arguments)], catch_exceptions=False
    )


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def latecomers() -> str:
    """As the program prints it, of two threads only."""
    lines = ["discipline,start,tick,thread"]
    for discipline in ("shmac", "posix"):
        for start in ("zero", "creator"):
            both = (17, 17, 18, 18) if start == "zero" else (17, 18, 17, 18)
            lines += [f"{discipline},{start},{tick},{t}" for tick, t in enumerate(both)]
    return "\n".join(lines)


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A build whose programs leave a trace that was made here, and write down how they were run."""
    writer, _ = play(cpus=4, threads=8, events=1200, capacity=8192, slots=4096)
    (tmp_path / "t").write_bytes(writer.bytes())
    folder = tmp_path / "build"
    said = f'echo "$0 $* $PIRN_SCHED $PIRN_CPUS $PIRN_TICK ${{PIRN_SPIN-unset}}" >> {tmp_path}/log'
    for name in ("join_chain", "master_worker"):
        script(folder / "apps" / f"{name}-pirn", f'{said}\ncp {tmp_path}/t "$PIRN_TRACE"')
    script(folder / "tests" / "sim" / "pirn-latecomers", f"cat <<E\n{latecomers()}\nE")
    return folder


def check_page(folder: Path) -> str:
    """All that must be there, and that links lead to pictures with something in them."""
    text = (folder / "figures.md").read_text()
    for title in ("3.3", "3.4", "3.5", "3.6", "5.3", "5.4", "5.5", "5.6"):
        assert f"Figure {title}" in text
    for title in ("5.1", "5.2", "5.3", "5.5", "5.6"):
        assert f"| Table {title} | core 0 |" in text
    links = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert links == [f"img/shmac-{name}.png" for name in PICTURES]
    for link in links:
        with Image.open(folder / link) as picture:
            assert picture.width > 1000
            assert len(picture.convert("RGB").resize((300, 100)).getcolors(1 << 20) or ()) > 20
    return text


def test_the_page_has_every_figure_and_table(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIRN_SPIN", "7")
    out, traces = tmp_path / "out", tmp_path / "kept"
    result = figures("shmac", "--output", out, "--traces", traces, build=fake)
    assert result.exit_code == 0, result.output
    text = check_page(tmp_path / "out")
    for said in ("| command |", "| processor |", "| build |", "| schedulers |", "| tick, slice |"):
        assert said in text
    assert "no pictures" in text
    assert SHMAC.source in text
    kept = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert kept == sorted(f"{run.name}.trace" for run in SHMAC.runs)
    log = (tmp_path / "log").read_text()
    assert len(log.splitlines()) == sum(run.tries for run in SHMAC.runs)
    for run in SHMAC.runs:
        words = " ".join(run.args)
        assert f"{run.program}-pirn {words} {run.sched} {run.cpus} 10000 unset\n" in log


def test_the_thesis_rows_are_those_of_the_statistics() -> None:
    known = [name for name, _ in CPU_ROWS]
    assert known[: len(ROWS)] == list(ROWS)
    for item in SHMAC.items:
        if item.table is not None:
            assert [len(cells) for cells in item.table.rows.values()] == [4] * len(ROWS)
            assert SHMAC.run(item.table.run).cpus == 4


def test_the_shortest_try_is_kept(tmp_path: Path) -> None:
    from pirn_tools.figures.make import Programs, record

    lengths = [900, 300, 600]
    for number, events in enumerate(lengths):
        writer, _ = play(cpus=2, events=events, capacity=8192, slots=4096)
        (tmp_path / f"t{number}").write_bytes(writer.bytes())
    count = tmp_path / "count"
    count.write_text("0")
    script(
        tmp_path / "apps" / "x-pirn",
        f'n=$(cat {count}); echo $((n + 1)) > {count}; cp {tmp_path}/t$n "$PIRN_TRACE"',
    )
    run = Run("x", "x", (), (), 2, "dist", tries=3)
    traces = tmp_path / "traces"
    traces.mkdir()
    model = record(run, Programs(tmp_path), traces, 10_000, False)
    ends = [build(load(tmp_path / f"t{number}")).end for number in range(3)]
    assert model.end == min(ends) == ends[1]
    assert [path.name for path in traces.iterdir()] == ["x.trace"]
    assert (traces / "x.trace").read_bytes() == (tmp_path / "t1").read_bytes()


WRONG = [
    (("shmacc",), 2, 'no set of figures "shmacc"; did you mean "shmac"? (valid: shmac, mips'),
    ((), 2, "Missing argument 'SET'"),
    (("mips", "--kept"), 2, "--kept: mips places nothing (valid: area)"),
    (("shmac", "--outptu", "x"), 2, "--outptu"),
    (("mips", "--seeds", "3"), 2, "--seeds: not for mips, only for hw"),
]


@pytest.mark.parametrize(("arguments", "status", "text"), WRONG)
def test_a_wrong_command_line_is_said(arguments: tuple[str, ...], status: int, text: str) -> None:
    result = figures(*arguments)
    assert result.exit_code == status
    assert text in result.output


def test_missing_programs_are_all_named(fake: Path, tmp_path: Path) -> None:
    (fake / "apps" / "join_chain-pirn").unlink()
    (fake / "tests" / "sim" / "pirn-latecomers").unlink()
    result = figures("shmac", "--output", tmp_path / "out", build=fake)
    assert result.exit_code == 1
    assert "not built:" in result.output
    assert "join_chain-pirn" in result.output
    assert "pirn-latecomers" in result.output
    assert "master_worker-pirn" not in result.output
    assert not (tmp_path / "out").exists()


BROKEN = [
    ("apps/join_chain-pirn", "echo no room >&2; exit 3", ["status 3: join_chain-pirn", "no room"]),
    ("apps/join_chain-pirn", "exit 0", ["join_chain-pirn has written no trace"]),
    ("apps/join_chain-pirn", 'echo no trace > "$PIRN_TRACE"', ["chain-25.trace", "at offset 0"]),
    ("tests/sim/pirn-latecomers", "echo a,b; echo 1,2", ["pirn-latecomers", "something else"]),
    ("tests/sim/pirn-latecomers", "echo sick >&2; exit 1", ["pirn-latecomers failed: sick"]),
]


@pytest.mark.parametrize(("program", "text", "said"), BROKEN)
def test_a_program_that_fails_is_said(
    fake: Path, tmp_path: Path, program: str, text: str, said: list[str]
) -> None:
    script(fake / program, text)
    result = figures("shmac", "--output", tmp_path / "out", build=fake)
    assert result.exit_code == 1
    assert all(one in result.output for one in said), result.output
    assert not (tmp_path / "out" / "figures.md").exists()


def test_bench_still_takes_suites() -> None:
    for arguments in (["bench", "--list"], ["bench", "suites", "--list"]):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert "micro" in result.output
    result = CliRunner().invoke(main, ["bench", "no-such-suite"])
    assert result.exit_code == 2
    assert "no-such-suite" in result.output


def write(path: Path, writer: Writer) -> Model:
    path.write_bytes(writer.bytes())
    return build(load(path))


def join_of_two(path: Path, ends_on: int) -> Model:
    """Thread 4 waits for 5 on CPU 0; 5 ends on one of the CPUs, 4 goes on 3 µs later."""
    w = Writer(2)
    w.event(0, "thread", small=1, a=4, b=1)
    w.switch(0, 4, "start")
    w.event(0, "spawn", a=5, b=1)
    w.event(0, "block", small=JOIN, a=5)
    w.now += 2 * US
    if ends_on == 0:
        w.switch(0, 5, "block")
    else:
        w.switch(0, 0, "block")
        w.switch(1, 5, "start")
    w.now += 10 * US
    w.event(ends_on, "exit", a=5, b=1)
    w.event(ends_on, "wake", a=4, b=5)
    w.now += 3 * US
    w.switch(0, 4, "exit")
    w.event(0, "join", a=5, b=1)
    return write(path, w)


@pytest.mark.parametrize("ends_on", [0, 1])
def test_joins_are_timed_from_the_end_to_the_joiner(tmp_path: Path, ends_on: int) -> None:
    model = join_of_two(tmp_path / "t", ends_on)
    (only,) = facts.joins(model)
    assert only.crosses == (ends_on == 1)
    assert only.time == 3000
    where = "across CPUs" if ends_on else "on one CPU"
    said = facts.chain(model)
    assert said.startswith(f"1 join in 15 µs; 1 joiner waited {where}: 3 µs from the end")


@pytest.mark.parametrize("reason", [None, 1])
def test_a_joiner_that_comes_late_has_not_waited(tmp_path: Path, reason: int | None) -> None:
    """Neither if it has waited for something else (1: a mutex) when the thread ended."""
    w = Writer(1)
    w.event(0, "thread", small=1, a=4, b=1)
    w.switch(0, 4, "start")
    w.event(0, "spawn", a=5, b=1)
    if reason is not None:
        w.event(0, "block", small=reason, a=0x1000)
    w.switch(0, 5, "yield")
    w.event(0, "exit", a=5, b=1)
    w.switch(0, 4, "exit")
    w.event(0, "join", a=5, b=1)
    assert facts.joins(write(tmp_path / "t", w)) == []


def test_requests_are_paired_with_their_answers(tmp_path: Path) -> None:
    w = Writer(3)
    w.event(1, "request", small=0)
    w.now += 5 * US
    w.event(2, "request", small=0)
    w.now += 5 * US
    w.event(0, "answer", small=2, a=0)
    w.now += 10 * US
    w.event(0, "answer", small=1, a=1)
    w.event(1, "request", small=2)
    model = write(tmp_path / "t", w)
    pairs = facts.request_pairs(model)
    assert sorted(int(model.ns[b] - model.ns[a]) for a, b in pairs) == [5000, 20000]
    said = "3 requests, 2 answers with 1 thread; from request to answer 5 µs to 20 µs."
    assert facts.requests(model) == said


def test_workers_are_counted_where_they_ran(tmp_path: Path) -> None:
    w = Writer(2)
    w.event(0, "thread", small=1, a=4, b=1)
    w.switch(0, 4, "start")
    for index in (5, 6):
        w.event(0, "spawn", a=index, b=1)
    for cpu, index in ((0, 5), (1, 6), (1, 5), (0, 4)):
        w.now += 10 * US
        w.switch(cpu, index, "preempt")
    w.event(0, "join", a=5, b=1)
    said = facts.workers(write(tmp_path / "t", w))
    assert said == "2 workers in 40 µs, by CPU: 1, 2; 1 change of CPU; 3 turns."


def test_late_threads_are_counted_while_they_run_alone() -> None:
    ran = [17, 17, 17, 18, 18, 17, 18]
    assert (alone(ran, 17), alone(ran, 18), alone(ran, 19)) == (3, 2, 0)
    assert sentence(Panel("", ran)).endswith("17: 3, 18: 2.")


@pytest.mark.skipif(
    not all(os.access(path, os.X_OK) for path in REAL),
    reason="PIRN_APPS has no build with the applications and pirn-latecomers",
)
def test_real_programs_make_the_page(tmp_path: Path) -> None:
    result = figures("shmac", "--short", "--output", tmp_path, build=APPS.parent)
    assert result.exit_code == 0, result.output
    text = check_page(tmp_path)
    assert "17: 50, 18: 50, 19: 50, 20: 50." in text
    assert "17: 50, 18: 1, 19: 1, 20: 1." in text
    assert "by CPU: 1, 1, 1, 1; none changed its CPU" in text
    assert "by CPU: 10, 10, 10, 10; none changed its CPU" in text
    assert "by CPU: 100, 100, 100, 100; none changed its CPU" in text
    requests = re.search(r"\| (\d+) requests?, (\d+) answers? with (\d+) threads?", text)
    assert requests is not None
    assert int(requests[1]) >= int(requests[2]) >= int(requests[3]) >= 1
