# SPDX-License-Identifier: MIT
"""Makes the checks importable and gives their tests a tree to write files into."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

Tree = Callable[[dict[str, str]], tuple[Path, list[Path]]]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Writes files, given as path -> text; returns what a check takes."""

    def write(files: dict[str, str]) -> tuple[Path, list[Path]]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path, sorted(Path(name) for name in files)

    return write
