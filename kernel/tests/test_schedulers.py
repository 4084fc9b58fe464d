# SPDX-License-Identifier: MIT
"""What run.py lets the guest run."""

from __future__ import annotations

import sys
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1] / "guest"
sys.path.insert(0, str(GUEST))

import run  # noqa: E402

RELAY = run.Program("relay", "bin/relay", "relay --affinity", "relay", [])
WAVEMIX = run.Program("wavemix, 4 KB", "apps/w", "w --affinity", "w", [], samples="samples")


def parts(*programs: run.Program) -> list[str]:
    lines = run.script(list(programs), run.SCHEDULERS, [], []).splitlines()
    return [line for line in lines if line.startswith("echo '@begin ")]


def test_tasks_are_pinned_in_wavemix_alone() -> None:
    of_relay, of_wavemix = parts(RELAY), parts(WAVEMIX)
    assert not any("pinned" in line for line in of_relay)
    assert [line for line in of_wavemix if "pinned" in line] == [
        "echo '@begin wavemix, 4 KB|SCHED_FIFO, waves pinned'",
        "echo '@begin wavemix, 4 KB|SCHED_FIFO, all pinned'",
    ]
    assert len(of_wavemix) == len(of_relay) + 2


def test_pinned_tasks_declare_nothing() -> None:
    (pinned,) = (one for one in run.SCHEDULERS if one.name == "SCHED_FIFO, all pinned")
    first, *rest = run.run_commands(WAVEMIX, pinned)
    assert first == "/usr/bin/chrt -f 10 w --pin=all"
    assert rest == ["status=$?", "cat samples", "( exit $status )"]
    (plain,) = (one for one in run.SCHEDULERS if one.name == "EEVDF")
    assert run.run_commands(RELAY, plain)[0] == "relay"
