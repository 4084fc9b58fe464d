# SPDX-License-Identifier: MIT
"""The results as JUnit's XML, which services that build and test read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from pirn_tools.testing.case import Case, State

# What XML 1.0 cannot have, not even escaped.
INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(path: Path, board: str, cases: Sequence[Case]) -> None:
    root = Element("testsuites", _counts(cases))
    for name, group in groupby(cases, key=lambda case: case.project):
        own = list(group)
        suite = SubElement(root, "testsuite", {"name": _valid(name), **_counts(own)})
        properties = SubElement(suite, "properties")
        SubElement(properties, "property", {"name": "board", "value": board})
        for case in own:
            _write_case(suite, case)
    indent(root)
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    failed = [case for case in cases if case.state is State.FAILED]
    errors = sum(case.name == "build" for case in failed)
    return {
        "tests": str(len(cases)),
        "failures": str(len(failed) - errors),
        "errors": str(errors),
        "skipped": str(sum(case.state is State.SKIPPED for case in cases)),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _write_case(suite: Element, case: Case) -> None:
    name = _valid(case.name or "test")
    attributes = {"name": name, "classname": _valid(case.project), "time": f"{case.seconds:.3f}"}
    element = SubElement(suite, "testcase", attributes)
    if case.state is State.FAILED:
        kind = "error" if case.name == "build" else "failure"
        SubElement(element, kind, {"message": _valid(case.why)})
    elif case.state is State.SKIPPED:
        SubElement(element, "skipped", {"message": _valid(case.why)})
    if case.output:
        SubElement(element, "system-out").text = _valid(case.output)


def _valid(text: str) -> str:
    return INVALID.sub("\ufffd", text)
