# SPDX-License-Identifier: MIT
"""Scenes of `pirn bench figures waves` in value change dumps that are made up. hw/tests/run.py has
the real one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pirn_tools.chip import cli
from pirn_tools.errors import UserError
from pirn_tools.figures import waves
from pirn_tools.figures.waves import CYCLE, Dump, Event, Scene, Signal

A = Signal("a", "top.a")
B = Signal("b", "top.b")
C = Signal("c", "top.c[3:0]", 2, 1)
STATE = Signal("state", "top.c[3:0]", 0, 2, ("zero", "one", "two", "three"))
SIGNALS = (A, B, C, STATE)


def scene(*events: Event, time: int = 1) -> Scene:
    return Scene("made-up", "A made-up scene", "text", SIGNALS, events, time)


def dump(folder: Path, changes: dict[int, dict[str, str]], last: int = 20) -> Path:
    """Changes: cycle → signal → bits; two time steps a cycle, as the simulator has them."""
    codes = {CYCLE: "!", "top.a": "a", "top.b": "b", "top.c[3:0]": "c"}
    widths = {CYCLE: 64, "top.c[3:0]": 4}
    lines = ["$timescale 1ps $end"]
    for path, code in codes.items():
        *scopes, name = path.split(".")
        lines += [f"$scope module {one} $end" for one in scopes]
        declared = name.replace("[", " [")
        lines.append(f"$var wire {widths.get(path, 1)} {code} {declared} $end")
        lines += ["$upscope $end"] * len(scopes)
    lines.append("$enddefinitions $end")
    for cycle in range(last + 1):
        lines += [f"#{2 * cycle}", f"b{cycle:b} !"]
        for path, bits in changes.get(cycle, {}).items():
            lines.append(f"b{bits} {codes[path]}" if path in widths else f"{bits}{codes[path]}")
    path = folder / "made-up.vcd"
    path.write_text("\n".join([*lines, ""]))
    return path


def one(name: str, *cycles: int) -> dict[int, dict[str, str]]:
    """A signal that is 1 in these cycles."""
    found: dict[int, dict[str, str]] = {0: {name: "0"}}
    for cycle in cycles:
        found[cycle] = {name: "1"}
        if cycle + 1 not in cycles:
            found[cycle + 1] = {name: "0"}
    return found


def both(*parts: dict[int, dict[str, str]]) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    for part in parts:
        for cycle, values in part.items():
            found.setdefault(cycle, {}).update(values)
    return found


def test_events_are_found_one_after_the_other(tmp_path: Path) -> None:
    path = dump(tmp_path, both(one("top.a", 3, 9), one("top.b", 1, 5, 11)))
    read = Dump(path, SIGNALS)
    assert waves.cycles_of(read, scene(Event(A, ""), Event(B, ""))) == [3, 5]
    assert waves.cycles_of(read, scene(Event(A, ""), Event(B, ""), time=2)) == [9, 11]


def test_a_long_level_is_one_occurrence(tmp_path: Path) -> None:
    path = dump(tmp_path, both(one("top.a", 3, 4, 5, 9), one("top.b", 12)))
    assert waves.cycles_of(Dump(path, SIGNALS), scene(Event(A, ""), time=2)) == [9]


def test_an_event_may_need_a_second_signal(tmp_path: Path) -> None:
    path = dump(tmp_path, both(one("top.a", 3, 6), one("top.b", 6)))
    assert waves.cycles_of(Dump(path, SIGNALS), scene(Event(A, "", B))) == [6]


def test_a_part_of_a_signal_is_looked_at(tmp_path: Path) -> None:
    path = dump(
        tmp_path, {0: {"top.c[3:0]": "0000"}, 4: {"top.c[3:0]": "0010"}, 7: {"top.c[3:0]": "0111"}}
    )
    read = Dump(path, SIGNALS)
    assert waves.cycles_of(read, scene(Event(C, ""))) == [7]
    assert [STATE.words[read.value(STATE, cycle)] for cycle in (3, 4, 7)] == [
        "zero",
        "two",
        "three",
    ]


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ((), (5,), "a does not come"),
        ((6,), (5,), "b does not come, from cycle 6 on"),
        ((6,), (), "b does not come"),
    ],
)
def test_events_in_another_order_are_an_error(
    tmp_path: Path, a: tuple[int, ...], b: tuple[int, ...], said: str
) -> None:
    path = dump(tmp_path, both(one("top.a", *a), one("top.b", *b)))
    with pytest.raises(UserError, match=said):
        waves.cycles_of(Dump(path, SIGNALS), scene(Event(A, ""), Event(B, "")))


def test_what_is_no_dump_of_the_chip_is_said(tmp_path: Path) -> None:
    path = dump(tmp_path, {})
    with pytest.raises(UserError, match=r"no signal top\.d"):
        Dump(path, (Signal("d", "top.d"),))
    with pytest.raises(UserError, match="not a value change dump"):
        Dump(tmp_path / "missing.vcd", SIGNALS)


def test_a_picture_has_all_rows(tmp_path: Path) -> None:
    path = dump(tmp_path, both(one("top.a", 3), one("top.b", 5), {0: {"top.c[3:0]": "0001"}}))
    read = Dump(path, SIGNALS)
    drawn = scene(Event(A, ""), Event(B, ""))
    waves.draw(read, drawn, waves.cycles_of(read, drawn), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_the_page_has_each_event_with_its_cycle() -> None:
    found = {one.name: list(range(100, 100 + len(one.events))) for one in waves.SCENES}
    text = waves.page(found, {"command": "none"})
    assert "| 1 | 0 | `lifo_push` | the new thread's context is pushed |" in text
    assert "| 3 | 2 | `assign_valid` |" in text
    assert text.count("Event 1 is in cycle 100.") == len(waves.SCENES)
    for one_ in waves.SCENES:
        assert f"img/{one_.picture}" in text


def test_the_page_has_the_command_that_makes_the_same_waveform(tmp_path: Path) -> None:
    """It is a valid command of this chip: it fails only if there is no such program."""
    found = {one.name: list(range(100, 100 + len(one.events))) for one in waves.SCENES}
    (line,) = [one for one in waves.page(found, {}).splitlines() if one.startswith("$ ")]
    words = line.removeprefix("$ .venv/bin/pirn chip ").split()
    assert words[-2:] == ["build/hw/waves.fst", "build/hw/waves.elf"]
    said = CliRunner().invoke(cli.chip, [*words[:-1], str(tmp_path / "waves.elf")])
    assert "waves.elf: no such file" in said.output
    chosen = dict(zip(words[1:-1:2], words[2:-1:2], strict=True))
    assert chosen == {
        "--threads": str(waves.CONFIG.threads),
        "--scheduler": str(waves.CONFIG.scheduler),
        "--latency": str(waves.LATENCY),
        "--wave": "build/hw/waves.fst",
    }
