# SPDX-License-Identifier: MIT
"""The checks of single files: licence line, length, machine paths, formatting."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import common
import format  # noqa: A004
import length
import paths
import pytest
import spdx
from conftest import Tree

LICENCE = "SPDX-License-Identifier: " + "MIT"
CHECKS = Path(__file__).resolve().parent.parent
HOME = "/" + "home/"
WORK = "/" + "work/"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.c", f"/* {LICENCE} */\n"),
        ("a.c", f"/* {LICENCE}\n *\n * more */\n"),
        ("a.cpp", f"// {LICENCE}\n"),
        ("a.py", f"#!/usr/bin/env python3\n# {LICENCE}\n"),
        ("a.md", f"<!-- {LICENCE} -->\n"),
        ("LICENSE", f"{LICENCE}\n"),
        ("a.json", "{}\n"),
        ("empty.txt", ""),
        ("picture.bin", "\0\0"),
    ],
)
def test_spdx_is_silent_when_line_is_there(tree: Tree, name: str, text: str) -> None:
    assert spdx.check(*tree({name: text})) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.c", "int x;\n"),
        ("a.c", f"\n/* {LICENCE} */\n"),
        ("a.c", "/* SPDX-License-Identifier: GPL-2.0 */\n"),
        ("a.sh", "#!/bin/sh\n"),
        ("a.c", f'const char *s = "{LICENCE}";\n'),
        ("CMakeLists.txt", "project(x)\n"),
    ],
)
def test_spdx_complains_when_line_is_missing(tree: Tree, name: str, text: str) -> None:
    assert len(spdx.check(*tree({name: text}))) == 1


def test_length_is_silent_when_short_or_excused(tree: Tree) -> None:
    files = {
        "a.c": "x\n" * length.LIMIT,
        "b.c": "/* Length: one table, generated */\n" + "x\n" * length.LIMIT,
        "data.txt": "x\n" * 2 * length.LIMIT,
    }
    assert length.check(*tree(files)) == []


@pytest.mark.parametrize("head", ["", "/* Length: */\n", "x\n" * 100 + "/* Length: too late */\n"])
def test_length_complains_when_long(tree: Tree, head: str) -> None:
    assert len(length.check(*tree({"a.c": head + "x\n" * (length.LIMIT + 1)}))) == 1


WIDE = " * " + "x" * length.COLUMNS + "\n"


def test_length_complains_when_a_comment_is_wide(tree: Tree) -> None:
    problems = length.check(*tree({"a.c": f"/*\n{WIDE} */\n", "b.py": WIDE, "c.md": WIDE}))
    assert [(problem.path, problem.line) for problem in problems] == [("a.c", 2)]


@pytest.mark.parametrize(
    "text", ["/usr/include", "lib/home/x", "https://host" + WORK + "x", "$HOME/x", "~" + WORK + "x"]
)
def test_paths_is_silent_when_path_is_anyones(tree: Tree, text: str) -> None:
    assert paths.check(*tree({"a.txt": text})) == []


@pytest.mark.parametrize("text", [f"cd {HOME}someone", f'"{WORK}tree/a.c"', f"x={HOME}me/bin"])
def test_paths_complains_when_path_is_one_machines(tree: Tree, text: str) -> None:
    assert len(paths.check(*tree({"a.txt": text}))) == 1


STYLE = (CHECKS.parent.parent / ".clang-format").read_text()
FORMATTED = "int f(int *p)\n{\n    return *p;\n}\n"


@pytest.mark.skipif(shutil.which(format.TOOL) is None, reason="no clang-format 14")
def test_format_finds_and_fixes_what_differs(tree: Tree) -> None:
    root, files = tree({".clang-format": STYLE, "good.c": FORMATTED, "bad.c": "int f( int*p ){}\n"})
    assert [problem.path for problem in format.check(root, files)] == ["bad.c"]
    format.fix(root, files)
    assert format.check(root, files) == []
    assert (root / "good.c").read_text() == FORMATTED


def test_list_files_leaves_out_what_git_ignores(tree: Tree) -> None:
    root, _ = tree({".gitignore": "ignored\n", "a.c": "", "ignored": "", "build/b.c": ""})
    names = {str(path) for path in common.list_files(root)}
    assert {"a.c", ".gitignore", "ignored"} == names  # without git: everything but build
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    names = {str(path) for path in common.list_files(root)}
    assert {"a.c", ".gitignore", "build/b.c"} == names


@pytest.mark.parametrize("name", ["includes", "order_tags", "spdx", "length", "paths", "format"])
def test_command_line_status_tells_the_verdict(tree: Tree, name: str) -> None:
    text = f"#include <stdatomic.h>\nint  f; // {HOME}me ORDER(x)\n" + "\n" * length.LIMIT
    root, _ = tree({".clang-format": STYLE, "src/core/bad.c": text})
    command = [sys.executable, str(CHECKS / f"{name}.py"), "--root", str(root)]
    bad = subprocess.run(command, capture_output=True, text=True, check=False)
    assert bad.returncode == 1, bad.stdout
    assert "src/core/bad.c:" in bad.stderr
    (root / "src/core/bad.c").write_text(f"/* {LICENCE} */\nint f;\n")
    good = subprocess.run(command, capture_output=True, text=True, check=False)
    assert good.returncode == 0, good.stderr


def test_files_without_git_leave_out_results_at_the_top_alone(tmp_path: Path) -> None:
    for name in ("results/a.csv", "docs/results/a.csv", "build/a.c", "src/a.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    assert common.list_files(tmp_path) == [Path("docs/results/a.csv"), Path("src/a.c")]
