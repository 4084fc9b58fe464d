# SPDX-License-Identifier: MIT
"""pirn_tools.trace.read: rings that are part full, full, overwritten, left by a crash, damaged."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from synthetic import BLOCK, HZ, START_CLOCK, Writer, play

from pirn_tools.trace.read import Trace, load
from pirn_tools.trace.table import TraceError


def save(folder: Path, data: bytes, name: str = "t.pirn") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def names(trace: Trace) -> list[str]:
    return [trace.table.events[number].name for number in trace.rows["event"].tolist()]


def test_every_event_is_read_once_when_nothing_was_lost(tmp_path: Path) -> None:
    writer, _ = play(cpus=3, events=3000, capacity=8192, slots=4096)
    trace = load(save(tmp_path, writer.bytes()))
    assert sorted(names(trace)) == sorted(writer.written)
    assert np.all(np.diff(trace.rows["clock"].astype(np.int64)) >= 0)
    assert trace.lost == 0
    assert trace.remarks == []
    assert trace.table.meta["program"] == "synthetic"


def test_texts_are_no_records_when_they_look_like_some(tmp_path: Path) -> None:
    writer = Writer(1)
    # The bytes of a name where records have their event (4) and its length (5).
    for _ in range(200):
        writer.event(0, "spawn", a=9, b=1, text="aaa\x03\x03\x01\x03 and more of it")
        writer.event(0, "wake", a=9, b=1)
        writer.now += 100
    trace = load(save(tmp_path, writer.bytes()))
    assert names(trace).count("spawn") == 200
    assert len(trace.rows) == 400
    assert trace.text(int(trace.which("spawn")[-1])).startswith("aaa???? and")


def test_oldest_blocks_are_gone_when_the_ring_has_gone_round(tmp_path: Path) -> None:
    writer = Writer(1, capacity=4 * BLOCK)
    for number in range(5000):
        writer.event(0, "wake", a=number, b=1)
        writer.now += 10
    trace = load(save(tmp_path, writer.bytes()))
    last = trace.values("wake", "thread", trace.which("wake"))
    assert last[-1] == 4999
    assert np.all(np.diff(last) == 1)
    # Three whole blocks and what is there of the fourth, at two records less than a block each.
    assert 2 * (BLOCK - 2) < len(last) <= 4 * (BLOCK - 2)
    assert trace.lost == 5000 - len(last)
    assert "lost, the oldest" in trace.remarks[0]


def test_newest_events_are_missing_when_a_full_ring_stops(tmp_path: Path) -> None:
    writer = Writer(1, capacity=4 * BLOCK, slots=16, keeps_oldest=True)
    for number in range(5000):
        writer.event(0, "wake", a=number, b=1)
        writer.anywhere(0, "mark", ab=number, text="m")
        writer.now += 10
    trace = load(save(tmp_path, writer.bytes()))
    woken = trace.values("wake", "thread", trace.which("wake"))
    assert woken.tolist() == list(range(4 * (BLOCK - 2)))
    assert trace.values("mark", "value", trace.which("mark")).tolist() == list(range(16))
    assert trace.lost == 10000 - len(trace.rows)
    assert any("after the rings were full" in remark for remark in trace.remarks)


def test_slots_of_late_writers_are_left_out(tmp_path: Path) -> None:
    writer = Writer(1, slots=8)
    for number in range(20):
        writer.anywhere(0, "mark", ab=number, text="m")
    ring = writer.any[0]
    struct.pack_into("<I", ring.data, 3 * 64, 0)  # being written when the program died
    trace = load(save(tmp_path, writer.bytes(ended=False)))
    assert trace.values("mark", "value", trace.which("mark")).tolist() == [*range(12, 19)]
    assert "has not ended in the ordinary way" in trace.remarks[0]


def test_a_crash_leaves_a_trace_that_is_read_like_any_other(tmp_path: Path) -> None:
    writer, _ = play(events=2000)
    whole = load(save(tmp_path, writer.bytes(), "a"))
    crashed = load(save(tmp_path, writer.bytes(ended=False), "b"))
    assert np.array_equal(whole.rows, crashed.rows)
    difference = whole.clock.ns(whole.rows["clock"]) - crashed.clock.ns(whole.rows["clock"])
    assert np.abs(difference).max() < 1000


def test_clock_is_converted_though_one_pair_was_interrupted(tmp_path: Path) -> None:
    writer = Writer(1, capacity=64 * BLOCK)
    for _ in range(9000):
        writer.event(0, "wake", a=1, b=1)
        writer.now += 20000
    ring = writer.rings[0]
    at = (5 * BLOCK + 1) * 16 + 8
    late = struct.unpack_from("<Q", ring.data, at)[0] + 3_000_000
    struct.pack_into("<Q", ring.data, at, late)
    trace = load(save(tmp_path, writer.bytes()))
    ns = trace.clock.ns(trace.rows["clock"])
    want = (trace.rows["clock"] - np.uint64(START_CLOCK)).astype(np.float64) / HZ * 1e9
    assert np.abs(ns - want).max() < 200
    assert trace.clock.hertz() == pytest.approx(HZ, rel=1e-3)


def patched(offset: int, form: str, value: int) -> bytes:
    writer, _ = play(events=1500)
    data = bytearray(writer.bytes())
    struct.pack_into(form, data, offset, value)
    return bytes(data)


WRONG = [
    (8, "<I", 2, "version 2", 8),
    (12, "<I", 64, "header_size", 12),
    (20, "<I", 0, "0 CPUs", 20),
    (24, "<I", 99, "99 rings", 24),
    (36, "<I", 128, "block is 128", 36),
    (48, "<Q", 1 << 40, "list of events would end", 40),
    (96, "<Q", 1, "ends before it begins", 88),
    (112, "<Q", 1 << 40, "cut off or damaged", 112),
    (128 + 24, "<Q", 1 << 50, "a ring's data", 128 + 24),
    (128 + 32, "<Q", 100, "a ring of 100 places", 128 + 32),
    (128 + 40, "<I", 7, "kind 7", 128 + 40),
    (128 + 44, "<I", 55, "CPU 55", 128 + 44),
]


@pytest.mark.parametrize(("offset", "form", "value", "text", "named"), WRONG)
def test_damaged_header_is_named_with_its_offset(
    tmp_path: Path, offset: int, form: str, value: int, text: str, named: int
) -> None:
    path = save(tmp_path, patched(offset, form, value))
    with pytest.raises(TraceError) as caught:
        load(path)
    assert text in caught.value.message
    assert f"{path}: at offset {named}:" in caught.value.message
    assert caught.value.exit_code == 1


def test_damaged_block_is_named_with_its_offset(tmp_path: Path) -> None:
    writer, _ = play(events=3000)
    data = bytearray(writer.bytes())
    begin = struct.unpack_from("<Q", data, 128 + 24)[0]
    for offset, value, text in (
        (begin + 4, 9, "expected SYNC"),
        (begin + 6, 99, "the block says that it holds"),
        (begin + 32 + 4, 250, "event 250 is not in the list"),
        (begin + 8 + 7, 255, "the clock is"),
    ):
        damaged = bytearray(data)
        damaged[offset] = value
        with pytest.raises(TraceError, match=text) as caught:
            load(save(tmp_path, bytes(damaged)))
        assert "at offset" in caught.value.message


@pytest.mark.parametrize("size", [0, 5, 100, 128, 700, 5000, -1])
def test_cut_off_file_is_an_error(tmp_path: Path, size: int) -> None:
    writer, _ = play(events=500)
    with pytest.raises(TraceError):
        load(save(tmp_path, writer.bytes()[:size]))


def test_other_files_are_not_taken_for_traces(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="not a trace of Pirn"):
        load(save(tmp_path, Path(__file__).read_bytes()))
