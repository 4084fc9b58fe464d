# SPDX-License-Identifier: MIT
"""Where the tools look for what they load: never above the current directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pirn_tools import paths

PACKAGE = Path(paths.__file__).parent


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The package outside its tree."""
    shutil.copytree(PACKAGE, tmp_path / "site" / "pirn_tools")
    return tmp_path / "site"


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder that looks like the project's, with a library that says that it was loaded."""
    root = tmp_path / "trap"
    (root / "tools" / "pirn_tools").mkdir(parents=True)
    (root / "CMakePresets.json").touch()
    (root / "port" / "board" / "evil").mkdir(parents=True)
    (root / "port" / "board" / "evil" / "board.toml").write_text("not TOML at all")
    below = root / "build" / "release" / "lib"
    below.mkdir(parents=True)
    source = root / "evil.c"
    source.write_text(
        '#include <stdio.h>\n__attribute__((constructor)) void loaded(void) { puts("LOADED"); }\n'
    )
    if shutil.which("cc"):
        words = ["cc", "-shared", "-fPIC", "-o", str(below / "libpirn.so.0"), str(source)]
        subprocess.run(words, check=True)
    return root


def run(where: Path, site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """As the installed script does: the current directory is not in Python's path."""
    code = "from pirn_tools.cli import entry; entry()"
    names = ("PIRN_LIBRARY", "PIRN_BOARDS", "PIRN_BUILD")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *words],
        cwd=where,
        env={**environment, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_library_of_the_current_folder_is_not_loaded(installed: Path, trap: Path) -> None:
    for where in (trap, trap / "build"):
        said = run(where, installed, "sched", "list")
        assert "LOADED" not in said.stdout + said.stderr
        assert str(trap) not in said.stderr


def test_boards_of_the_current_folder_are_not_read(installed: Path, trap: Path) -> None:
    said = run(trap, installed, "board", "list")
    assert said.returncode == 2, said.stdout
    assert "no boards: --boards DIR or PIRN_BOARDS names a folder of them" in said.stderr


def test_commands_of_the_tree_are_refused_outside(installed: Path, trap: Path) -> None:
    said = run(trap, installed, "programs", "list")
    assert said.returncode == 1, said.stdout
    assert "this pirn is installed outside" in said.stderr


def test_tree_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert paths.find_project() == PACKAGE.parent.parent


@pytest.mark.parametrize("home", [True, False])
def test_folder_of_matplotlib_is_nobody_elses(tmp_path: Path, home: bool) -> None:
    """Its settings are read from there: a name in /tmp that anybody may make is not used."""
    code = (
        "import os; from pathlib import Path; from pirn_tools import plotting\n"
        "with plotting.figure(Path('x.png'), 2, 2): print(os.environ['MPLCONFIGDIR'])"
    )
    environment = {k: v for k, v in os.environ.items() if k != "MPLCONFIGDIR"}
    cache = tmp_path / "cache" if home else Path("/dev/null/none")
    environment |= {"TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(cache)}
    taken = tmp_path / "pirn-matplotlib"
    taken.mkdir()
    said = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    used = Path(said.stdout.strip())
    assert (tmp_path / "x.png").exists()
    if home:
        assert used == cache / "pirn" / "matplotlib"
    else:
        assert used.parent == tmp_path
        assert used != taken
        assert not used.exists(), "it is removed at the end"
