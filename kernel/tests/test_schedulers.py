# SPDX-License-Identifier: MIT
"""What run.py lets the guest run, and what it makes of several runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

GUEST = Path(__file__).resolve().parents[1] / "guest"
sys.path.insert(0, str(GUEST))

import run  # noqa: E402
from results import Cell, Part, read_cell, several  # noqa: E402

RELAY = run.Program("relay", "bin/relay", "relay --affinity", "relay", [])
WAVEMIX = run.Program("wavemix, 4 KB", "apps/w", "w --affinity", "w", [], samples="samples")


def parts(*programs: run.Program) -> list[str]:
    lines = run.script(list(programs), run.SCHEDULERS, [], []).splitlines()
    return [line for line in lines if line.startswith("echo '@begin ")]


def test_tasks_are_pinned_in_wavemix_alone() -> None:
    of_relay, of_wavemix = parts(RELAY), parts(WAVEMIX)
    assert not any("pinned" in line for line in of_relay)
    assert [line for line in of_wavemix if "pinned" in line] == [
        "echo '@begin wavemix, 4 KB|SCHED_FIFO, waves pinned|1'",
        "echo '@begin wavemix, 4 KB|SCHED_FIFO, all pinned|1'",
    ]
    assert len(of_wavemix) == len(of_relay) + 2


def test_pinned_tasks_declare_nothing() -> None:
    (pinned,) = (one for one in run.SCHEDULERS if one.name == "SCHED_FIFO, all pinned")
    first, *rest = run.run_commands(WAVEMIX, pinned)
    assert first == "/usr/bin/chrt -f 10 w --pin=all"
    assert rest == ["status=$?", "cat samples", "( exit $status )"]
    (plain,) = (one for one in run.SCHEDULERS if one.name == "EEVDF")
    assert run.run_commands(RELAY, plain)[0] == "relay"


def test_all_take_turns_in_each_round() -> None:
    lines = run.script([RELAY], run.SCHEDULERS, [], [], rounds=2).splitlines()
    names = [line.split("'")[1].removeprefix("@begin ") for line in lines if "@begin" in line]
    cells = [cell for name in names if (cell := read_cell(name))]
    assert [cell.round for cell in cells] == [1] * 6 + [2] * 6
    assert [cell.scheduler for cell in cells[:6]] == [cell.scheduler for cell in cells[6:]]
    assert names[-1] == "end"
    assert read_cell("check loaded") is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["7"], "7"),
        (["7", "7"], "7"),
        (["73", "175", "100"], "100 (73 to 175)"),
        (["", ""], ""),
        (["a1", "b2", "a1"], "a1, b2"),
    ],
)
def test_several_values_are_a_median_and_a_range(values: list[str], said: str) -> None:
    assert several(values) == said


def made(name: str, moves: int) -> Part:
    return Part(name, 0, [f"relay: moves={moves}", f"here {moves}  placed"])


def test_a_table_has_a_row_for_the_rounds_of_a_scheduler() -> None:
    program = run.Program("relay", "", "", "", ["moves"])
    parts = [
        made(Cell("relay", scheduler, i).name, moves + i)
        for i in (1, 2, 3)
        for scheduler, moves in (("EEVDF", 10), ("new", 0))
    ]
    head, *rows = (line.split("  ") for line in run.program_table(program, parts).splitlines())
    assert [cell.strip() for cell in head if cell] == ["relay", "moves", "here"]
    assert [[cell.strip() for cell in row if cell] for row in rows] == [
        ["EEVDF", "12 (11 to 13)", "12 (11 to 13)"],
        ["new", "2 (1 to 3)", "2 (1 to 3)"],
    ]


def test_rounds_of_an_earlier_run_do_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "kernel_name", lambda: "linux")
    path = tmp_path / "results.json"
    old = {"status": 0, "values": {}, "counters": {}, "commit": "old", "kernel": "linux"}
    names = ("relay|new|1", "relay|new|2", "relay|old|1", "relay|EEVDF", "trace")
    path.write_text(json.dumps({"parts": dict.fromkeys(names, old), "situations": {}}))
    run.write_json(path, [made("relay|new|1", 5)], [])
    kept = json.loads(path.read_text())["parts"]
    assert set(kept) == {"relay|new|1", "relay|old|1", "trace"}
    assert kept["relay|new|1"]["values"] == {"moves": "5"}
