# SPDX-License-Identifier: MIT
"""`pirn test`: scans a folder for projects with tests, builds each for a board, runs it there, and
says what has failed, with all that it has printed."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pirn_tools.board import boards, machine, package, runner
from pirn_tools.board.options import DEFAULT, boards_option
from pirn_tools.errors import UserError
from pirn_tools.testing import cmake, junit, make
from pirn_tools.testing.case import Case, State
from pirn_tools.testing.plan import TIMEOUT, Plan
from pirn_tools.testing.process import Processes, Stopped
from pirn_tools.testing.project import RULE, Project
from pirn_tools.testing.scan import scan

NONE = (
    "no projects with tests in {}: a project has a CMakeLists.txt with project() and "
    'enable_testing(), or a Makefile with the rule "{}", or a pirn-test.toml beside one of them'
)


@click.command("test")
@click.option(
    "--board", default=DEFAULT, show_default=True, metavar="BOARD", help="Where they run."
)
@click.option("--rule", default=RULE, show_default=True, help="The rule of projects for make.")
@click.option("--compile-only", is_flag=True, help="Build, but do not run.")
@click.option("--clean", is_flag=True, help="Build everything anew.")
@click.option("--scan-only", is_flag=True, help="Only list the projects.")
@click.option("--verbose", is_flag=True, help="Print the output of what passes, too.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: len(os.sched_getaffinity(0)),
    metavar="N",
    help="So many things at a time; default: the number of CPUs here.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="S",
    help=f"A test that takes longer fails; 0: none does. Default {TIMEOUT:g}.",
)
@click.option("--cpus", type=int, metavar="N", help="Number of the board's CPUs.")
@click.option(
    "--junit",
    "report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the results as JUnit's XML.",
)
@boards_option
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
def command(folder: Path, **options: Any) -> None:  # noqa: ANN401
    """Build and run the tests of all projects below DIR on a board.

    Exit status: 0 if all pass, 1 if one fails, 2 for a wrong command line.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder", status=2)
    if not options["rule"] or options["rule"].startswith("-"):
        raise UserError(f'--rule "{options["rule"]}": the name of a rule is valid', status=2)
    projects = list(scan(folder, options["rule"]))
    if not projects:
        raise UserError(NONE.format(folder, options["rule"]), status=2)
    if options["scan_only"]:
        sys.exit(_list(projects))
    report: Path | None = options["report"]
    if report is not None and not report.absolute().parent.is_dir():
        raise UserError(f"--junit {report}: there is no folder {report.parent}", status=2)
    plan = _plan(options)
    cases = _test_all(projects, plan, options["verbose"])
    if report is not None:
        junit.write(report, plan.board.name, cases)
    sys.exit(_summary(cases, projects, plan.board.name))


def _list(projects: Sequence[Project]) -> int:
    for one in projects:
        click.echo(f"{one.kind:<6} {one.name}" + (f": {one.problem}" if one.problem else ""))
    return 1 if any(one.problem for one in projects) else 0


def _plan(options: dict[str, Any]) -> Plan:
    board = boards.find(boards.folders(options["places"]), options["board"])
    machine.cpus(board, machine.Options(options["cpus"]))
    tools = package.find(board)
    if not options["compile_only"]:
        (runner.check if board.runner else machine.check_qemu)(board)
    names = ("places", "rule", "clean", "compile_only", "cpus", "timeout", "jobs")
    return Plan(board, tools, **{name: options[name] for name in names}, processes=Processes())


def _test_all(projects: Sequence[Project], plan: Plan, verbose: bool) -> list[Case]:
    """Several projects at a time; one alone has all jobs. In the order of the projects."""
    at_once = min(plan.jobs, len(projects))
    inner = replace(plan, jobs=max(1, plan.jobs // at_once))
    lock = threading.Lock()

    def work(project: Project) -> list[Case]:
        cases = _test(project, inner)
        with lock:
            for case in cases:
                _say(case, verbose)
        return cases

    pool = ThreadPoolExecutor(at_once)
    try:
        with plan.processes.stopped_by_signals():
            futures: list[Future[list[Case]]] = [pool.submit(work, one) for one in projects]
            return [case for future in futures for case in future.result()]
    except Stopped as stopped:
        click.echo(f"pirn: {stopped}", err=True)
        pool.shutdown(cancel_futures=True)
        sys.exit(stopped.status)
    finally:
        pool.shutdown(cancel_futures=True)


def _test(project: Project, plan: Plan) -> list[Case]:
    settings = project.settings
    if project.problem:
        return [Case(project.name, "build", State.FAILED, project.problem)]
    if settings.skip:
        return [Case(project.name, "", State.SKIPPED, settings.skip)]
    if settings.boards and plan.board.name not in settings.boards:
        return [Case(project.name, "", State.SKIPPED, f"for {', '.join(settings.boards)}")]
    try:
        return cmake.test(project, plan) if project.kind == "cmake" else make.test(project, plan)
    except OSError as error:
        why = f"{error.filename or project.path}: {error.strerror or error}"
        return [Case(project.name, "build", State.FAILED, why)]


def _say(case: Case, verbose: bool) -> None:
    why = f"{case.why}, " if case.why else ""
    click.echo(f"{case.state.value}  {case.full}  ({why}{case.seconds:.2f} s)")
    if case.state is State.FAILED or verbose:
        text = case.output if case.output.endswith("\n") or not case.output else f"{case.output}\n"
        click.echo(f"---- output\n{text}---- end of output" if text else "---- no output")


def _summary(cases: Sequence[Case], projects: Sequence[Project], board: str) -> int:
    counts = {state: sum(case.state is state for case in cases) for state in State}
    failed = counts[State.FAILED]
    click.echo(
        f"{counts[State.PASSED]} passed, {failed} failed, {counts[State.SKIPPED]} skipped, "
        f"in {len(projects)} project{'s' if len(projects) != 1 else ''} on {board}"
    )
    return 1 if failed else 0
