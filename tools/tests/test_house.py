# SPDX-License-Identifier: MIT
"""Presets and make's targets: each says what it is for, and documents name those that there are."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pirn_tools import paths

ROOT = paths.project()
KINDS = ("configurePresets", "buildPresets", "testPresets")


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The file and those that it includes."""
    whole = json.loads(path.read_text())
    yield whole
    for other in whole.get("include", []):
        yield from read(path.parent / other)


def presets(kind: str) -> dict[str, dict[str, Any]]:
    every = [one for whole in read(ROOT / "CMakePresets.json") for one in whole.get(kind, [])]
    return {one["name"]: one for one in every if not one.get("hidden")}


@pytest.mark.parametrize("kind", KINDS)
def test_each_preset_says_what_it_is_for(kind: str) -> None:
    found = presets(kind)
    assert found.keys() == presets(KINDS[0]).keys()
    assert [name for name, one in found.items() if not one.get("displayName")] == []


def make(*words: str) -> str:
    done = subprocess.run(
        ["make", "--no-print-directory", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_help_names_each_target() -> None:
    text = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z][a-z-]*):(?!=)", text, re.MULTILINE)
    targets += make("--eval", "lists: ; @echo $(CHECKED) $(FUZZED) $(GUESTS)", "lists").split()
    targets += [name.replace("%", "PRESET") for name in re.findall(r"^(build-%):", text, re.M)]
    helped = dict(re.findall(r"^  make (\S+)\s+(\S.*)$", make("help"), re.MULTILINE))
    assert sorted(targets) == sorted(helped)
    assert len(targets) > 30


def test_documents_name_presets_and_targets_that_there_are() -> None:
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    helped = re.findall(r"^  make (\S+)", make("help"), re.MULTILINE)
    seen = 0
    for document in documents:
        text = document.read_text()
        for name in re.findall(r"(?:cmake|cmake --build|ctest) --preset ([a-z0-9-]+)", text):
            assert name in presets(KINDS[0]), f"{document}: --preset {name}"
            seen += 1
        code = "\n".join(re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        named = re.findall(r"(?:^    |`)make ([a-z0-9-]+)", text, re.MULTILINE)
        for name in named + re.findall(r"^(?:\$ )?make ([a-z0-9-]+)", code, re.MULTILINE):
            assert name in helped, f"{document}: make {name}"
            seen += 1
    assert seen > 40
