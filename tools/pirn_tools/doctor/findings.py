# SPDX-License-Identifier: MIT
"""What is found, and how it is shown: by lines on a terminal or in a file, or as JSON."""

from __future__ import annotations

import enum
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import click

from pirn_tools.terminal import printable

COLUMN, WIDEST = 9, 100  # of states; of a line
NAME = 17


class State(enum.Enum):
    """How good it is; the value is what JSON has."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "not available"


COLOURS = {State.OK: "green", State.LIMITED: "yellow", State.MISSING: "red"}
SHORT = {State.OK: "ok", State.LIMITED: "limited", State.MISSING: "no"}


@dataclass(frozen=True)
class Finding:
    """One feature."""

    section: str
    name: str
    state: State
    value: str  # what there is
    why: str = ""  # what that means for threads
    advice: str = ""  # what to do

    def json(self) -> dict[str, str]:
        return {
            "section": self.section,
            "name": self.name,
            "state": self.state.value,
            "value": self.value,
            "why": self.why,
            "do": self.advice,
        }


def worst(findings: Iterable[Finding]) -> State:
    """The state of all of them."""
    states = {one.state for one in findings}
    return next((one for one in (State.MISSING, State.LIMITED) if one in states), State.OK)


def lines(findings: Sequence[Finding], width: int) -> list[str]:
    """The report, with escape sequences for colours."""
    out: list[str] = []
    section = ""
    for one in findings:
        if one.section != section:
            section = one.section
            out += ["", click.style(section, bold=True)]
        out += _rows(one, width)
    return [*out[1:], "", _summary(findings)]


def _rows(one: Finding, width: int) -> list[str]:
    state = click.style(f"{SHORT[one.state]:{COLUMN}}", fg=COLOURS[one.state])
    indent = " " * (2 + COLUMN + NAME)
    value = textwrap.wrap(printable(one.value), width - len(indent), break_on_hyphens=False) or [""]
    out = [f"  {state}{one.name:{NAME}}{value[0]}", *(indent + part for part in value[1:])]
    for mark, text in (("", one.why), ("do: ", one.advice)):
        if text and one.state is not State.OK:
            out += textwrap.wrap(
                mark + printable(text),
                width,
                initial_indent=indent,
                subsequent_indent=indent + " " * len(mark),
                break_on_hyphens=False,
            )
    return out


def _summary(findings: Sequence[Finding]) -> str:
    counts = [
        f"{sum(one.state is state for one in findings)} {state.value}"
        for state in (State.OK, State.LIMITED, State.MISSING)
    ]
    state = worst(findings)
    return click.style(", ".join(counts), fg=COLOURS[state], bold=True)


def show(findings: Sequence[Finding]) -> None:
    """click removes the colours where the output is no terminal."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDEST
    for line in lines(findings, max(60, min(columns, WIDEST))):
        click.echo(line)
