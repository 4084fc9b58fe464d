# SPDX-License-Identifier: MIT
"""The files that a program on a board writes when it ends: a trace, a profile.

recordings = [Recording.asked("trace", file), ...]
... the program runs, with their `setting`s ...
status = finish(recordings, program, status)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from pirn_tools import outputs
from pirn_tools.errors import UserError
from pirn_tools.outputs import Stamp


@dataclass(frozen=True)
class Recording:
    kind: str  # trace or prof, as the option is called
    output: str
    before: dict[Path, Stamp | None]

    @staticmethod
    def asked(kind: str, output: str) -> Recording:
        if output in ("off", ""):
            raise UserError(f'--{kind}: a file cannot be called "{output}" (./off can)', status=2)
        if not Path(output).parent.is_dir():
            raise UserError(f"--{kind} {output}: there is no folder {Path(output).parent}", 2)
        return Recording(kind, output, outputs.existing(output))

    @property
    def setting(self) -> tuple[str, str]:
        return f"PIRN_{self.kind.upper()}", self.output


def finish(recordings: Sequence[Recording], program: str, status: int) -> int:
    """Says what has been written; the status is not 0 if something has not."""
    whole = [_said(one, program, status) for one in recordings]
    return status if all(whole) else status or 1


def _said(one: Recording, program: str, status: int) -> bool:
    files = outputs.written(one.output, one.before)
    if not files:
        click.echo(
            f"Error: {program} has written no {_word(one)} to {one.output} (exit status {status}): "
            "it never started Pirn's runtime, was stopped, or its files are not ours",
            err=True,
        )
        return False
    describe, verbs = _tools(one)
    for file in files:
        try:
            click.echo(describe(file), err=True)
        except UserError as error:
            click.echo(f"Error: {error.message}", err=True)
            return False
    click.echo(verbs(files[0]), err=True)
    return True


def _word(one: Recording) -> str:
    return "trace" if one.kind == "trace" else "profile"


def _tools(one: Recording) -> tuple[Callable[[Path], str], Callable[[Path], str]]:
    from pirn_tools.prof import record as prof
    from pirn_tools.trace import record as trace

    return (trace.describe, trace.verbs) if one.kind == "trace" else (prof.describe, prof.verbs)
