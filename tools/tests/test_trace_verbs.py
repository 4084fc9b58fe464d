# SPDX-License-Identifier: MIT
"""The verbs of `pirn trace` as the user calls them, on traces made here and on real ones."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import trace_event_format
import vcd
from click.testing import CliRunner, Result
from PIL import Image
from synthetic import HZ, START_CLOCK, Writer, play
from test_command import APPS, needs_library, pirn

from pirn_tools.cli import main
from pirn_tools.trace.colours import Colours
from pirn_tools.trace.export_vcd import STATE_CODES, code
from pirn_tools.trace.model import Model, build
from pirn_tools.trace.plot import Window, lane_picture
from pirn_tools.trace.read import load


def trace(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["trace", *map(str, arguments)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    writer, _ = play(cpus=2, threads=8, events=3000, capacity=8192, slots=4096)
    path = tmp_path / "t.pirn"
    path.write_bytes(writer.bytes())
    return path


def model(path: Path) -> Model:
    return build(load(path))


def test_stat_prints_the_columns_of_the_thesis(file: Path) -> None:
    result = trace("stat", file, "--threads", "3")
    assert result.exit_code == 0, result.output
    for row in (
        "Number of interrupts",
        "Total program time (ms)",
        "Total time in interrupts (%)",
        "Average time in interrupts (ms)",
        "Interrupts per second",
        "Shortest interrupt (ms)",
        "Longest interrupt (ms)",
    ):
        assert row in result.output
    assert "more threads" in result.output


def test_stat_json_has_every_thread(file: Path) -> None:
    found = json.loads(trace("stat", file, "--json").stdout)
    assert len(found["threads"]) == len([t for t in model(file).threads if not t.idle])
    assert found["events"] == 3001 or found["events"] == sum(found["counts"].values())
    cpu = found["cpus"][0]
    assert cpu["interrupt_share"] == pytest.approx(cpu["interrupt_time"] / cpu["time"])


@pytest.mark.parametrize("kind", ["timeline", "load"])
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_plot_writes_a_picture(file: Path, tmp_path: Path, kind: str, suffix: str) -> None:
    output = tmp_path / f"p{suffix}"
    result = trace("plot", file, "-o", output, "--kind", kind)
    assert result.exit_code == 0, result.output
    if suffix == ".png":
        with Image.open(output) as picture:
            assert picture.width == 1800
            assert len(picture.convert("RGB").resize((300, 100)).getcolors(1 << 20) or ()) > 20
    else:
        assert output.read_text().startswith("<?xml")


def test_plot_of_many_turns_paints_shares_of_columns(tmp_path: Path) -> None:
    w = Writer(1, capacity=1 << 16)
    for _ in range(9000):  # of the time 3/4 are thread 5's, the rest is idle
        w.switch(0, 5, "yield")
        w.now += 300
        w.switch(0, 0, "block")
        w.now += 100
    path = tmp_path / "t.pirn"
    path.write_bytes(w.bytes())
    m = model(path)
    spans = m.cpu_spans[~m.idle[m.cpu_spans["key"]]]
    picture = lane_picture(spans, Window(0, m.end), Colours(spans["key"]))
    assert picture[..., 3].mean() == pytest.approx(0.75, abs=0.01)
    assert trace("plot", path, "-o", tmp_path / "p.png").exit_code == 0


PLOT_ERRORS = [
    (("-o", "p.gif"), "ends in .png or .svg"),
    (("-o", "p.png", "--events", "swich"), 'did you mean "switch"'),
    (("-o", "p.png", "--from", "900000"), "no part of the trace"),
    (("-o", "p.png", "--from", "0.5", "--to", "0.4"), "no part of the trace"),
]


@pytest.mark.parametrize(("arguments", "text"), PLOT_ERRORS)
def test_plot_says_what_is_wrong(file: Path, arguments: tuple[str, ...], text: str) -> None:
    result = trace("plot", file, *arguments)
    assert result.exit_code == 2
    assert text in result.output


def test_csv_has_a_line_for_each_event(file: Path, tmp_path: Path) -> None:
    output = tmp_path / "t.csv"
    assert trace("export", file, "--format", "csv", "-o", output).exit_code == 0
    with output.open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    found = load(file)
    assert len(lines) == len(found.rows)
    assert [int(line["timestamp"]) + START_CLOCK for line in lines] == found.rows["clock"].tolist()
    switch = next(line for line in lines if line["event"] == "switch")
    words = dict(word.split("=") for word in switch["parameters"].split())
    assert set(words) == {"why", "next", "previous"}
    assert words["previous"] == switch["thread_id"]
    spawn = next(line for line in lines if line["event"] == "spawn")
    assert 'name="worker' in spawn["parameters"]


def test_csv_keeps_quotes_of_names_apart(tmp_path: Path) -> None:
    w = Writer(1)
    w.event(0, "spawn", a=5, b=1, text='a "b", c')
    w.anywhere(0, "mark", ab=-7, text="line\nend,")
    path, output = tmp_path / "t.pirn", tmp_path / "t.csv"
    path.write_bytes(w.bytes())
    trace("export", path, "--format", "csv", "-o", output)
    with output.open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert lines[0]["parameters"] == 'thread=5.1 life=1 name="a \\"b\\", c"'
    assert lines[1]["parameters"] == 'value=-7 name="line?end,"'


def test_chrome_export_follows_the_published_format(file: Path, tmp_path: Path) -> None:
    output = tmp_path / "t.json"
    assert trace("export", file, "--format", "chrome", "-o", output).exit_code == 0
    found = json.loads(output.read_text())
    trace_event_format.check(found)
    phases = Counter(event["ph"] for event in found["traceEvents"])
    m = model(file)
    assert phases["s"] == phases["f"] > 100
    busy = (~m.idle[m.cpu_spans["key"]]).sum()
    categories = Counter(event.get("cat") for event in found["traceEvents"])
    assert categories["cpu"] == busy
    assert categories["interrupt"] == len(m.trace.which("tick_in"))
    names = {e["args"]["name"] for e in found["traceEvents"] if e["name"] == "thread_name"}
    assert {"CPU 0", "CPU 1"} < names
    assert any('"main"' in name for name in names)


def test_chrome_checker_sees_mistakes(file: Path, tmp_path: Path) -> None:
    output = tmp_path / "t.json"
    trace("export", file, "--format", "chrome", "-o", output)
    for ph, change in (
        ("X", {"dur": "1"}),
        ("X", {"ts": -1.0}),
        ("i", {"s": "x"}),
        ("f", {"ts": 0.0}),
        ("s", {"id": 10**9}),
        ("s", {"ts": 1e9}),
        ("f", {"bp": "x"}),
        ("M", {"args": {}}),
        ("M", {"tid": 0}),
        ("i", {"pid": 1 << 32}),
        ("i", {"pid": 77}),
    ):
        found = json.loads(output.read_text())
        trace_event_format.check(found)
        next(event for event in found["traceEvents"] if event["ph"] == ph).update(change)
        with pytest.raises((AssertionError, KeyError)):
            trace_event_format.check(found)


def test_chrome_flows_begin_in_a_slice_when_nobody_runs(tmp_path: Path) -> None:
    w = Writer(1)
    for name, fields in (
        ("spawn", {"a": 5, "b": 1, "text": "\u00fcber"}),
        ("switch", {"small": 0, "a": 5, "b": 0}),
        ("block", {"small": 9}),
        ("switch", {"small": 2, "a": 0, "b": 5}),
        ("wake", {"small": 2, "a": 5, "b": 0}),
        ("switch", {"small": 0, "a": 5, "b": 0}),
    ):
        w.now += 1000
        w.event(0, name, **fields)
    path, output = tmp_path / "t.pirn", tmp_path / "t.json"
    path.write_bytes(w.bytes())
    trace("export", path, "--format", "chrome", "-o", output)
    text = output.read_text(encoding="utf-8")
    trace_event_format.check_text(text)
    assert '5.1 \\"\u00fcber\\"' in text
    found = json.loads(text)
    trace_event_format.check(found)
    alone = [e for e in found["traceEvents"] if e["ph"] == "X" and e["name"] == "wake"]
    assert [e["dur"] for e in alone] == [0]
    found["traceEvents"].remove(alone[0])
    with pytest.raises(AssertionError):
        trace_event_format.check(found)


def test_chrome_checker_sees_slices_that_overlap() -> None:
    one = {"ph": "X", "pid": 1, "tid": 1, "ts": 0.0, "dur": 2.0}
    trace_event_format.check_nesting([one, {**one, "ts": 2.0}, {**one, "ts": 0.5, "dur": 1.0}])
    with pytest.raises(AssertionError):
        trace_event_format.check_nesting([one, {**one, "ts": 1.0}])


def test_vcd_says_who_runs_and_what_state_threads_are_in(file: Path, tmp_path: Path) -> None:
    output = tmp_path / "t.vcd"
    assert trace("export", file, "--format", "vcd", "-o", output).exit_code == 0
    signals, last = vcd.parse(output.read_text())
    m = model(file)
    assert last == m.end
    for span in m.cpu_spans[:: len(m.cpu_spans) // 100]:
        if span["end"] - span["start"] < 2:
            continue
        middle = int(span["start"] + span["end"]) // 2
        thread = m.threads[int(span["key"])]
        assert signals[f"cpu{span['cpu']}.thread"].at(middle) == thread.index
        assert signals[f"cpu{span['cpu']}.idle"].at(middle) == int(thread.idle)
        if not thread.idle:
            scope = next(path for path in signals if path.startswith(f"thread{thread.index}_"))
            base = scope.split(".")[0]
            state = signals[f"{base}.state"].at(middle)
            assert STATE_CODES[state or 0] == "running"
            assert signals[f"{base}.life"].at(middle) == thread.life


def test_vcd_codes_are_distinct() -> None:
    assert len({code(number) for number in range(30000)}) == 30000


def test_diff_of_a_trace_with_itself_finds_nothing(file: Path) -> None:
    result = trace("diff", file, file)
    assert result.exit_code == 0, result.output
    assert "The switches of all CPUs are the same." in result.output
    assert json.loads(trace("diff", file, file, "--json").stdout)["partings"] == []


def test_diff_says_first_where_switches_part_and_names_the_files(tmp_path: Path) -> None:
    for name, to in (("before", 6), ("after", 7)):
        w = Writer(1)
        w.switch(0, 5, "yield")
        w.now += 100
        w.switch(0, to, "yield")
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.trace").write_bytes(w.bytes())
    words = [tmp_path / name / "same.trace" for name in ("before", "after")]
    lines = trace("diff", *words).output.splitlines()
    assert lines[0] == "The switches differ:"
    assert lines[1] == "  CPU 0: the first 1 are the same, then"
    assert lines[2].startswith("    before/same.trace: 5.0 -> 6.0 (yield)")
    assert lines[3].startswith("    after/same.trace: 5.0 -> 7.0 (yield)")
    assert any("before/same.trace" in line and "second/first" in line for line in lines[4:])


VERBS = [
    ("stat", ()),
    ("plot", ("-o", "x.png")),
    ("export", ("--format", "csv", "-o", "x.csv")),
    ("report", ("-o", "x.html")),
]


@pytest.mark.parametrize(("verb", "options"), VERBS)
def test_verbs_name_a_file_that_is_no_trace(
    tmp_path: Path, verb: str, options: tuple[str, ...]
) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(b"PIRNTRC\n" + bytes(500))
    result = trace(verb, bad, *options)
    assert result.exit_code == 1
    assert f"{bad}: at offset 8: it is of version 0" in result.output
    missing = trace(verb, tmp_path / "none", *options)
    assert missing.exit_code == 1
    assert "no such file" in missing.output


def test_verbs_cope_with_a_trace_without_events(tmp_path: Path) -> None:
    path = tmp_path / "empty.pirn"
    path.write_bytes(Writer(2).bytes())
    assert trace("stat", path).exit_code == 0
    assert trace("diff", path, path).exit_code == 0
    assert trace("report", path, "-o", tmp_path / "r.html").exit_code == 0
    for kind in ("csv", "chrome", "vcd"):
        assert trace("export", path, "--format", kind, "-o", tmp_path / "e").exit_code == 0
    assert trace("plot", path, "-o", tmp_path / "p.png", "--kind", "load").exit_code in (0, 1)


def test_clock_is_that_of_the_header(file: Path) -> None:
    assert load(file).clock.hertz() == pytest.approx(HZ, rel=1e-3)


def recorded(tmp_path: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    program = APPS / "join_chain-pirn"
    if not program.exists():
        pytest.skip("join_chain-pirn is not built")
    output = tmp_path / "r.trace"
    options = arguments or ("--cpus", "2")
    command = ("trace", "record", "-o", str(output), *options, "--", str(program))
    return pirn(*command, "--threads", "40"), output


@needs_library
def test_record_writes_a_trace_that_every_verb_reads(tmp_path: Path) -> None:
    result, output = recorded(tmp_path)
    assert result.returncode == 0, result.stderr
    assert "none lost" in result.stderr
    assert "pirn trace stat" in result.stderr
    found = json.loads(trace("stat", output, "--json").stdout)
    assert found["counts"]["spawn"] == found["counts"]["exit"] == 40
    chrome = tmp_path / "c.json"
    assert trace("export", output, "--format", "chrome", "-o", chrome).exit_code == 0
    trace_event_format.check(json.loads(chrome.read_text()))
    waves = tmp_path / "w.vcd"
    assert trace("export", output, "--format", "vcd", "-o", waves).exit_code == 0
    vcd.parse(waves.read_text())
    assert trace("plot", output, "-o", tmp_path / "p.png").exit_code == 0
    assert trace("report", output, "-o", tmp_path / "r.html").exit_code == 0


@needs_library
def test_program_may_have_any_name(tmp_path: Path) -> None:
    """Characters that would end columns and lines, and bytes that are no UTF-8."""
    program = APPS / "join_chain-pirn"
    if not program.exists():
        pytest.skip("join_chain-pirn is not built")
    strange = tmp_path / os.fsdecode(b"a\tb\nc\xe5")
    strange.symlink_to(program)
    output = tmp_path / "r.trace"
    env = dict(os.environ, PIRN_TRACE=str(output))
    done = subprocess.run([strange, "--threads", "4"], env=env, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    result = trace("stat", output)
    assert result.exit_code == 0, result.output
    assert "a?b?c\ufffd: " in result.output


@needs_library
@pytest.mark.parametrize("sched", ["steal", "single", "central", "dist", "request"])
def test_times_of_a_real_trace_add_up(tmp_path: Path, sched: str) -> None:
    result, output = recorded(tmp_path, "--sched", sched, "--cpus", "2")
    assert result.returncode == 0, result.stderr
    found = json.loads(trace("stat", output, "--json").stdout)
    assert found["lost"] == 0
    busy = sum(cpu["time"] - cpu["idle_time"] for cpu in found["cpus"])
    run = sum(thread["run"] for thread in found["threads"])
    assert run == pytest.approx(busy, rel=0.01)
    for thread in found["threads"]:
        assert thread["run"] + thread["ready"] + thread["blocked"] <= 1.01 * found["duration"]


@needs_library
def test_record_passes_on_the_exit_status_and_knows_that_nothing_was_written(
    tmp_path: Path,
) -> None:
    output = str(tmp_path / "none.trace")
    result = pirn("trace", "record", "--preload", "-o", output, "--", "sh", "-c", "exit 7")
    assert result.returncode == 7
    assert "has written no trace" in result.stderr
    Path(output).write_bytes(b"old")
    result = pirn("trace", "record", "--preload", "-o", output, "--", "true")
    assert result.returncode == 1
    assert "has written no trace" in result.stderr


@needs_library
def test_record_puts_the_process_into_the_name(tmp_path: Path) -> None:
    program = APPS / "join_chain-pirn"
    if not program.exists():
        pytest.skip("join_chain-pirn is not built")
    output = str(tmp_path / "a-%p.trace")
    result = pirn("trace", "record", "-o", output, "--", str(program), "--threads", "3")
    assert result.returncode == 0, result.stderr
    found = list(tmp_path.glob("a-*.trace"))
    assert len(found) == 1
    assert found[0].name.removeprefix("a-").removesuffix(".trace").isdigit()


RECORD_ERRORS = [
    (("true",), 1, "it never started Pirn's runtime"),
    (("no-such-program",), 127, "no such program"),
    (("--full", "newest", "true"), 2, "newest"),
    (("-o", "off", "true"), 2, 'cannot be called "off"'),
    (("--sched", "stael", "true"), 2, "did you mean"),
]


@needs_library
@pytest.mark.parametrize(("arguments", "status", "text"), RECORD_ERRORS)
def test_record_says_what_is_wrong(arguments: tuple[str, ...], status: int, text: str) -> None:
    result = pirn("trace", "record", *arguments)
    assert result.returncode == status
    assert text in result.stderr
    assert "Traceback" not in result.stderr


@needs_library
def test_record_help_has_the_options_of_run() -> None:
    text = pirn("trace", "record", "--help").stdout
    assert "--sched" in text
    assert "PIRN_TRACE" not in text
    assert "pirn.trace" in text
    assert r"\-\-size" in pirn("man", "pirn-trace-record.1").stdout


def test_environment_names_the_file_from_here() -> None:
    from pirn_tools.trace.record import program_environment

    chosen = program_environment("x.trace", "1M", "stop")
    assert chosen == {
        "PIRN_TRACE": f"{os.getcwd()}/x.trace",  # noqa: PTH109
        "PIRN_TRACESIZE": "1M",
        "PIRN_TRACEFULL": "stop",
    }
