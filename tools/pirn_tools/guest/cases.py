# SPDX-License-Identifier: MIT
"""Tests of ctest as the guest can run them: ctest's list, without what is of this machine.

A cross build's tests start with QEMU's user mode, which is left out: the guest runs the program
itself. Scripts in Python run with the guest's. A test whose program the guest lacks, or for which
something unknown is demanded, is not run, and the reason is said.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pirn_tools.errors import UserError

DEFAULT_LIMIT = 600.0  # seconds, of a test that names none: as in the presets
PYTHON = "/usr/bin/python3"
EMULATOR = re.compile(r"^(?:.*/)?qemu-[a-z0-9_]+(?:-static)?$")
RUNNER = re.compile(r"^--runner=(?:.*/)?qemu-")  # of a script that starts programs itself
# Properties that are kept as they are.
FIELDS = {
    "PASS_REGULAR_EXPRESSION": "passes",
    "FAIL_REGULAR_EXPRESSION": "fails",
    "SKIP_REGULAR_EXPRESSION": "skips",
    "SKIP_RETURN_CODE": "skip_status",
    "WORKING_DIRECTORY": "folder",
    "PROCESSORS": "jobs",
    "WILL_FAIL": "will_fail",
    "FIXTURES_SETUP": "first",
}
# Those that say nothing about how a test runs, or that ctest itself has used.
IGNORED = {"LABELS", "COST", "DEPENDS", "FIXTURES_REQUIRED"}


@dataclass
class Case:
    name: str
    command: list[str]
    folder: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    limit: float = DEFAULT_LIMIT  # seconds
    jobs: int = 1  # places that it takes
    passes: list[str] = field(default_factory=list)  # one of these in the output: passed
    fails: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)
    skip_status: int | None = None
    will_fail: bool = False
    first: list[str] = field(default_factory=list)  # others need what it makes
    missing: str = ""  # why it cannot run

    @staticmethod
    def read(values: Mapping[str, Any]) -> Case:
        return Case(**values)

    def write(self) -> dict[str, Any]:
        return asdict(self)


def ask(build: Path, labels: str, only: str, skip: str) -> list[dict[str, Any]]:
    """ctest's list of a build, by expressions for labels and names ("": all)."""
    command = ["ctest", "--test-dir", str(build), "--show-only=json-v1"]
    for option, value in (("-L", labels), ("-R", only), ("-E", skip)):
        command += [option, value] if value else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return list(json.loads(done.stdout)["tests"])
    except (ValueError, KeyError):
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UserError(f"{' '.join(command)}: {said[-1] if said else 'no list'}") from None


def cases(listed: Sequence[Mapping[str, Any]], scale: float) -> list[Case]:
    """As the guest runs them, those first that others need. Limits are as many times longer."""
    found = [_case(one, scale) for one in listed]
    return sorted(found, key=lambda one: not one.first)


def _case(one: Mapping[str, Any], scale: float) -> Case:
    properties = {each["name"]: each["value"] for each in one.get("properties", ())}
    case = Case(str(one["name"]), native(one.get("command", ())))
    case.limit *= scale
    if not case.command:
        case.missing = "its program is not built"
    for name, value in properties.items():
        _set(case, name, value, scale)
    return case


def _set(case: Case, name: str, value: Any, scale: float) -> None:  # noqa: ANN401 - of JSON
    if name == "TIMEOUT":
        case.limit = float(value) * scale
    elif name == "ENVIRONMENT":
        case.environment.update(each.split("=", 1) for each in value)
    elif name == "DISABLED":
        case.missing = "it is disabled" if value else case.missing
    elif name in FIELDS:
        setattr(case, FIELDS[name], value)
    elif name not in IGNORED:
        case.missing = f"the guest does not know the property {name}"


def native(command: Sequence[str]) -> list[str]:
    """Without QEMU's user mode and its sysroot, wherever these stand."""
    words: list[str] = []
    rest = list(command)
    while rest:
        word = rest.pop(0)
        if EMULATOR.match(word):
            if rest[:1] == ["-L"]:
                rest = rest[2:]
        elif not RUNNER.match(word):
            words.append(word)
    if words and re.fullmatch(r"(?:.*/)?python3?(?:\.\d+)?", words[0]):
        words[0] = PYTHON
    return words
