# SPDX-License-Identifier: MIT
"""Waits that a library has given words."""

from __future__ import annotations

import io
from pathlib import Path

from synthetic import WAIT, Writer

from pirn_tools.trace import export_chrome
from pirn_tools.trace.model import BLOCKED, Model, build
from pirn_tools.trace.read import load

LABEL = next(value for value, name in WAIT.items() if name == "label")
LONG = "MPI_Recv source=1 tag=7 bytes=64 comm=MPI_COMM_WORLD"


def waits(writer: Writer, cpu: int, label: str, parts: bool = True) -> None:
    """The running thread blocks with that label, and a thread of another name runs."""
    for at in range(0, len(label) if parts else 0, 32):
        writer.event(cpu, "label", small=at // 32, text=label[at : at + 32])
    writer.event(cpu, "block", small=LABEL, a=0x1000)
    writer.now += 100
    writer.switch(cpu, cpu, "block")
    writer.now += 100


def model_of(folder: Path, writer: Writer) -> Model:
    (folder / "t.trace").write_bytes(writer.bytes())
    return build(load(folder / "t.trace"))


def begin(cpu: int, writer: Writer, index: int) -> None:
    writer.event(cpu, "spawn", a=index, b=1, text=f"t{index}")
    writer.switch(cpu, index, "idle")
    writer.now += 100


def reasons(model: Model) -> list[str]:
    spans = model.thread_spans
    found = spans["reason"][spans["state"] == BLOCKED].tolist()
    return [model.trace.table.enums["wait"][reason] for reason in found]


def test_wait_has_the_name_of_its_label(tmp_path: Path) -> None:
    writer = Writer(2)
    for index, label in ((10, LONG), (11, "MPI_Barrier comm=halo"), (12, LONG)):
        begin(index % 2, writer, index)
        waits(writer, index % 2, label)
    model = model_of(tmp_path, writer)
    assert reasons(model) == [LONG, "MPI_Barrier comm=halo", LONG]
    text = io.StringIO()
    export_chrome.write(model, text)
    assert text.getvalue().count(f'"name":"blocked: {LONG}"') == 2


def test_labels_of_two_cpus_at_the_same_time_are_told_apart(tmp_path: Path) -> None:
    writer = Writer(2)
    begin(0, writer, 10)
    begin(1, writer, 11)
    writer.event(0, "label", small=0, text="A" * 32)
    writer.event(1, "label", small=0, text="B" * 32)
    writer.event(0, "label", small=1, text="a")
    writer.event(1, "label", small=1, text="b")
    for cpu in range(2):
        writer.event(cpu, "block", small=LABEL)
        writer.switch(cpu, cpu, "block")
    assert reasons(model_of(tmp_path, writer)) == ["A" * 32 + "a", "B" * 32 + "b"]


def test_wait_whose_label_is_lost_keeps_its_reason(tmp_path: Path) -> None:
    writer = Writer(1)
    begin(0, writer, 10)
    waits(writer, 0, LONG, parts=False)
    begin(0, writer, 11)
    waits(writer, 0, "x")
    assert reasons(model_of(tmp_path, writer)) == ["label", "x"]
