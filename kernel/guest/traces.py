# SPDX-License-Identifier: MIT
"""The scheduler's trace in the guest, line by line: what `pirn-kernel events` printed, against what
the rule says.

Two traces: that of relay --rt, where each consumer's lines must be steps that the rule allows, and
of which some rounds must have gone as relay.c intends; and those of steps.c, whose situations stand
in steps.toml with all their lines.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LINE = re.compile(r"^ *(\d+\.\d+) ms  CPU (\d+) *  (.{15})  (.*)$")
PLACED_HERE = re.compile(r"wakes by (.+): placed on the waking CPU (\d+), where a producer runs")
PLACED = re.compile(r"wakes by (.+): placed on CPU (\d+), where a producer ran last")
STANDARD = re.compile(r"wakes by (.+): standard rule, (?:idle CPU \d+|queue of all CPUs)")
PUSHED = re.compile(r"would not run next: pushed to CPU (\d+), where (.+) ran last")
PUSHED_AWAY = re.compile(r"would not run next: standard rule, queue of all CPUs")
RUNS = re.compile(r"runs on CPU (\d+) after (.+?)(: taken from another CPU's queue)?")


@dataclass(frozen=True)
class Event:
    cpu: int  # where it happened
    thread: str
    text: str

    def __str__(self) -> str:
        return f"{self.thread} {self.text}"


def read(lines: Sequence[str]) -> list[Event]:
    found = (LINE.match(line) for line in lines)
    return [Event(int(m[2]), m[3].rstrip(), m[4]) for m in found if m]


# ---- relay --rt ----

# Consumers of relay.c whose lines are looked at, and their producers.
PRODUCERS = {"mixer0": ("wave0", "wave1"), "player": ("mixer2",)}
ENOUGH = 5  # rounds that go as they should; others meet a thread of the kernel


def wake_ups(events: Sequence[Event], thread: str) -> list[list[Event]]:
    """The lines of a thread from each wake-up to the run. The first and the last may lack some."""
    found: list[list[Event]] = []
    for event in events:
        if event.thread != thread:
            continue
        if event.text.startswith("wakes "):
            found.append([])
        if found:
            found[-1].append(event)
    return found[:-1]


def fault(steps: Sequence[Event]) -> str:
    """What the rule does not allow in the lines from a wake-up to the run; nothing: it does."""
    first, *pushed, last = steps
    if len(pushed) > 1 or len(steps) == 1:
        return "not a wake-up, at most one push, and a run"
    cpu = _placed(first)
    if isinstance(cpu, str):
        return cpu
    if pushed:
        if cpu is None:
            return "a thread that no rule placed is pushed"
        to = PUSHED.fullmatch(pushed[0].text)
        if to is None and PUSHED_AWAY.fullmatch(pushed[0].text) is None:
            return "not a push"
        if to and (int(to[1]) == cpu or to[2] not in PRODUCERS[first.thread]):
            return "it is pushed where no other producer ran"
        cpu = int(to[1]) if to else None
    runs = RUNS.fullmatch(last.text)
    if runs is None:
        return "it does not run"
    if cpu is not None and (int(runs[1]) == cpu) == bool(runs[3]):
        return f"it was put on CPU {cpu}"
    return ""


def _placed(first: Event) -> int | str | None:
    """The CPU on which a wake-up put the thread; None: the standard rule did; or a fault."""
    here, there = PLACED_HERE.fullmatch(first.text), PLACED.fullmatch(first.text)
    if here:
        if int(here[2]) != first.cpu or here[1] not in PRODUCERS[first.thread]:
            return "the waking CPU is another one, or runs no producer"
        return first.cpu
    if there:
        return int(there[2]) if int(there[2]) != first.cpu else "that is the waking CPU"
    return None if STANDARD.fullmatch(first.text) else "not a wake-up"


def intended(steps: Sequence[Event]) -> bool:
    """mixer0 is pushed to wave1's CPU and runs there next; the player runs next after mixer2."""
    texts = [event.text for event in steps]
    if steps[0].thread == "player":
        cpu = PLACED.fullmatch(texts[0])
        return cpu is not None and texts[1:] == [f"runs on CPU {cpu[2]} after mixer2"]
    here, pushed = PLACED_HERE.fullmatch(texts[0]), PUSHED.fullmatch(texts[1])
    if here is None or pushed is None or (here[1], pushed[2]) != ("wave0", "wave1"):
        return False
    return texts[2:] == [f"runs on CPU {pushed[1]} after wave1"]


def relay_faults(lines: Sequence[str]) -> list[str]:
    events = read(lines)
    bad = []
    for thread in PRODUCERS:
        found = wake_ups(events, thread)
        for steps in found:
            why = fault(steps)
            if why:
                bad.append(f"trace: {why}: {'; '.join(map(str, steps))}")
        good = sum(1 for steps in found if not fault(steps) and intended(steps))
        if good < ENOUGH:
            bad.append(f"trace: {thread}: {good} of {len(found)} rounds go as relay.c intends")
    return bad


# ---- steps ----

CAST = {"conductor", "other", *(f"wave{i}" for i in range(4)), *(f"mixer{i}" for i in range(3))}
ENOUGH_PLAYS = 2  # without another thread in between
FAULT_PLAYS = 3


@dataclass(frozen=True)
class Situation:
    name: str
    title: str
    load: str  # options of pirn-kernel load
    lines: list[str]
    fault: str = ""  # of pirn-kernel-faulty, with which the lines must differ
    plays: int = 5


@dataclass(frozen=True)
class Play:
    lines: list[str]
    before: list[str]  # of them, those before another thread ran
    disturbed: str  # a thread that is no part of it, and ran meanwhile; or nothing


def situations(path: Path) -> list[Situation]:
    return [Situation(**entry) for entry in tomllib.loads(path.read_text())["situation"]]


def plays(events: Sequence[Event], watched: set[str]) -> Iterator[Play]:
    """Each one between the two lines that name its number: the lines of the watched threads."""
    inside: list[Event] | None = None
    for event in events:
        if event.thread.startswith("play "):
            inside = []
        elif event.thread.startswith("end ") and inside is not None:
            first = next((i for i, e in enumerate(inside) if e.thread not in CAST), len(inside))
            disturbing = inside[first].thread if first < len(inside) else ""
            yield Play(_lines(inside, watched), _lines(inside[:first], watched), disturbing)
            inside = None
        elif inside is not None:
            inside.append(event)


def _lines(events: Sequence[Event], watched: set[str]) -> list[str]:
    own = (e for e in events if e.thread in watched and not e.text.startswith("stops "))
    return [str(event) for event in own]


def compare(situation: Situation, lines: Sequence[str]) -> tuple[list[str], str]:
    """What fails, and how many plays counted."""
    watched = {line.split()[0] for line in situation.lines}
    found = list(plays(read(lines), watched))
    counting = [play for play in found if not play.disturbed]
    words = f"{len(counting)} of {len(found)} plays undisturbed"
    bad = []
    if len(found) != situation.plays:
        bad.append(f"{situation.name}: {len(found)} plays in the trace, not {situation.plays}")
    if len(counting) < ENOUGH_PLAYS:
        others = ", ".join(sorted({play.disturbed for play in found if play.disturbed}))
        bad.append(f"{situation.name}: {words}; there ran: {others}")
    for play in counting:
        if play.lines != situation.lines:
            bad.append(f"{situation.name}: {_difference(situation.lines, play.lines)}")
            break
    return bad, words


def caught(situation: Situation, lines: Sequence[str]) -> bool:
    """Whether the trace of a scheduler with a fault shows it, before another thread ran: with a
    fault some threads wait for a long time."""
    watched = {line.split()[0] for line in situation.lines}
    for play in plays(read(lines), watched):
        length = len(play.before) if play.disturbed else None
        if play.before != situation.lines[:length]:
            return True
    return False


def _difference(wanted: Sequence[str], got: Sequence[str]) -> str:
    for i in range(max(len(wanted), len(got))):
        one = wanted[i] if i < len(wanted) else "nothing"
        other = got[i] if i < len(got) else "nothing"
        if one != other:
            return f'line {i + 1}: "{other}" instead of "{one}"'
    return ""
