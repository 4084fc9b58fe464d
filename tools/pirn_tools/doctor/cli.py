# SPDX-License-Identifier: MIT
"""The command `pirn doctor`."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from pirn_tools import __version__
from pirn_tools.doctor import program as programs
from pirn_tools.doctor import runtime as runtimes
from pirn_tools.doctor import system
from pirn_tools.doctor.findings import Finding, State, show, worst

STATUS = {State.OK: 0, State.LIMITED: 1, State.MISSING: 3}
EPILOG = (
    "Exit status: 0 everything is ok; 1 something is limited; 3 something is not available, such "
    "as Pirn in a static program; 2 a wrong command line; 127 no such program."
)


@click.command(
    epilog=EPILOG,
    short_help="Say what this machine and a program will get of Pirn.",
    context_settings={"allow_interspersed_args": False},
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.argument("program", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def doctor(as_json: bool, program: str | None, args: Sequence[str]) -> None:
    """Say what this machine, and PROGRAM on it, will get of Pirn: feature by feature, with the
    reason and what to do where something is limited.

    The library itself reports what it uses, in a small process into which it is preloaded. PROGRAM
    is read with its libraries, not run; of a script its interpreter counts. ARGS matter only if
    PROGRAM is env.
    """
    runtime = runtimes.probe()
    found = [*runtimes.findings(runtime), *system.findings(runtime), *programs.preloads()]
    found.sort(key=lambda one: ORDER.index(one.section))
    if program is not None:
        found += programs.findings(program, args, runtime)
    if as_json:
        click.echo(json.dumps(_document(found, program), indent=2, ensure_ascii=False))
    else:
        show(found)
    raise SystemExit(STATUS[worst(found)])


ORDER = (system.MACHINE, runtimes.SECTION, system.LIMITS, system.TOOLS)


def _document(found: Sequence[Finding], program: str | None) -> dict[str, object]:
    return {
        "pirn": __version__,
        "program": program,
        "state": worst(found).value,
        "findings": [one.json() for one in found],
    }
