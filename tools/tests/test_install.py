# SPDX-License-Identifier: MIT
"""The installed command, for a user who has no source tree: DESTDIR is moved to another place, the
environment says nothing of the tree, and where the system lets us, the tree is hidden."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import live
import pytest

from pirn_tools import paths

LIBRARY = os.environ.get("PIRN_LIBRARY")
APPS = Path(os.environ.get("PIRN_APPS", "."))
PROGRAMS = ("matmul-nptl", "matmul-pirn", "sudoku-instrumented")
LIMIT = 120  # s: hangs only

pytestmark = pytest.mark.skipif(
    LIBRARY is None or live.FOLDER is None or not all((APPS / name).exists() for name in PROGRAMS),
    reason="PIRN_LIBRARY, PIRN_APPS and LIVE_PROGRAMS do not name a build with all programs",
)


def hidden(*words: object) -> list[str]:
    """The command, for which the tree is an empty folder."""
    script = 'mount -t tmpfs none "$0" && exec "$@"'
    wanted = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    return [*wanted, str(paths.project()), *map(str, words)]


def can_hide() -> bool:
    try:
        return subprocess.run(hidden("true"), capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert LIBRARY is not None
    build, folder = Path(LIBRARY).parent.parent, tmp_path_factory.mktemp("install")
    subprocess.run(
        ["cmake", "--install", str(build), "--prefix", "/opt/pirn"],
        env={**os.environ, "DESTDIR": str(folder / "root")},
        check=True,
        capture_output=True,
    )
    assert [path.name for path in (folder / "root").iterdir()] == ["opt"]
    return (folder / "root/opt/pirn").rename(folder / "a place")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs, where all commands run."""
    folder = tmp_path_factory.mktemp("user")
    for name in PROGRAMS:
        shutil.copy2(APPS / name, folder)
    assert live.FOLDER is not None
    shutil.copy2(Path(live.FOLDER) / "live-waits", folder)
    return folder


class User:
    def __init__(self, prefix: Path, place: Path, *, hides: bool = True) -> None:
        self.prefix, self.place, self.hides = prefix, place, hides and can_hide()
        self.environment = {
            "PATH": f"{prefix / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(place),
            "TERM": "dumb",
            "COLUMNS": "100",
        }

    def pirn(self, *words: object, status: int = 0) -> str:
        """Its output, on both streams."""
        command = ["pirn", *map(str, words)]
        done = subprocess.run(
            hidden(*command) if self.hides else command,
            cwd=self.place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == status, done.stdout
        assert str(paths.project()) not in done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def user(prefix: Path, place: Path) -> User:
    # Its Python must not lie in the tree, either; the one that built .venv does not.
    assert not Path(os.path.realpath(sys.executable)).is_relative_to(paths.project())
    return User(prefix, place)


def test_modules_are_those_of_the_prefix(prefix: Path) -> None:
    """In any environment, all modules are the prefix's or Python's own."""
    home = prefix / "lib/pirn/python"
    code = (
        "import pkgutil, sys; sys.path.insert(0, sys.argv[1]); import pirn_tools\n"
        "for one in pkgutil.walk_packages(pirn_tools.__path__, 'pirn_tools.'):\n"
        "    if not one.name.endswith('__main__'): __import__(one.name)\n"
        "import matplotlib.pyplot\n"
        "for name, module in list(sys.modules.items()):\n"
        "    print(name, getattr(module, '__file__', None) or '-')\n"
    )
    python = os.path.realpath(sys.executable)
    done = subprocess.run(
        [python, "-I", "-S", "-c", code, str(home)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    modules = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert {"pirn_tools.live.top", "matplotlib.pyplot", "numpy", "elftools", "rich"} <= set(modules)
    assert [one for one in modules.values() if "site-packages" in one] == []
    assert [one for one in modules.values() if one.startswith(str(paths.project()))] == []


def test_files_name_no_source_tree(prefix: Path) -> None:
    for name in ("bin/pirn", "lib/pirn/python/__main__.py"):
        assert str(paths.project()) not in (prefix / name).read_text()
    assert not (prefix / "lib/pirn/python.new").exists()
    assert (prefix / "share/man/man1/pirn.1").exists()
    assert (prefix / "share/pirn/pirn-gdb.py").exists()
    assert (prefix / "share/pirn/pirn_gdb_state.py").exists()


def test_run(user: User) -> None:
    """The library is that of the prefix: where the tree is hidden there is no other."""
    said = user.pirn("run", "--sched", "dist", "--cpus", 2, "--stats", "--", "./matmul-pirn")
    assert "pirn: sched dist\n" in said
    assert "single" in user.pirn("sched", "list")


def test_preload(user: User) -> None:
    # The dynamic linker splits LD_PRELOAD at spaces, and the prefix has one.
    said = user.pirn("run", "--preload", "--", "./matmul-nptl", status=1)
    assert "cannot hold: install or move the library to a path without them" in said
    plain = user.prefix.with_name("plain")
    plain.symlink_to(user.prefix)
    other = User(plain, user.place)
    # Through a link: the launcher and its libraries are still found, at the real place.
    assert str(user.prefix) in other.pirn("run", "--preload", "--", "./matmul-nptl", status=1)


def test_preload_from_a_moved_prefix(user: User) -> None:
    moved = user.prefix.with_name("moved")
    user.prefix.rename(moved)
    try:
        said = User(moved, user.place).pirn("run", "--preload", "--stats", "--", "./matmul-nptl")
    finally:
        moved.rename(user.prefix)
    assert "pirn: sched steal\n" in said


def test_trace(user: User) -> None:
    user.pirn("trace", "record", "--cpus", 2, "-o", "m.trace", "--", "./matmul-pirn")
    assert "steal" in user.pirn("trace", "stat", "m.trace")
    user.pirn("trace", "plot", "m.trace", "-o", "m.png")
    assert (user.place / "m.png").read_bytes().startswith(b"\x89PNG")
    user.pirn("trace", "report", "m.trace", "-o", "m.html")
    assert "<html" in (user.place / "m.html").read_text()


def test_prof(user: User) -> None:
    user.pirn("prof", "record", "-o", "s.prof", "--", "./sudoku-instrumented", "--puzzles=5")
    assert re.search(r"solve", user.pirn("prof", "flat", "s.prof"))
    user.pirn("prof", "flame", "s.prof", "-o", "s.svg")
    assert "<svg" in (user.place / "s.svg").read_text()


def test_live(prefix: Path, place: Path) -> None:
    user = User(prefix, place, hides=False)  # as seen from there, the program is somebody else's
    libraries = str(user.prefix / "lib")
    with live.started(user.place / "live-waits", LD_LIBRARY_PATH=libraries) as process:
        said = user.pirn("ps", "-p", process.pid)
        assert '"takes-b"' in said
        assert "takes-a" in user.pirn("dump", "-p", process.pid)
        assert "takes-a" in user.pirn("top", "-p", process.pid, "--count", 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bench", "suites"], "needs Pirn's source tree"),
        (["demo"], "needs Pirn's source tree"),
        (["figures"], "needs Pirn's source tree"),
        (["programs"], "needs Pirn's source tree"),
    ],
)
def test_verbs_of_the_tree_say_so(user: User, words: list[str], said: str) -> None:
    assert said in user.pirn(*words, status=1)


def test_boards_of_the_prefix(user: User, tmp_path: Path) -> None:
    said = user.pirn("board", "list", status=2)
    assert "no boards: --boards DIR or PIRN_BOARDS names a folder of them" in said
    boards = user.prefix / "lib/pirn/boards"
    shutil.copytree(paths.project() / "port/board/riscv64-virt", boards / "riscv64-virt")
    try:
        assert "riscv64-virt" in user.pirn("board", "list")
    finally:
        shutil.rmtree(boards)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version=", "version=9.9 #", r"needs Python 9\.9: there is no /none, and no python9\.9"),
        ("place=", "place=../lib/none #", r"lib/none is missing or not complete: install Pirn"),
    ],
)
def test_launcher_says_what_is_missing(prefix: Path, old: str, new: str, said: str) -> None:
    text = (prefix / "bin/pirn").read_text()
    text = re.sub("^installed_with=.*", "installed_with=/none", text, flags=re.MULTILINE)
    broken = prefix / "bin/broken"
    broken.write_text(re.sub(f"^{old}", new, text, flags=re.MULTILINE))
    done = subprocess.run(
        ["sh", str(broken), "ps"], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    broken.unlink()
    assert done.returncode == 1
    assert re.search(said, done.stderr), done.stderr


def test_another_python_is_refused(prefix: Path, tmp_path: Path) -> None:
    home = tmp_path / "python"
    home.mkdir()
    text = (prefix / "lib/pirn/python/__main__.py").read_text()
    version = re.search(r"!= (\(3, \d+\)):", text)
    assert version is not None
    (home / "__main__.py").write_text(text.replace(version[1], "(3, 1)"))
    done = subprocess.run(
        [sys.executable, str(home), "pirn"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "is Python 3." in done.stderr


def test_second_installation_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    script = paths.project() / "tools/install/install.py"
    words = [sys.executable, "-B", str(script), "--bin", f"{tmp_path}/bin", "--lib"]
    old = tmp_path / "lib/pirn/python/pirn_tools/old.py"
    old.parent.mkdir(parents=True)
    old.touch()
    done = subprocess.run([*words, f"{tmp_path}/lib"], capture_output=True, text=True, check=True)
    listed = {Path(line) for line in done.stdout.splitlines()}
    assert listed == {path for path in tmp_path.rglob("*") if path.is_file()}
    assert old not in listed
    assert not any("tests" in path.parts for path in listed)
    done = subprocess.run([*words, "lib"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "lib is not an absolute path" in done.stderr
