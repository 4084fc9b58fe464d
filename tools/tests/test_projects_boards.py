# SPDX-License-Identifier: MIT
"""Projects outside this tree, on a board under QEMU: what `pirn board new` makes, done literally as
it says; with make; against an installed Pirn. Skipped where Pirn has not been built for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from loopback import environment, pirn

from pirn_tools import paths
from pirn_tools.board import boards, package
from pirn_tools.errors import UserError

BOARD = "riscv64-virt"


def missing(name: str = BOARD) -> str | None:
    """Why there is nothing to test."""
    try:
        board = boards.find(boards.folders(), name)
        package.find(board)
    except UserError as error:
        return error.message
    return None if shutil.which(board.qemu) else f"no {board.qemu}"


pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

MAKEFILE = """\
include $(PIRN_MK)
.PHONY: test cxx native
test: test.elf
test.elf: ../hello/test_sum.c ../hello/sum.c
\t$(PIRN_CC) $(PIRN_PTHREAD_CFLAGS) -O2 -g $^ -o $@ $(PIRN_LDFLAGS) $(PIRN_PTHREAD_LDLIBS)
cxx: cxx.elf
cxx.elf: cxx.cpp
\t$(PIRN_CXX) $(PIRN_PTHREAD_CFLAGS) $(PIRN_CXXFLAGS) -O2 $^ -o $@ \\
\t  $(PIRN_LDFLAGS) $(PIRN_CXX_LIBS) $(PIRN_PTHREAD_LDLIBS)
native: native.elf
native.elf: native.c
\t$(PIRN_CC) $(PIRN_CFLAGS) -O2 -g $^ -o $@ $(PIRN_LDFLAGS) $(PIRN_LDLIBS)
"""
NATIVE = """\
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>
static void *run(void *arg)
{
    abort();
    return arg;
}
int main(void)
{
    pirn_thread_t t;
    puts("it begins");
    fflush(stdout);
    return pirn_create(&t, NULL, run, NULL) != 0 || pirn_join(t, NULL) != 0;
}
"""

# Static objects, operator new, a local static variable, classes of Pirn, threads of POSIX.
CXX = """\
#include <pirn/pirn.hpp>
#include <pthread.h>
#include <stdio.h>
struct base {
    base() { puts("constructed"); }
    virtual ~base() { puts("destroyed"); }
    virtual int value() = 0;
};
struct derived : base {
    int value() override { return 41; }
};
static int the_value()
{
    static base *object = new derived;
    const int value = object->value();
    delete object;
    return value;
}
static derived global;
static void *run(void *arg)
{
    pirn::thread([arg] { *static_cast<int *>(arg) = the_value(); }).join();
    return nullptr;
}
int main()
{
    int value = 0;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, run, &value) != 0 || pthread_join(thread, nullptr) != 0) {
        return 1;
    }
    printf("%d\\n", value + global.value());
    return 0;
}
"""
CXX_SAYS = "constructed\nconstructed\ndestroyed\n82\ndestroyed\n"
CXX_PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(cxx LANGUAGES CXX)
include(CTest)
find_package(pirn REQUIRED)
add_executable(cxx cxx.cpp)
pirn_board_program(cxx PTHREAD)
add_test(NAME cxx COMMAND cxx)
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Pirn is installed for the board."""
    folder = tmp_path_factory.mktemp("prefix") / "prefix"
    build = paths.project() / "build" / BOARD
    subprocess.run(
        ["cmake", "--install", str(build), "--prefix", str(folder)], check=True, capture_output=True
    )
    return folder / "lib" / "pirn" / "boards"


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    done = pirn("board", "new", "hello", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "hello"


def shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done


def test_what_new_prints_does_what_it_says(tmp_path: Path) -> None:
    done = pirn("board", "new", "with space/hello", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()[1:]]
    said = [shell(line, tmp_path).stdout for line in lines]
    assert len(said) == 4
    assert said[2] == "4 cores, sum 4950\n"
    assert "pass  hello: sum  (" in said[3]
    assert said[3].endswith(f"1 passed, 0 failed, 0 skipped, in 1 project on {BOARD}\n")
    assert not list(tmp_path.rglob("*@*"))


@pytest.mark.parametrize("name", ["riscv64-virt", "aarch64-virt", "vexpress-a9", "malta-p5600"])
def test_a_project_with_a_handler(tmp_path: Path, name: str) -> None:
    """Done as it says: the handler posts, the thread takes each event, the watchdog is served."""
    if missing(name):
        pytest.skip(str(missing(name)))
    done = pirn("board", "new", "--irq", "--board", name, "device", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()[1:]]
    said = [shell(line, tmp_path).stdout for line in lines]
    assert said[2] == "100 events\n"
    assert "pass  device: device  (" in said[3]
    assert len(list((tmp_path / "device").glob("alarm_*.c"))) == 1
    sources = [path for path in (tmp_path / "device").iterdir() if path.is_file()]
    assert not any("@" in path.read_text() for path in sources)


def test_a_handler_needs_a_device(tmp_path: Path) -> None:
    done = pirn("board", "new", "--irq", "--board", "pirn-soc", "device", cwd=tmp_path)
    assert done.returncode == 2
    assert "--irq: the description of pirn-soc names no device" in done.stderr
    valid = "aarch64-virt, arm-virt, malta-p5600, mps2-an385, "
    assert f"boards that have one: {valid}" in " ".join(done.stderr.split())
    assert not (tmp_path / "device").exists()


def test_what_its_readme_says(hello: Path) -> None:
    folder = hello.parent / "bin"
    folder.mkdir()
    (folder / "pirn").write_text('#!/bin/sh\nexec python3 -m pirn_tools "$@"\n')
    (folder / "pirn").chmod(0o755)
    venv = paths.project() / ".venv" / "bin"
    where = f"{folder}:{venv}:{os.environ['PATH']}"
    lines = [
        line.strip()
        for line in (hello / "README.md").read_text().splitlines()
        if line[:4] == "    "
    ]
    assert len(lines) == 4
    said = [shell(line, hello, PATH=where).stdout for line in lines]
    assert said[2] == "4 cores, sum 4950\n"
    assert "1 passed" in said[3]


def test_a_failing_test_is_seen(hello: Path) -> None:
    source = hello / "test_sum.c"
    source.write_text(source.read_text().replace("sum != 4950", "sum == 4950"))
    done = pirn("test", "hello", cwd=hello.parent)
    assert done.returncode == 1
    assert "FAIL  hello: sum  (exit status 1, " in done.stdout
    assert "---- output\nthe sum is 4950, not 4950\n" in done.stdout
    source.write_text("no C\n")
    done = pirn("test", "hello", cwd=hello.parent)
    assert "FAIL  hello: build  (cmake (build): exit status 1, " in done.stdout
    assert "error: " in done.stdout


def test_projects_for_make_and_a_crash(hello: Path) -> None:
    other = hello.parent / "other"
    other.mkdir()
    (other / "Makefile").write_text(MAKEFILE)
    (other / "native.c").write_text(NATIVE)
    done = pirn("test", "other", cwd=hello.parent)
    assert (done.returncode, done.stdout[:12]) == (0, "pass  other "), done.stdout
    (other / "pirn-test.toml").write_text('rule = "native"\nprogram = "native.elf"\n')
    done = pirn("test", "other", cwd=hello.parent)
    assert done.returncode == 1
    assert "FAIL  other  (exit status 134: crashed or aborted, " in done.stdout
    assert "it begins\n" in done.stdout


def passes_in_cxx(folder: Path, *options: str) -> None:
    (folder / "made" / "cxx.elf").unlink(missing_ok=True)
    done = pirn("test", "--verbose", *options, ".", cwd=folder)
    assert done.returncode == 0, done.stdout
    said = [line.strip().rpartition(": ")[2] for line in done.stdout.splitlines()]
    assert "\n".join(said).count(CXX_SAYS) == 2, done.stdout


def test_programs_in_cxx(tmp_path: Path, prefix: Path) -> None:
    both = tmp_path / "both"
    for name, file, text in (
        ("made", "Makefile", MAKEFILE),
        ("cmaked", "CMakeLists.txt", CXX_PROJECT),
    ):
        (both / name).mkdir(parents=True)
        (both / name / file).write_text(text)
        (both / name / "cxx.cpp").write_text(CXX)
    (both / "made" / "pirn-test.toml").write_text('rule = "cxx"\nprogram = "cxx.elf"\n')
    passes_in_cxx(both)
    moved = prefix.parents[2].rename(tmp_path / "moved")
    try:
        passes_in_cxx(both, "--boards", str(moved / "lib" / "pirn" / "boards"))
    finally:
        moved.rename(prefix.parents[2])


def test_against_an_installed_pirn(hello: Path, prefix: Path) -> None:
    other = hello.parent / "other"
    other.mkdir()
    (other / "Makefile").write_text(MAKEFILE)
    moved = prefix.parents[2].rename(hello.parent / "moved")
    try:
        boards_folder = moved / "lib" / "pirn" / "boards"
        done = pirn("test", ".", "--boards", boards_folder, cwd=hello.parent)
        assert done.returncode == 0, done.stdout
        assert "2 passed" in done.stdout
        cache = (hello / "build" / BOARD / "CMakeCache.txt").read_text()
        assert str(boards_folder / BOARD / "toolchain.cmake") in cache
        printed = pirn("board", "toolchain", "--boards", boards_folder, BOARD, cwd=hello)
        assert printed.stdout == f"{boards_folder / BOARD / 'toolchain.cmake'}\n"
    finally:
        moved.rename(prefix.parents[2])


CONFIGURED = """\
#include <pthread.h>
#include <stdio.h>
static void *run(void *arg) { return arg; }
int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    puts("linked");
    return 0;
}
"""


def test_folders_with_spaces(tmp_path: Path, prefix: Path) -> None:
    """CMake and pirn-cc take them; make cannot, and says so."""
    folder = tmp_path / "my projects"
    made, cmaked = folder / "made", folder / "cmaked"
    for where, file, text in (
        (made, "Makefile", MAKEFILE),
        (cmaked, "CMakeLists.txt", CXX_PROJECT),
    ):
        where.mkdir(parents=True)
        (where / file).write_text(text)
    (cmaked / "cxx.cpp").write_text(CXX)
    moved = prefix.parents[2].rename(tmp_path / "my prefix")
    try:
        boards_folder = moved / "lib" / "pirn" / "boards"
        done = pirn("test", "--boards", boards_folder, "--verbose", folder, cwd=tmp_path)
        assert done.returncode == 1
        assert CXX_SAYS.splitlines()[3] in done.stdout, done.stdout
        assert "1 passed, 1 failed, 0 skipped" in done.stdout, done.stdout
        makefile = boards_folder / BOARD / "pirn.mk"
        assert f"make includes no file whose path has a space: {makefile}" in done.stdout
        (folder / "a.c").write_text(CONFIGURED)
        compiler = f"'{boards_folder / BOARD / 'pirn-cc'}'"
        shell(f"{compiler} -pthread -O2 a.c -o 'the program' -lpthread", folder)
        done = pirn("board", "run", BOARD, "the program", cwd=folder)
        assert (done.returncode, done.stdout) == (0, "linked\n"), done.stderr
    finally:
        moved.rename(prefix.parents[2])


# A library for small systems: the C program and the one in C++ say the size of its smallest stack.
SMALL_STACK = 2048
SMALL = """\
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
static void *run(void *arg) { return arg; }
int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    printf("stacks from %d\\n", (int)PTHREAD_STACK_MIN);
    return 0;
}
"""
SMALL_MAKEFILE = """\
include $(PIRN_MK)
made.elf: small.c
\t$(PIRN_CC) $(PIRN_PTHREAD_CFLAGS) -O2 $^ -o $@ $(PIRN_LDFLAGS) $(PIRN_PTHREAD_LDLIBS)
"""
SMALL_PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES C CXX)
find_package(pirn REQUIRED)
add_executable(cmaked small.c)
pirn_board_program(cmaked PTHREAD)
add_executable(cmaked++ small.cpp)
pirn_board_program(cmaked++ PTHREAD)
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of a library that leaves out what it can."""
    folder = tmp_path_factory.mktemp("small")
    settings = ["-DPIRN_WITHOUT=everything", "-DPIRN_WITH=stacks", "-DPIRN_POLICIES=single"]
    settings += [f"-DPIRN_STACK_MIN={SMALL_STACK}", "-DPIRN_CPUS_MOST=1"]
    build, where = folder / "build", folder / "prefix"
    for line in (
        ["cmake", "--preset", BOARD, "-B", str(build), *settings],
        ["cmake", "--build", str(build), "--target", "pirn", "pirn-pthread", "pirn-cxx"],
        ["cmake", "--install", str(build), "--prefix", str(where)],
    ):
        done = subprocess.run(
            line, cwd=paths.project(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return where / "lib" / "pirn" / "boards" / BOARD


def test_a_project_with_a_library_for_small_systems(tmp_path: Path, small: Path) -> None:
    for name in ("small.c", "small.cpp"):
        (tmp_path / name).write_text(SMALL)
    (tmp_path / "Makefile").write_text(SMALL_MAKEFILE)
    (tmp_path / "CMakeLists.txt").write_text(SMALL_PROJECT)
    for line in (
        f"cmake -B build --toolchain {small}/toolchain.cmake && cmake --build build",
        f"make PIRN_MK={small}/pirn.mk made.elf",
        f"{small}/pirn-cc -pthread -O2 small.c -o cc.elf",
        f"{small}/pirn-c++ -pthread -O2 small.cpp -o cxx.elf",
    ):
        shell(line, tmp_path)
    for name in ("build/cmaked.elf", "build/cmaked++.elf", "made.elf", "cc.elf", "cxx.elf"):
        done = pirn("board", "run", "--cpus", 1, BOARD, name, cwd=tmp_path)
        said = (done.returncode, done.stdout)
        assert said == (0, f"stacks from {SMALL_STACK}\n"), name + done.stderr


def test_flags_of_a_user_do_not_replace_the_boards(hello: Path) -> None:
    """Also when CMake runs again, and with others then."""
    source = hello / "main.c"
    source.write_text(f"#if !defined A || !defined B\n#error\n#endif\n{source.read_text()}")
    where = pirn("board", "toolchain", BOARD, cwd=hello).stdout.strip()
    more = "-DCMAKE_C_FLAGS='-DA -DB' -DCMAKE_EXE_LINKER_FLAGS=-Wl,--print-memory-usage"
    shell(f"cmake -B b --toolchain {where} {more} && cmake --build b && cmake b", hello)
    assert pirn("board", "run", BOARD, "b/hello.elf", cwd=hello).stdout == "4 cores, sum 4950\n"
    before = cached(hello / "b", "CMAKE_C_FLAGS")
    shell("cmake b -DCMAKE_C_FLAGS='-DA -DB -DC' && cmake --build b && cmake b", hello)
    assert cached(hello / "b", "CMAKE_C_FLAGS") == f"{before} -DC"
    assert before.count("-ftls-model") == before.count("-DB") == 1


def cached(build: Path, name: str) -> str:
    """A variable of CMake."""
    lines = (build / "CMakeCache.txt").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith(f"{name}:"))


def test_a_project_for_another_board_says_so(hello: Path, prefix: Path) -> None:
    line = ["cmake", "-S", str(hello), "-B", str(hello / "x"), f"-Dpirn_DIR={prefix / BOARD}"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert f"this Pirn is for the board {BOARD}: configure with --toolchain" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hello"], "hello is there already, and is not an empty folder"),
        (["hello/main.c"], '"main.c" cannot be the name of a program'),
        (["test"], '"test" cannot be the name of a program'),
        (["new", "--board", "riscv64"], f'no board "riscv64"; did you mean "{BOARD}"?'),
        (["new", "--board", "aarch64-vrt"], 'no board "aarch64-vrt"'),
        ([], "Missing argument 'NAME'"),
    ],
)
def test_new_says_what_is_wrong(hello: Path, arguments: list[str], said: str) -> None:
    before = sorted(hello.rglob("*"))
    done = pirn("board", "new", *arguments, cwd=hello.parent)
    assert done.returncode == 2
    assert said in done.stderr
    assert sorted(hello.rglob("*")) == before
    assert not (hello.parent / "new").exists()


def test_trace_and_profile_of_a_run(hello: Path) -> None:
    assert pirn("test", "hello", cwd=hello.parent).returncode == 0
    program = hello / "build" / BOARD / "hello.elf"
    done = pirn(
        *("board", "run", "--trace", "a.trace", "--prof", "a.prof", "--cpus", 2, BOARD, program),
        cwd=hello,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2 cores, sum 4950\n"
    assert "a.trace: " in done.stderr
    assert "pirn trace stat a.trace" in done.stderr
    assert "pirn prof flat a.prof" in done.stderr
    stat = pirn("trace", "stat", "a.trace", cwd=hello)
    assert "on 2 CPUs" in stat.stdout
    assert pirn("prof", "flat", "a.prof", cwd=hello).returncode == 0


REMOTE = """#!/bin/sh
# The machine beside the board: the program comes on standard input.
cat >{folder}/remote.elf
exec {python} -m pirn_tools board run --timeout 60 {board} {folder}/remote.elf
"""


def test_a_board_that_a_command_reaches(hello: Path) -> None:
    folder = hello.parent
    script = folder / "remote"
    script.write_text(REMOTE.format(folder=folder, python=sys.executable, board=BOARD))
    script.chmod(0o755)
    place = folder / "mine" / "cellar"
    place.mkdir(parents=True)
    (place / "board.toml").write_text(
        f'like = "{BOARD}"\ndescription = "in the cellar"\n'
        f'[runner]\ncommand = ["{script}"]\ninput = "program"\n'
    )
    line = ("test", "--boards", folder / "mine", "--board", "cellar", "hello")
    done = pirn(*line, cwd=folder)
    assert done.returncode == 0, done.stdout
    assert (folder / "remote.elf").read_bytes() == (
        hello / "build" / "cellar" / "test_sum.elf"
    ).read_bytes()
    source = hello / "test_sum.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("far away"); return 7; }\n')
    done = pirn(*line, cwd=folder)
    assert done.returncode == 1
    assert "FAIL  hello: sum  (exit status 7, " in done.stdout
    assert "---- output\nfar away\n" in done.stdout
