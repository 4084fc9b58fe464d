# SPDX-License-Identifier: MIT
"""`pirn test` on a board that is a command of this computer: what it finds, builds, runs and says.
Real boards: test_projects_boards.py."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import loopback
import pytest
from click.testing import CliRunner
from loopback import HEADER, NAME, board, environment, pirn, program

from pirn_tools.cli import main
from pirn_tools.testing.scan import scan

needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
MAKEFILE = """\
{rule}: test.elf
test.elf: script header
\tcat header script >$@
clean:
\trm -f test.elf
"""


def parsed(path: Path) -> ElementTree.ElementTree:
    return ElementTree.parse(path)  # noqa: S314


class Work:
    """A folder of projects, and the board on which they are tested."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "projects"
        self.root.mkdir()
        runner = loopback.script(folder)
        line = f'command = ["{runner}", "{{program}}", "{{cpus}}", "{{env}}", "{{args}}"]'
        self.boards = board(folder, line)
        self.path = loopback.compiler(folder)
        self.junit = folder / "junit.xml"

    def make(self, name: str, script: str, toml: str | None = None, rule: str = "test") -> Path:
        """A project for make, whose program is the script."""
        path = self.root / name
        path.mkdir(parents=True)
        (path / "Makefile").write_text(MAKEFILE.format(rule=rule))
        program(path / "header", "")
        (path / "script").write_text(script)
        return self._described(path, toml)

    def cmake(self, name: str, text: str, toml: str | None = None) -> Path:
        path = self.root / name
        path.mkdir(parents=True)
        head = "cmake_minimum_required(VERSION 3.25)\nproject(p NONE)\nenable_testing()\n"
        (path / "CMakeLists.txt").write_text(head + text)
        return self._described(path, toml)

    def _described(self, path: Path, toml: str | None) -> Path:
        if toml is not None:
            (path / "pirn-test.toml").write_text(toml)
        return path

    def line(self, *arguments: object) -> tuple[object, ...]:
        return ("test", "--boards", self.boards, "--board", NAME, *arguments)

    def test(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        where = self.root.parent
        return pirn(*self.line(*arguments), self.root, cwd=where, PATH=self.path)

    def report(self) -> dict[str, str]:
        """Project and test → pass, or the kind and message of what has become of it."""
        found = {}
        for case in parsed(self.junit).iter("testcase"):
            one = [part for part in case if part.tag != "system-out"]
            name = f"{case.get('classname')}: {case.get('name')}"
            found[name] = f"{one[0].tag}: {one[0].get('message')}" if one else "pass"
        return found


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path)


def test_what_passes_is_a_line_and_what_fails_is_all_that_it_printed(work: Work) -> None:
    many = "".join(f"line {i} of many words\n" for i in range(5000))
    work.make("good", "echo quiet")
    work.make("a/bad", f"cat <<END\n{many}END\necho last >&2; exit 7")
    done = work.test("--junit", work.junit)
    assert done.returncode == 1
    assert "quiet" not in done.stdout
    assert f"---- output\n{many}last\n---- end of output\n" in done.stdout
    assert "FAIL  a/bad  (exit status 7, " in done.stdout
    assert "pass  good  (" in done.stdout
    assert done.stdout.endswith("1 passed, 1 failed, 0 skipped, in 2 projects on loop\n")
    assert work.report() == {"a/bad: test": "failure: exit status 7", "good: test": "pass"}
    text = parsed(work.junit).findtext(".//testcase/system-out")
    assert text == f"{many}last\n"


def test_all_pass(work: Work) -> None:
    work.make("good", "echo quiet")
    done = work.test("--verbose")
    assert done.returncode == 0, done.stdout
    assert "---- output\nquiet\n---- end of output\n" in done.stdout


def test_outputs_may_hold_anything(work: Work) -> None:
    work.make("odd", "printf 'a\\001\\033[1m<&>]]>\\377\\n'; exit 134")
    done = work.test("--junit", work.junit)
    assert "exit status 134: crashed or aborted" in done.stdout
    text = parsed(work.junit).findtext(".//system-out")
    assert text == "a\ufffd\ufffd[1m<&>]]>\ufffd\n"


def test_settings_of_a_project(work: Work) -> None:
    toml = 'cpus = 3\nargs = ["a b", "-x"]\nprogram = "test.elf"\n[env]\nKEY = "v w"\n'
    work.make("set", 'test "$cpus:$1:$2:$3" = "3:KEY=v w:a b:-x" && exit 9', toml)
    assert "FAIL  set  (exit status 9, " in work.test().stdout
    work.make("elsewhere", "exit 1", 'boards = ["x", "y"]')
    work.make("not-yet", "exit 1", 'skip = "needs more memory"')
    done = work.test("--cpus", 4)
    assert "FAIL  set  (exit status 1, " in done.stdout  # the command line counts
    assert "skip  elsewhere  (for x, y, " in done.stdout
    assert "skip  not-yet  (needs more memory, " in done.stdout


def test_a_program_that_does_not_end(work: Work) -> None:
    work.make("endless", "echo begun; while :; do sleep 0.1; done", "timeout = 12")
    work.make("slow", "sleep 2; echo done")
    done = work.test("--junit", work.junit)
    assert "FAIL  endless  (no end after 12 s, " in done.stdout
    assert "---- output\nbegun\n" in done.stdout
    assert "pass  slow" in done.stdout
    done = work.test("--timeout", 0.5)
    assert "FAIL  slow  (no end after 0.5 s, " in done.stdout


def test_builds_that_fail(work: Work) -> None:
    work.make("nothing", "")
    (work.root / "nothing/Makefile").write_text("test:\n\techo made nothing\n")
    work.make("broken", "")
    (work.root / "broken/Makefile").write_text("test:\n\techo no compiler; exit 3\n")
    work.make("other", "exit 0")
    (work.root / "other/header").write_text("no ELF file, but long enough to be one\n")
    done = work.test("--junit", work.junit)
    assert done.returncode == 1
    assert "FAIL  nothing: build  (make test has made no test.elf, " in done.stdout
    assert "FAIL  broken: build  (make test: exit status 2, " in done.stdout
    assert "no compiler\n" in done.stdout
    assert "FAIL  other  (exit status 2, " in done.stdout
    assert "test.elf is not an ELF file" in done.stdout
    assert work.report()["broken: build"] == "error: make test: exit status 2"


def test_compile_only_and_clean(work: Work) -> None:
    path = work.make("good", "exit 3")
    done = work.test("--compile-only")
    assert done.returncode == 0
    assert "pass  good: build  (compiled, " in done.stdout
    assert (path / "test.elf").stat().st_size == HEADER + len("exit 3")
    program(path / "test.elf", "exit 0")  # newer than what it is made of
    assert work.test().returncode == 0
    assert "exit status 3" in work.test("--clean").stdout
    (path / "Makefile").write_text("test:\n\ttrue\n")
    assert "FAIL  good: build  (make clean: exit status 2, " in work.test("--clean").stdout


def test_the_rule(work: Work) -> None:
    work.make("usual", "exit 0")
    work.make("other", "exit 0", rule="board-test")
    work.make("own", "exit 0", 'rule = "mine"', rule="mine")
    assert work.test("--scan-only").stdout == "make   own\nmake   usual\n"
    assert work.test("--scan-only", "--rule", "board-test").stdout == "make   other\nmake   own\n"
    assert "3 passed" not in work.test("--rule", "board-test").stdout
    assert work.test("--rule", "board-test").returncode == 0


def test_what_is_a_project(work: Work) -> None:
    work.make("m/one", "")
    (work.root / "m/one/inner").mkdir()  # belongs to the project
    shutil.copy(work.root / "m/one/Makefile", work.root / "m/one/inner")
    work.make(".hidden", "")
    work.make("built", "")
    (work.root / "built/CMakeCache.txt").write_text("")
    work.make("no-rule", "", rule="tests")
    (work.root / "no-rule/test").mkdir()  # a file of that name is no rule
    work.make("included", "", rule="tests")
    (work.root / "included/GNUmakefile").write_text("include more.mk\n")
    (work.root / "included/more.mk").write_text("test: ;\n\ttrue\n")
    work.cmake("c", "")
    head = "cmake_minimum_required(VERSION 3.25)\n"
    for name, text in (
        ("untested", "project(p)\n"),
        ("comment", "project(p)\n# enable_testing()\n#[[\nenable_testing()\n]]\n"),
        ("part", "enable_testing()\n"),
        ("ctest", "Project ( p )\ninclude( CTest )\n"),
    ):
        (work.root / name).mkdir()
        (work.root / name / "CMakeLists.txt").write_text(head + text)
    listed = work.test("--scan-only")
    assert listed.returncode == 0
    assert listed.stdout == "cmake  c\ncmake  ctest\nmake   included\nmake   m/one\n"
    assert not any(work.root.rglob("test.elf"))


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("cpus = ", "Invalid value"),
        ("cpuz = 2", 'unknown: "cpuz"; did you mean "cpus"? (valid: args, '),
        ("cpus = 0", "cpus = 0: a number from 1 is valid"),
        ("cpus = true", "cpus = True: a number from 1 is valid"),
        ('timeout = "long"', "timeout = 'long': seconds; 0: never is valid"),
        ('boards = "x"', "boards = 'x': a list of names is valid"),
        ('skip = ""', "skip = '': a text is valid"),
        ('env = { "1A" = "x" }', 'NAME = "value" is valid'),
        ('rule = "-x"', "rule = '-x': a name is valid"),
        ('cmake = ["-DX=1"]', '"cmake" is nothing for a project of make'),
        ('rule = "absent"', 'make has no rule "absent"'),
    ],
)
def test_a_wrong_description_is_named(work: Work, toml: str, said: str) -> None:
    path = work.make("broken", "", toml)
    (project,) = scan(work.root, "test")
    assert project.kind == "broken"
    assert str(path) in project.problem
    assert said in project.problem


def test_a_wrong_description_fails_and_the_others_go_on(work: Work) -> None:
    work.make("broken", "", "cpus = 0")
    work.make("good", "exit 0")
    done = work.test("--junit", work.junit)
    assert done.returncode == 1
    assert "FAIL  broken: build  (" in done.stdout
    assert "pass  good" in done.stdout
    assert work.report()["broken: build"].startswith("error: ")
    listed = work.test("--scan-only")
    assert listed.returncode == 1
    assert "broken broken: " in listed.stdout


def test_descriptions_and_makefiles_that_cannot_be_used(work: Work) -> None:
    (work.root / "alone").mkdir()
    (work.root / "alone/pirn-test.toml").write_text("")
    work.make("bytes", "")
    (work.root / "bytes/pirn-test.toml").write_bytes(b"skip = '\xff'")
    work.make("syntax", "")
    (work.root / "syntax/Makefile").write_text("nonsense\ntest: x\n")
    work.cmake("c", "", 'args = ["x"]')
    done = work.test("--scan-only")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "there is no CMakeLists.txt with project(), nor a Makefile, beside it" in lines[0]
    assert "can't decode byte 0xff" in lines[1]
    assert '"args" is nothing for a project of cmake' in lines[2]
    assert "missing separator" in lines[3]


TESTS = """
add_test(NAME good COMMAND sh -c "echo quiet")
add_test(NAME bad COMMAND sh -c "echo 'a < b'; exit 7")
add_test(NAME endless COMMAND sh -c "echo begun; sleep 100")
set_tests_properties(endless PROPERTIES TIMEOUT 5)
add_test(NAME crashes COMMAND sh -c "kill -SEGV $$")
add_test(NAME expected COMMAND sh -c "exit 7")
set_tests_properties(expected PROPERTIES WILL_FAIL ON)
add_test(NAME unexpected COMMAND true)
set_tests_properties(unexpected PROPERTIES WILL_FAIL ON)
add_test(NAME words COMMAND sh -c "echo other")
set_tests_properties(words PROPERTIES PASS_REGULAR_EXPRESSION these)
add_test(NAME absent COMMAND /nowhere/program)
add_test(NAME off COMMAND true)
set_tests_properties(off PROPERTIES DISABLED ON)
add_test(NAME unable COMMAND sh -c "exit 77")
set_tests_properties(unable PROPERTIES SKIP_RETURN_CODE 77)
"""


@needs_cmake
def test_the_tests_of_a_project_for_cmake(work: Work) -> None:
    work.cmake("c", TESTS)
    done = work.test("--junit", work.junit)
    assert done.returncode == 1
    assert "quiet" not in done.stdout
    assert "---- output\na < b\n---- end of output\n" in done.stdout
    assert "---- output\nbegun\n---- end of output\n" in done.stdout
    assert work.report() == {
        "c: good": "pass",
        "c: bad": "failure: exit status 7",
        "c: endless": "failure: no end in time",
        "c: crashes": "failure: segfault",
        "c: expected": "pass",
        "c: unexpected": work.report()["c: unexpected"],
        "c: words": work.report()["c: words"],
        "c: absent": "failure: not run: Unable to find executable",
        "c: off": "skipped: disabled",
        "c: unable": "skipped: skip return_code=77",
    }
    for name in ("unexpected", "words"):
        assert work.report()[f"c: {name}"].startswith("failure: ")
        assert len(work.report()[f"c: {name}"]) > len("failure: ")


@needs_cmake
def test_projects_for_cmake_that_fail_before_they_run(work: Work) -> None:
    work.cmake("configure", 'message(FATAL_ERROR "no such part")')
    work.cmake("compile", 'add_custom_target(x ALL COMMAND sh -c "echo no compiler; exit 3")')
    work.cmake("empty", "")
    done = work.test("--junit", work.junit)
    assert "FAIL  configure: build  (cmake (configure): exit status 1" in done.stdout
    assert "no such part" in done.stdout
    assert "FAIL  compile: build  (cmake (build): exit status 1" in done.stdout
    assert "no compiler" in done.stdout
    assert "FAIL  empty: build  (it has no tests (add_test)" in done.stdout


@needs_cmake
def test_a_project_for_cmake_is_built_in_its_own_folder(work: Work) -> None:
    text = 'if(NOT X STREQUAL "y z")\n  message(FATAL_ERROR "X is ${X}")\nendif()\n'
    text += "add_test(NAME t COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} ${CMAKE_SOURCE_DIR}/a.elf)\n"
    path = work.cmake("c", text, 'cmake = ["-DX=y z"]\ncpus = 4\n[env]\nA = "b;c"\n')
    program(path / "a.elf", 'test "$cpus:$*" = "4:A=b;c"')
    done = work.test("--verbose")
    assert done.returncode == 0, done.stdout
    build = path / "build" / NAME
    mark = build / "mark"
    mark.write_text("")
    assert work.test("--compile-only").returncode == 0
    assert mark.exists()
    assert work.test("--clean").returncode == 0
    assert not mark.exists()
    # Another toolchain file: the cache is of no use.
    cache = build / "CMakeCache.txt"
    cache.write_text(cache.read_text().replace("/boards/loop/toolchain", "/elsewhere/toolchain"))
    assert work.test().returncode == 0
    assert "/elsewhere/" not in cache.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--board", "loob"], 'no board "loob"; did you mean "loop"?'),
        (["--cpus", "5"], "--cpus 5: loop has 1 to 4"),
        (["--cpus", "many"], "'many' is not a valid integer"),
        (["--jobs", "0"], "0 is not in the range"),
        (["--timeout", "-1"], "-1.0 is not in the range"),
        (["--rule", "-n"], '--rule "-n": the name of a rule is valid'),
        (["--junit", "no/x.xml"], "--junit no/x.xml: there is no folder no"),
        (["--boards", "nowhere"], "--boards nowhere: no such folder"),
        (["--rule", "absent"], 'a Makefile with the rule "absent"'),
        (["--nope"], "No such option"),
    ],
)
def test_a_wrong_command_line(work: Work, arguments: list[str], said: str) -> None:
    work.make("good", "exit 0")
    line = [str(word) for word in work.line(*arguments, work.root)]
    done = CliRunner().invoke(main, line, env={"PATH": work.path})
    assert done.exit_code == 2
    assert said in done.output
    assert isinstance(done.exception, SystemExit)


def test_folders_without_projects(work: Work) -> None:
    done = work.test()
    assert done.returncode == 2
    assert f"no projects with tests in {work.root}" in done.stderr
    done = pirn("test", "nowhere", cwd=work.root)
    assert (done.returncode, done.stderr) == (2, "Error: nowhere: no such folder\n")


def test_what_is_missing_for_the_board_is_named(work: Work) -> None:
    work.make("good", "exit 0")
    tools = [shutil.which(name) for name in ("make", "sh", "cat")]
    bare = work.root.parent / "bare"
    bare.mkdir()
    for tool in tools:
        assert tool is not None
        (bare / Path(tool).name).symlink_to(tool)
    done = pirn(*work.line(), work.root, cwd=work.root, PATH=str(bare))
    assert done.returncode == 2
    assert "riscv64-unknown-elf-gcc is missing: tools/setup-boards --target riscv" in done.stderr
    (work.boards / NAME / "toolchain.cmake").unlink()
    done = work.test()
    assert done.returncode == 2
    assert f"no Pirn for {NAME}: " in done.stderr


@pytest.mark.parametrize("jobs", [1, 3])
def test_projects_run_side_by_side(work: Work, jobs: int) -> None:
    """Each waits until so many are there as may be."""
    for name in "abc":
        text = f"touch {work.root}/{name}.here\nfor i in $(seq 100); do\n"
        text += f"set -- {work.root}/*.here\n[ $# -ge {jobs} ] && exit 0\nsleep 0.1\ndone\nexit 1"
        work.make(name, text)
    done = work.test("--jobs", jobs)
    assert "3 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_all_ends_with_us(work: Work, number: signal.Signals) -> None:
    begun, ended = work.root / "begun", work.root / "ended"
    text = f"trap 'touch {ended}; exit' TERM\ntouch {begun}\nwhile :; do sleep 0.1; done"
    work.make("endless", text)
    started = subprocess.Popen(
        [sys.executable, "-m", "pirn_tools", *map(str, work.line(work.root))],
        env=environment(PATH=work.path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not begun.exists():
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(number)
    _, said = started.communicate()
    assert started.returncode == 128 + number
    assert said == f"pirn: stopped by signal {int(number)}\n"
    while not ended.exists():  # without a limit but the test's own: the machine may be slow
        time.sleep(0.05)
