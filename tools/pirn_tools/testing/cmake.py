# SPDX-License-Identifier: MIT
"""A project for CMake: configured with the board's toolchain file in build/<board>, built, and its
tests run by CTest, whose record (Test.xml) says what has become of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

from pirn_tools.testing.case import Case, State, ended
from pirn_tools.testing.plan import Plan
from pirn_tools.testing.process import Ended
from pirn_tools.testing.project import Project

WHOLE = str(2**31 - 1)  # bytes of an output that are kept
NEVER = "1000000"  # seconds


def build_folder(project: Project, plan: Plan) -> Path:
    return project.path.resolve() / "build" / plan.board.name


def test(project: Project, plan: Plan) -> list[Case]:
    build = build_folder(project, plan)
    if plan.clean and (build / "CMakeCache.txt").exists():
        shutil.rmtree(build)
    compiling = ["cmake", "--build", str(build), "--parallel", str(plan.jobs)]
    seconds = 0.0
    for what, line in (("configure", _configure(project, plan, build)), ("build", compiling)):
        done = plan.processes.run(line, project.path)
        seconds += done.seconds
        if done.status:
            why = f"cmake ({what}): {ended(done.status)}"
            return [_failed(project, why, seconds, done)]
    if plan.compile_only:
        return [Case(project.name, "build", State.PASSED, "compiled", seconds, done.output)]
    return _run(project, plan, build)


def _failed(project: Project, why: str, seconds: float, done: Ended) -> Case:
    status = done.status or None
    return Case(project.name, "build", State.FAILED, why, seconds, done.output, status)


def _configure(project: Project, plan: Plan, build: Path) -> list[str]:
    toolchain = str(plan.package.toolchain)
    line = ["cmake", "-S", ".", "-B", str(build), "--toolchain", toolchain]
    if not (build / "CMakeCache.txt").exists():
        line += ["-G", "Ninja"] if shutil.which("ninja") else []
    elif _cached(build, "CMAKE_TOOLCHAIN_FILE") != toolchain:
        line.append("--fresh")
    emulator = ";".join(word.replace(";", "\\;") for word in plan.runner(project))
    return [*line, f"-DCMAKE_CROSSCOMPILING_EMULATOR={emulator}", *project.settings.cmake]


def _cached(build: Path, name: str) -> str | None:
    for line in (build / "CMakeCache.txt").read_text(errors="replace").splitlines():
        key, equals, value = line.partition("=")
        if equals and key.partition(":")[0] == name:
            return value
    return None


def _run(project: Project, plan: Plan, build: Path) -> list[Case]:
    limit = plan.seconds(project)
    line = ["ctest", "--test-dir", str(build), "--test-action", "Test", "--no-compress-output"]
    line += ["--test-output-size-passed", WHOLE, "--test-output-size-failed", WHOLE]
    line += ["--timeout", f"{limit:g}" if limit else NEVER, "--parallel", str(plan.jobs)]
    shutil.rmtree(build / "Testing", ignore_errors=True)
    done = plan.processes.run(line, project.path)
    try:
        stamp = (build / "Testing" / "TAG").read_text().split()[0]
        record = ElementTree.parse(build / "Testing" / stamp / "Test.xml")  # noqa: S314
        cases = [_case(project, test) for test in record.iterfind("./Testing/Test")]
    except (OSError, IndexError, ElementTree.ParseError) as error:
        why = f"ctest has left no record ({error})"
        return [_failed(project, why, done.seconds, done)]
    if not cases:
        return [_failed(project, "it has no tests (add_test)", done.seconds, done)]
    return cases


def _case(project: Project, test: ElementTree.Element) -> Case:
    values = {one.get("name"): one.findtext("Value", "") for one in test.iter("NamedMeasurement")}
    state, why, status = _state(test.get("Status", ""), values)
    return Case(
        project.name,
        test.findtext("Name", ""),
        state,
        why,
        float(values.get("Execution Time") or 0),
        test.findtext("./Results/Measurement/Value", ""),
        status,
    )


def _state(said: str, values: dict[str | None, str]) -> tuple[State, str, int | None]:
    """CTest's words in ours."""
    code, completion = values.get("Exit Code", ""), values.get("Completion Status", "")
    if said == "passed":
        return State.PASSED, "", None
    if said == "notrun" and (completion == "Disabled" or completion.startswith("SKIP_")):
        return State.SKIPPED, completion.replace("SKIP_", "skip ").lower(), None
    if said == "notrun":
        return State.FAILED, f"not run: {completion}", None
    if code == "Timeout":
        return State.FAILED, "no end in time", None
    status = int(values.get("Exit Value") or 0)
    if code == "Failed" and status:
        return State.FAILED, ended(status), status
    return State.FAILED, completion if completion != "Completed" else code.lower(), None
