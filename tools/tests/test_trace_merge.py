# SPDX-License-Identifier: MIT
"""Traces of several ranks as one, on clocks that are made up."""

from __future__ import annotations

import io
import json
import re
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest
import trace_event_format
from click.testing import CliRunner
from synthetic import HZ, START_CLOCK, START_NS, Writer

from pirn_tools.errors import UserError
from pirn_tools.trace import merge_chrome, merge_page
from pirn_tools.trace.cli import merge as command
from pirn_tools.trace.merge import Job, merge, times
from pirn_tools.trace.model import build
from pirn_tools.trace.read import load

SECOND = 10**9
JOB = 0x1234
LENGTH = 10 * SECOND


@dataclass
class Made:
    """A rank whose clock is `ahead` ns ahead at the beginning, and faster by `drift`."""

    rank: int
    ahead: int = 0
    drift: float = 0.0
    size: int = 2
    job: int = JOB
    points: int = 2
    text: str = ""
    pid: int = 4711

    def __post_init__(self) -> None:
        self.writer = Writer(2, slots=64)
        self.writer.event(0, "spawn", a=10, b=1, text="worker")
        self.writer.switch(0, 10, "idle")

    def clock(self, ns: float) -> int:
        """What the rank's clock says that long after the beginning."""
        return START_NS + self.ahead + round(ns * (1 + self.drift))

    def at(self, ns: float, event: str, number: int, text: str) -> None:
        since = self.clock(ns) - self.clock(0)
        self.writer.now = START_CLOCK + since * HZ // SECOND
        self.writer.anywhere(0, event, ab=number, text=text)

    def align(self, point: int, ns: float) -> None:
        clock = self.clock(ns)
        ahead = clock - (START_NS + round(ns))
        self.writer.anywhere(
            0, "align", small=point, ab=ahead, text=f"{500 * point} {clock // 1000}"
        )

    def file(self, folder: Path, name: str = "") -> Path:
        self.at(LENGTH, "job", self.job, self.text or f"{self.rank}/{self.size}")
        for point, ns in ((1, 0), (2, LENGTH))[: self.points]:
            self.align(point, ns)
        raw = bytearray(self.writer.bytes())
        shift = self.ahead
        for offset in (72, 96):  # the monotonic clock at the beginning and the end
            struct.pack_into("<Q", raw, offset, struct.unpack_from("<Q", raw, offset)[0] + shift)
        for ring in range(2):
            self._shift_blocks(raw, ring, shift)
        struct.pack_into("<Q", raw, 104, self.pid)
        path = folder / (name or f"{self.rank}.trace")
        path.write_bytes(raw)
        return path

    @staticmethod
    def _shift_blocks(raw: bytearray, ring: int, shift: int) -> None:
        """The second record of each block has the monotonic clock."""
        head, _, _, offset, capacity = struct.unpack_from("<5Q", raw, 128 + 64 * ring)
        for block in range(0, min(head, capacity), 256):
            at = offset + 16 * (block + 1) + 8
            struct.pack_into("<Q", raw, at, struct.unpack_from("<Q", raw, at)[0] + shift)


def job_of(folder: Path, *made: Made) -> Job:
    return merge(build(load(one.file(folder))) for one in made)


def ping_pong(first: Made, second: Made) -> list[tuple[float, float]]:
    """Messages in both directions; when each is sent and received, in ns of rank 0."""
    when = []
    for i in range(20):
        sent = (i + 1) * LENGTH / 25
        source, target = (first, second) if i % 2 == 0 else (second, first)
        source.at(sent, "send", i + 1, "to=1 tag=7 bytes=8")
        target.at(sent + 5000, "receive", i + 1, "from=0 tag=7 bytes=8")
        when.append((sent, sent + 5000.0))
    return when


@pytest.mark.parametrize("ahead", [0, 3600 * SECOND, -2 * SECOND])
@pytest.mark.parametrize("drift", [0.0, 50e-6, -200e-6])
def test_times_are_those_of_rank_0_when_clocks_differ(
    tmp_path: Path, ahead: int, drift: float
) -> None:
    ranks = Made(0), Made(1, ahead, drift)
    when = ping_pong(*ranks)
    job = job_of(tmp_path, *reversed(ranks))  # in any order of files
    assert len(job.messages) == len(when)
    for found, truth in zip(times(job).tolist(), when, strict=True):
        assert found == pytest.approx(truth, abs=300)
    assert not [text for text in job.remarks if "before they are sent" in text]
    clock = next(text for text in job.remarks if text.startswith("clock of rank 1"))
    assert f"{ahead / 1e3:+,.3f} µs ahead" in clock
    assert f"faster by {drift * 1e6:+,.3f} ppm" in clock
    assert "the error is at most 1.000 µs" in clock


def test_drift_is_not_known_when_the_end_is_missing(tmp_path: Path) -> None:
    ranks = Made(0, points=1), Made(1, 1000, points=1)
    ping_pong(*ranks)
    job = job_of(tmp_path, *ranks)
    assert any("did not reach MPI_Finalize" in text for text in job.remarks)
    assert len(job.messages) == 20


def test_wrong_clocks_are_told_when_messages_arrive_too_early(tmp_path: Path) -> None:
    ranks = Made(0), Made(1)
    ranks[0].at(SECOND, "send", 1, "")
    ranks[1].at(SECOND - 30_000, "receive", 1, "")
    job = job_of(tmp_path, *ranks)
    assert any(
        re.search(r"^1 messages arrive before they are sent, by up to (29|30)\.", text)
        for text in job.remarks
    )


def test_messages_without_other_end_are_told(tmp_path: Path) -> None:
    ranks = Made(0), Made(1)
    ranks[0].at(SECOND, "send", 1, "")
    ranks[1].at(SECOND, "receive", 2, "")
    ranks[1].at(SECOND, "untold", 0, "persistent requests")
    job = job_of(tmp_path, *ranks)
    assert len(job.messages) == 0
    assert "2 ends of messages have no other end in these traces" in job.remarks
    assert "rank 1: its messages by persistent requests have no arrows" in job.remarks


def test_perfetto_file_is_valid_and_has_arrows(tmp_path: Path) -> None:
    ranks = Made(0), Made(1, 7 * SECOND)
    ping_pong(*ranks)
    stream = io.StringIO()
    merge_chrome.write(job_of(tmp_path, *ranks), stream)
    trace = json.loads(stream.getvalue())
    trace_event_format.check(trace)
    events = trace["traceEvents"]
    names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert names == ["rank 0: CPUs", "rank 0: synthetic", "rank 1: CPUs", "rank 1: synthetic"]
    begins = [e for e in events if e["ph"] == "s" and e["cat"] == "message"]
    ends = {e["id"]: e for e in events if e["ph"] == "f" and e["cat"] == "message"}
    assert len(begins) == len(ends) == 20
    for one in begins:
        assert ends[one["id"]]["pid"] != one["pid"]
        assert ends[one["id"]]["ts"] - one["ts"] == pytest.approx(5, abs=1)


def test_page_has_lanes_and_messages_of_all_ranks(tmp_path: Path) -> None:
    ranks = Made(0), Made(1, 7 * SECOND)
    ping_pong(*ranks)
    stream = io.StringIO()
    merge_page.write(job_of(tmp_path, *ranks), stream)
    page = stream.getvalue()
    assert "2 ranks on 4 CPUs" in page
    assert "20 messages" in page
    for lane in ("rank 0 CPU 1", "rank 1 CPU 0"):
        assert lane in page


def refusal(*files: Path) -> str:
    with pytest.raises(UserError) as caught:
        merge(build(load(file)) for file in files)
    return caught.value.message


def test_wrong_sets_of_files_are_refused(tmp_path: Path) -> None:
    first, second = Made(0).file(tmp_path), Made(1).file(tmp_path)
    other = Made(1, job=99).file(tmp_path, "other")
    again = Made(1).file(tmp_path, "again")
    wide = Made(1, size=3).file(tmp_path, "wide")
    assert "are of different runs of a program" in refusal(first, other)
    assert "are of different runs of a program" in refusal(first, wide)
    assert "are both of rank 1" in refusal(first, second, again)
    assert refusal(second) == "the program had 2 ranks; no trace of rank 0"


def test_traces_without_exchange_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "alone"
    path.write_bytes(Writer(1).bytes())
    assert "has no exchange with other ranks" in refusal(path)
    unaligned = Made(0, points=0).file(tmp_path)
    assert "its clock was not compared with that of rank 0" in refusal(unaligned)


@pytest.mark.parametrize("text", ["2/2", "x", "1/0", "-1/2", "1/99999999"])
def test_damaged_ranks_are_refused(tmp_path: Path, text: str) -> None:
    assert f'damaged: "{text}" is no rank' in refusal(Made(0, text=text).file(tmp_path))


@pytest.mark.parametrize(("small", "text"), [(1, "x y"), (3, "1 1"), (1, "")])
def test_damaged_comparisons_are_refused(tmp_path: Path, small: int, text: str) -> None:
    made = Made(0)
    made.writer.anywhere(0, "align", small=small, text=text)
    assert "is no comparison of clocks" in refusal(made.file(tmp_path))


def test_command_refuses_files_and_names_that_it_cannot_use(tmp_path: Path) -> None:
    first = Made(0).file(tmp_path)
    broken = tmp_path / "broken"
    broken.write_bytes(first.read_bytes()[:200])
    run = CliRunner()
    said = run.invoke(command, [str(first), "-o", str(tmp_path / "out.csv")])
    assert "must end with .json (Perfetto) or .html" in said.output.replace("\n", " ")
    said = run.invoke(command, [str(first), str(broken), "-o", str(tmp_path / "out.json")])
    assert str(broken) in said.output.replace("\n", " ")
    assert not (tmp_path / "out.json").exists()
