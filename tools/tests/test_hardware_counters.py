# SPDX-License-Identifier: MIT
"""Counters of programs that are run: tried with events of the kernel, which all machines have."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pirn_tools.figures.hardware_counters import SOFTWARE, Counters, Event, reason


def test_counters_count_a_program_and_not_this_one() -> None:
    faults = {"faults": Event(SOFTWARE, 2)}  # PERF_COUNT_SW_PAGE_FAULTS
    counters = Counters(faults)
    if counters.refusal:
        pytest.skip(counters.refusal)

    def here() -> None:
        bytearray(16 << 20)

    def run() -> None:
        subprocess.run([sys.executable, "-c", "bytearray(16 << 20)"], check=True)

    small = counters.count(here)["faults"]
    large = counters.count(run)["faults"]
    counters.close()
    assert small == 0
    assert large > (16 << 20) / 65536  # also where a page has 64 KB


def test_a_machine_without_counters_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = Counters({"none": Event(99, 0)})  # no type of events
    assert "perf_event_open" in counters.refusal
    assert counters.count(lambda: None) == {}
    monkeypatch.setattr("platform.machine", lambda: "other")
    assert Counters().refusal.startswith("the kernel has no perf_event_open")
    assert "perf_event_paranoid" in reason(13)
