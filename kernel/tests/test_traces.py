# SPDX-License-Identifier: MIT
"""The scripts of kernel/guest, without a guest: traces against the rule, tables, the limit of the
boot."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pirn_tools.guest.qemu import Times

GUEST = Path(__file__).resolve().parents[1] / "guest"
sys.path.insert(0, str(GUEST))

import results  # noqa: E402
import session  # noqa: E402
import traces  # noqa: E402


def event(cpu: int, thread: str, text: str) -> str:
    """As pirn-kernel prints it."""
    return f"{1.5:10.3f} ms  CPU {cpu:<2}  {thread:<15}  {text}"


# ---- relay --rt ----

HERE = "wakes by wave0: placed on the waking CPU 2, where a producer runs"
PUSHED = "would not run next: pushed to CPU 3, where wave1 ran last"
PLACED = "wakes by relay: placed on CPU 3, where a producer ran last"
ROUND = [
    event(2, "mixer0", HERE),
    event(2, "mixer0", PUSHED),
    event(3, "mixer0", "runs on CPU 3 after wave1"),
    event(3, "mixer2", "wakes by mixer0: placed on the waking CPU 3, where a producer runs"),
    event(0, "player", PLACED),
    event(3, "player", "runs on CPU 3 after mixer2"),
]


def test_line_is_read_whole() -> None:
    (one,) = traces.read([event(12, "play 3", "runs on CPU 12 after a b"), "@end 0", ""])
    assert one == traces.Event(12, "play 3", "runs on CPU 12 after a b")


def test_rounds_as_intended_are_right() -> None:
    assert traces.relay_faults(ROUND * 7) == []
    standard = [
        event(0, "player", "wakes by relay: standard rule, idle CPU 2"),
        event(2, "player", "runs on CPU 2 after rcu_preempt"),
    ]
    assert traces.relay_faults([*ROUND * 6, *standard, *ROUND]) == []


def test_too_few_rounds_as_intended_are_wrong() -> None:
    (one, other) = traces.relay_faults(ROUND * 5)  # the last one may be cut off
    assert one == "trace: mixer0: 4 of 4 rounds go as relay.c intends"
    assert "player: 4 of 4" in other


@pytest.mark.parametrize(
    ("at", "cpu", "text", "why"),
    [
        (0, 1, HERE, "the waking CPU is another one"),
        (0, 2, HERE.replace("wave0", "wave2"), "or runs no producer"),
        (0, 2, "wakes by wave0: standard rule, idle CPU 2", "that no rule placed is pushed"),
        (1, 2, PUSHED.replace("3", "2"), "pushed where no other producer ran"),
        (1, 2, PUSHED.replace("wave1", "wave3"), "pushed where no other producer ran"),
        (2, 1, "runs on CPU 1 after wave1", "it was put on CPU 3"),
        (2, 3, "runs on CPU 3 after wave1: taken from another CPU's queue", "it was put on CPU 3"),
        (4, 3, PLACED, "that is the waking CPU"),
        (5, 2, "runs on CPU 2 after mixer2", "it was put on CPU 3"),
        (5, 3, "stops on CPU 3: waits", "it does not run"),
    ],
)
def test_line_that_the_rule_does_not_allow_is_found(at: int, cpu: int, text: str, why: str) -> None:
    wrong = list(ROUND)
    wrong[at] = event(cpu, traces.read([ROUND[at]])[0].thread, text)
    (one,) = traces.relay_faults([*ROUND * 5, *wrong, *ROUND])
    assert why in one


def test_consumer_that_runs_after_another_thread_is_not_as_intended() -> None:
    other = [line.replace("after mixer2", "after wave3") for line in ROUND]
    assert traces.relay_faults(other * 7) == ["trace: player: 0 of 6 rounds go as relay.c intends"]


# ---- steps ----

LINES = [
    "mixer0 wakes by wave1: placed on CPU 1, where a producer ran last",
    "mixer0 runs on CPU 1 after wave0",
]
SITUATION = traces.Situation("one", "title", "", LINES)


def play(number: int, *events: str) -> list[str]:
    begin = event(0, f"play {number}", "runs on CPU 0 after x")
    return [begin, *events, event(0, f"end {number}", "runs on CPU 0 after x")]


def good(number: int) -> list[str]:
    events = [event(1, *line.split(" ", 1)) for line in LINES]
    return play(number, event(1, "wave0", "stops on CPU 1: waits"), *events)


def disturbed(number: int) -> list[str]:
    return play(number, event(1, "kworker/1:1", "runs on CPU 1 after wave0"))


def compared(*each: list[str]) -> list[str]:
    return traces.compare(SITUATION, [line for lines in each for line in lines])[0]


def test_plays_as_the_rule_says_are_right() -> None:
    before = event(2, "mixer0", "runs on CPU 2 after y")  # while it is created
    assert compared([before], *map(good, range(1, 6))) == []
    assert compared(good(1), disturbed(2), disturbed(3), disturbed(4), good(5)) == []


def test_disturbed_plays_do_not_suffice() -> None:
    (one,) = compared(*map(disturbed, range(1, 5)), good(5))
    assert one == "one: 1 of 5 plays undisturbed; there ran: kworker/1:1"


def test_missing_play_is_found() -> None:
    (one,) = compared(*map(good, range(1, 5)))
    assert one == "one: 4 plays in the trace, not 5"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], 'line 1: "nothing" instead of "mixer0 wakes'),
        (["mixer0 runs on CPU 2 after wave0"], 'line 1: "mixer0 runs on CPU 2 after wave0"'),
        (
            [*LINES, "mixer0 runs on CPU 1 after wave0"],
            'line 3: "mixer0 runs on CPU 1 after wave0"',
        ),
    ],
)
def test_play_that_differs_is_found(lines: list[str], said: str) -> None:
    wrong = play(2, *(event(1, *line.split(" ", 1)) for line in lines))
    (one,) = compared(good(1), wrong, *map(good, range(3, 6)))
    assert said in one


def test_fault_is_caught_before_another_thread_runs() -> None:
    fault = event(1, "mixer0", "runs on CPU 2 after wave0")
    other = event(1, "kworker/1:1", "runs on CPU 1 after wave0")
    assert traces.caught(SITUATION, [*good(1), *play(2, fault)])
    assert traces.caught(SITUATION, [*good(1), *play(2, fault, other)])
    assert not traces.caught(SITUATION, [*good(1), *play(2, other, fault)])
    assert not traces.caught(SITUATION, [*good(1), *disturbed(2), *good(3)])
    assert not traces.caught(SITUATION, [])


def test_situations_name_what_steps_c_has() -> None:
    names = [one.name for one in traces.situations(GUEST / "steps.toml")]
    source = (GUEST / "steps.c").read_text()
    assert len(names) == source.count("{.name = ")
    assert all(f'{{.name = "{name}"' in source for name in names)


# ---- tables, the boot ----


def test_mixers_are_counted_where_an_input_was_made() -> None:
    threads = ["wave0", "wave1", "wave2", "wave3", "mixer0", "mixer1", "mixer2"]
    head = ",".join(["sample", *(f"{thread}_cpu" for thread in threads)])
    rows = [head, "0,0,1,2,3,1,3,3", "1,0,1,2,3,2,0,3"]
    part = results.Part("x", 0, ["wavemix: migrations=4", *rows, "here 3  placed"])
    assert part.values == {"migrations": "4", "with_producer": "3", "mixers": "6"}


@pytest.mark.parametrize(
    ("seconds", "status"), [(0.0, 1), (29.9, 0), (30.1, 1)], ids=["none", "short", "long"]
)
def test_boot_fails_when_it_takes_more_cpu_time_than_30_s(
    seconds: float, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "linux").mkdir()
    (tmp_path / "linux/name").write_text("linux\n")
    monkeypatch.setattr(session, "CACHE", tmp_path)
    with pytest.raises(SystemExit) as ended:
        session.end(Times(100, 200, seconds), [])
    assert ended.value.code == status
