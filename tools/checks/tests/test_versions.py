# SPDX-License-Identifier: MIT
"""The check that all files name the same version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import versions
from conftest import Tree

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PATHS = [versions.SOURCE, *(path for path, _ in versions.WHOLE + versions.MAJOR)]


def read_all() -> dict[str, str]:
    return {path: (ROOT / path).read_text() for path in PATHS}


def test_versions_is_silent_when_all_files_agree(tree: Tree) -> None:
    assert versions.check(*tree(read_all())) == []


@pytest.mark.parametrize("path", [path for path, _ in versions.WHOLE])
def test_versions_complains_when_a_file_has_another_version(tree: Tree, path: str) -> None:
    files = read_all()
    wanted = re.search(versions.SOURCE_PATTERN, files[versions.SOURCE], re.MULTILINE)
    assert wanted is not None
    version = ".".join(wanted.groups())
    files[path] = files[path].replace(version, "98.7.6", 1)
    (problem,) = versions.check(*tree(files))
    assert problem.path == path
    assert problem.text == f"98.7.6, but CMakeLists.txt has {version}"


def test_versions_complains_when_the_major_version_has_grown(tree: Tree) -> None:
    files = read_all()
    files[versions.SOURCE] = files[versions.SOURCE].replace("VERSION 0.", "VERSION 98.", 1)
    paths = {problem.path for problem in versions.check(*tree(files))}
    assert paths == set(PATHS) - {versions.SOURCE}


def test_versions_complains_when_a_file_names_none(tree: Tree) -> None:
    files = read_all()
    del files["src/core/config.h"]
    (problem,) = versions.check(*tree(files))
    assert problem.text.startswith("names no version where ")
