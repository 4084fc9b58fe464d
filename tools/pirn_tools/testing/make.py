# SPDX-License-Identifier: MIT
"""A project for make: `make RULE` makes a program, which is the test.

make gets PIRN_MK, the file to include (cmake/pirn-board.mk.in), and PIRN_BOARD. It takes a space
in a file's name for its end: such a Pirn is refused.
"""

from __future__ import annotations

import os

from pirn_tools.testing.case import Case, State, ended
from pirn_tools.testing.plan import Plan
from pirn_tools.testing.project import Project
from pirn_tools.testing.scan import OF_MAKE


def test(project: Project, plan: Plan) -> list[Case]:
    rule = project.settings.rule or plan.rule
    if len(str(plan.package.make).split()) > 1:
        why = f"make includes no file whose path has a space: {plan.package.make}"
        return [_failed(project, why, 0.0, "")]
    environment = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    line = ["make", f"--jobs={plan.jobs}", f"PIRN_MK={plan.package.make}"]
    line.append(f"PIRN_BOARD={plan.board.name}")
    seconds = 0.0
    for goal in [*(["clean"] if plan.clean else []), rule]:
        done = plan.processes.run([*line, goal], project.path, environment=environment)
        seconds += done.seconds
        if done.status:
            why = f"make {goal}: {ended(done.status)}"
            return [_failed(project, why, seconds, done.output, done.status)]
    program = project.path / project.settings.program
    if not program.is_file():
        why = f"make {rule} has made no {project.settings.program}"
        return [_failed(project, why, seconds, done.output)]
    if plan.compile_only:
        return [Case(project.name, "build", State.PASSED, "compiled", seconds, done.output)]
    return [_run(project, plan)]


def _failed(
    project: Project, why: str, seconds: float, output: str, status: int | None = None
) -> Case:
    return Case(project.name, "build", State.FAILED, why, seconds, output, status)


def _run(project: Project, plan: Plan) -> Case:
    line = [*plan.runner(project), project.settings.program, *project.settings.args]
    limit = plan.seconds(project)
    done = plan.processes.run(line, project.path, limit)
    if not done.in_time:
        state, why = State.FAILED, f"no end after {limit:g} s"
    elif done.status:
        state, why = State.FAILED, ended(done.status)
    else:
        state, why = State.PASSED, ""
    status = done.status if done.status and done.in_time else None
    return Case(project.name, "", state, why, done.seconds, done.output, status)
