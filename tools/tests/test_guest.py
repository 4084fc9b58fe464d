# SPDX-License-Identifier: MIT
"""`pirn guest`, without a guest: a shell script stands for QEMU, this system for the guest's."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from pirn_tools import paths
from pirn_tools.cli import main
from pirn_tools.errors import UserError
from pirn_tools.guest import cases, command, inside, kinds, programs, qemu, results
from pirn_tools.guest.cases import Case
from pirn_tools.guest.image import Image
from pirn_tools.guest.system import Folder, System, outermost

QEMU = ["/usr/bin/qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"]


def listed(words: list[str], **properties: object) -> dict[str, object]:
    found = [{"name": key, "value": value} for key, value in properties.items()]
    return {"name": "one", "command": words, "properties": found}


# ---- ctest's list ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([*QEMU, "/b/unit", "--seed", "1"], ["/b/unit", "--seed", "1"]),
        (["/opt/python/bin/python3", "/s/expect.py", "2", *QEMU, "/b/fault", "start"],
         [cases.PYTHON, "/s/expect.py", "2", "/b/fault", "start"]),
        (["/usr/bin/qemu-riscv64", "/b/unit"], ["/b/unit"]),
        (["/b/qemu-like-test", "-L", "x"], ["/b/qemu-like-test", "-L", "x"]),
        (["/s/run.py", "--runner=/usr/bin/qemu-aarch64;-L;/usr/x", "/b"], ["/s/run.py", "/b"]),
    ],
)  # fmt: skip
def test_command_starts_no_emulator_when_it_is_mapped(
    words: list[str], expected: list[str]
) -> None:
    assert cases.native(words) == expected


def test_case_has_all_that_ctest_says() -> None:
    entry = listed(
        [*QEMU, "/b/unit"],
        ENVIRONMENT=["PIRN_CPUS=2", "PIRN_SCHED=dist:place=a=b"],
        TIMEOUT=60.0,
        WORKING_DIRECTORY="/b",
        PROCESSORS=2,
        PASS_REGULAR_EXPRESSION=["^ok"],
        SKIP_RETURN_CODE=77,
        LABELS=["unit"],
    )
    (case,) = cases.cases([entry], 4)
    assert case.environment == {"PIRN_CPUS": "2", "PIRN_SCHED": "dist:place=a=b"}
    assert (case.limit, case.folder, case.jobs, case.skip_status) == (240, "/b", 2, 77)
    assert (case.passes, case.missing) == (["^ok"], "")
    assert Case.read(json.loads(json.dumps(case.write()))) == case


def test_case_does_not_run_when_something_unknown_is_demanded() -> None:
    (case,) = cases.cases([listed(["/b/unit"], ENVIRONMENT_MODIFICATION=["A=set:b"])], 1)
    assert "ENVIRONMENT_MODIFICATION" in case.missing


def test_case_does_not_run_when_it_is_not_built() -> None:
    (case,) = cases.cases([listed([])], 1)
    assert case.missing == "its program is not built"


def test_cases_run_first_when_others_need_them() -> None:
    entries = [listed(["/b/a"], FIXTURES_REQUIRED=["x"]), listed(["/b/b"], FIXTURES_SETUP=["x"])]
    assert [one.command for one in cases.cases(entries, 1)] == [["/b/b"], ["/b/a"]]


# ---- runs in the guest -------------------------------------------------------------------------


def outcome(into: Path, script: str, **values: object) -> tuple[str, str]:
    case = Case("one", ["/bin/sh", "-c", script], **values)  # type: ignore[arg-type]
    result, _, detail = inside.run(case, into / "log.txt")
    return result, detail


@pytest.mark.parametrize(
    ("script", "values", "result", "detail"),
    [
        ("true", {}, "passed", ""),
        ("echo why; exit 3", {}, "failed", "exit status 3: why"),
        ("kill -SEGV $$", {}, "failed", "killed by SIGSEGV: no message"),
        ("echo no CPU; exit 77", {"skip_status": 77}, "skipped", "no CPU"),
        ("exit 77", {}, "failed", "exit status 77: no message"),
        ("echo good; exit 5", {"passes": ["^good\n$"]}, "passed", ""),
        ("echo bad", {"passes": ["^good"]}, "failed", "its output does not match: bad"),
        ("echo ERROR", {"fails": ["ERROR"]}, "failed", "its output has what it must not have"),
        ("echo none", {"skips": ["none"]}, "skipped", "none"),
        ("exit 1", {"will_fail": True}, "passed", ""),
        ("exit 0", {"will_fail": True}, "failed", "it had to fail"),
        ('test "$A" = b', {"environment": {"A": "b"}}, "passed", ""),
        ('test "$PWD" = /', {"folder": "/"}, "passed", ""),
        ("sleep 1000 & sleep 1000", {"limit": 0.2}, "failed", "not finished after 0 s"),
    ],
)
def test_run_is_judged_as_ctest_does(
    tmp_path: Path, script: str, values: dict[str, object], result: str, detail: str
) -> None:
    assert outcome(tmp_path, script, **values) == (result, detail)


@pytest.mark.parametrize("missing", ["its program is not built", ""])
def test_run_says_why_when_there_is_no_program(tmp_path: Path, missing: str) -> None:
    result, _, detail = inside.run(Case("one", ["/no/program"], missing=missing), tmp_path / "l")
    assert (result, detail) == ("not run", missing or "the guest has no /no/program")


def test_results_of_all_tests_are_written_when_several_run_at_a_time(tmp_path: Path) -> None:
    each = [Case(f"t{number}", ["/bin/true"], jobs=number % 3 + 1) for number in range(8)]
    writer = inside.Writer(tmp_path)
    inside.run_tests(each, 2, tmp_path, writer)
    found = results.read(writer.path.read_text())
    assert sorted(one.name for one in found.tests) == [one.name for one in each]
    assert (found.running, found.damaged) == ([], [])


# ---- what the guest has written ----------------------------------------------------------------

BEGIN = results.line("begin", kernel="6.1", cpus=2)
START = results.line("start", name="a")
DONE = results.line("test", name="a", result="passed", seconds=1.5, detail="")


def test_results_name_what_ran_when_the_guest_ended_early() -> None:
    found = results.read(BEGIN + START + DONE + results.line("start", name="b"))
    lines, good = results.summary(found, ["a", "b", "c"])
    assert found.running == ["b"]
    assert lines[0] == "3 tests: 1 passed, 2 without a result"
    assert not good


@pytest.mark.parametrize(
    "bad", [DONE[:20], "[1]", "{}", '{"kind":"test"}', '{"kind":"x"}', "\0\0", "7",
            '{"kind":"test","name":"b","result":"passed","seconds":"x","detail":""}'],
)  # fmt: skip
def test_results_are_bad_when_a_line_is_damaged(bad: str) -> None:
    found = results.read(BEGIN + START + DONE + bad + "\n" + results.line("end"))
    lines, good = results.summary(found, ["a"])
    assert found.ended
    assert not good
    assert any("damaged result: line 4" in line for line in lines)


def test_results_are_good_when_all_passed_or_say_why_not() -> None:
    skipped = results.line("test", name="b", result="skipped", seconds=0, detail="no keys")
    found = results.read(BEGIN + START + DONE + skipped + results.line("end"))
    lines, good = results.summary(found, ["a", "b"])
    assert lines == ["2 tests: 1 passed, 1 skipped", "  skipped: b: no keys"]
    assert good


def test_table_of_programs_is_good_only_when_each_ran_twice() -> None:
    runs = [
        results.line("program", name="xz", threads=threads, failure="", seconds=2)
        for threads in ("nptl", "pirn")
    ]
    hang = results.line("program", name="git", threads="nptl", failure="hangs", seconds=9)
    found = results.read("".join(runs))
    assert results.program_table(found, ["xz"])[1] == []
    assert len(results.program_table(found, ["xz", "git"])[1]) == 2
    rows, failures = results.program_table(results.read("".join([*runs, hang])), ["xz", "git"])
    assert rows[2] == ["git", "FAILS", "", "not run", ""]
    assert failures == ["git, nptl: hangs", "git, pirn: not run"]


# ---- QEMU --------------------------------------------------------------------------------------


def qemu_run(folder: Path, script: str, limit: float = 30, trouble: str = "") -> qemu.Times:
    words = ["sh", "-c", script, "sh", str(folder / "console.txt")]
    look = qemu.Look(lambda: True, lambda: trouble)
    return qemu.run(words, folder / "console.txt", limit, look)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo no machine >&2; exit 1", "QEMU ended with status 1: no machine"),
        ("echo '[ 1.0] Kernel panic - not syncing: init' > $1", "panic - not syncing: init"),
        ("echo 'Internal error: Oops: 96000004 [#1] SMP' > $1", "Oops: 96000004"),
    ],
)
def test_guest_fails_with_its_reason(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(qemu.GuestError, match=re.escape(message)):
        qemu_run(tmp_path, script)


@pytest.mark.parametrize(("limit", "trouble"), [(0.2, ""), (30, "the guest hangs")])
def test_guest_is_ended_when_it_hangs(tmp_path: Path, limit: float, trouble: str) -> None:
    begin = time.monotonic()
    with pytest.raises(qemu.GuestError, match=trouble or "did not end within 0 s"):
        qemu_run(tmp_path, "exec sleep 1000", limit, trouble)
    assert time.monotonic() - begin < 20


def test_boot_is_known_by_its_cpu_time(tmp_path: Path) -> None:
    work = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"
    boots = {}
    for name, script in {"busy": work, "idle": "sleep 1"}.items():
        console = tmp_path / name
        look = qemu.Look(console.exists)
        words = ["sh", "-c", f"{script}; touch $1; sleep 1", "sh", str(console)]
        boots[name] = qemu.run(words, console, 60, look)
        assert 0 < boots[name].boot < boots[name].all
    assert boots["idle"].boot_cpu < boots["busy"].boot_cpu <= boots["busy"].boot + 0.1
    assert boots["idle"].boot_cpu < 0.5 < boots["idle"].boot


def test_guest_says_it_when_there_is_no_qemu(tmp_path: Path) -> None:
    look = qemu.Look(lambda: True)
    with pytest.raises(qemu.GuestError, match="cannot run no-such-qemu: No such file"):
        qemu.run(["no-such-qemu"], tmp_path / "console.txt", 1, look)


def test_watch_finds_a_guest_without_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SILENCE", 0.0)
    watch = command.Watch(tmp_path, 1)
    assert "no sign of life" in watch.trouble()


# ---- its system --------------------------------------------------------------------------------


def made(folder: Path) -> kinds.Files:
    """As tools/setup-guest makes it."""
    for name in ("kernel/vmlinuz", "kernel/modules/a.ko", "system/image", "system/busybox"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    (folder / "kernel/load").write_text("a.ko\n")
    return kinds.Files(folder)


def test_system_has_folders_at_the_same_places(tmp_path: Path) -> None:
    folders = (Folder(Path("/opt/a,b")), Folder(tmp_path, writable=True))
    aarch64 = kinds.find("aarch64")
    system = System(aarch64, made(tmp_path), tmp_path, folders, cpus=3)
    words = system.command()
    assert words[0] == "qemu-system-aarch64"
    assert words[words.index("-smp") + 1] == "3"
    shares = [each for each in words if each.startswith("local,")]
    assert "path=/opt/a,,b,mount_tag=share0" in shares[0]
    assert shares[0].endswith("readonly=on")
    assert shares[1].endswith("readonly=off")
    files = system.image(Path("/t")).files
    assert files["/guest/folders"].decode() == f"share0 ro /opt/a,b\nshare1 rw {tmp_path}\n"
    assert files["/guest/load"] == b"a.ko\n"
    assert b'PYTHONPATH="/t"' in files["/guest/start.sh"]
    assert b"@" not in files["/guest/start.sh"]


def test_system_refuses_a_path_that_the_guest_cannot_mount(tmp_path: Path) -> None:
    folders = (Folder(Path("/opt/a b")),)
    system = System(kinds.find("aarch64"), made(tmp_path), tmp_path, folders)
    with pytest.raises(UserError, match="'/opt/a b' has characters"):
        system.image(Path("/t"))


def test_folders_that_lie_in_others_are_left_out() -> None:
    names = ("/a/build/x", "/a", "/b", "/a", "/ab")
    assert outermost([Path(name) for name in names]) == [Path("/a"), Path("/ab"), Path("/b")]


def test_image_has_folders_before_files() -> None:
    image = Image()
    image.add_bytes("/guest/modules/a.ko", b"abc")
    names = re.findall(rb"(guest[a-z./]*|TRAILER!!!)\0", image.archive())
    assert names == [b"guest", b"guest/modules", b"guest/modules/a.ko", b"TRAILER!!!"]


# ---- errors of users ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["arch64"], 'no guest "arch64"; did you mean "aarch64"? (valid: aarch64'),
        (["aarch64", "--build", "/no/build"], "/no/build is no build: run make build-aarch64"),
        (["aarch64", "--cpus", "0"], "0 is not in the range"),
        (["aarch64", "--scale", "x"], "'x' is not a valid float range"),
        (["aarch64", "--only", "test"], "'test' is not one of 'tests', 'programs'"),
    ],
)
def test_command_names_a_wrong_value(words: list[str], message: str) -> None:
    done = CliRunner().invoke(main, ["guest", *words])
    assert done.exit_code != 0
    assert message in re.sub(r"\s+", " ", done.output)


def test_command_refuses_a_build_of_another_architecture(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "CMakeCache.txt").write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/src\n")
    (tmp_path / "lib/libpirn-pthread.so").write_bytes(Path(sys.executable).resolve().read_bytes())
    done = CliRunner().invoke(main, ["guest", "aarch64", "--build", str(tmp_path)])
    assert done.exit_code == 1
    assert "is not for aarch64: its ELF machine is 62" in done.output
    assert kinds.source(tmp_path) == Path("/src")


def test_files_say_how_to_get_them_when_they_are_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="run tools/setup-guest riscv64"):
        kinds.files(tmp_path, kinds.find("riscv64"))


def test_folder_of_results_has_one_user(tmp_path: Path) -> None:
    with command.prepare(tmp_path), pytest.raises(UserError, match="another guest uses"):
        command.prepare(tmp_path)


# ---- lists that belong together ----------------------------------------------------------------


def test_each_guest_has_packages_and_a_target_of_make() -> None:
    root = paths.project()
    listed_groups = (root / "tools/packages.txt").read_text()
    targets = (root / "Makefile").read_text()
    for one in kinds.load():
        assert f"[guest-{one.name}]\n" in listed_groups
        assert f"## guest-{one.name}:" in targets


def test_ten_programs_run_in_guests() -> None:
    found = programs.load()
    assert len(found) >= 10
    assert "redis-server" in programs.packages(found)
    assert programs.choose(found, ["redis"])[0].serve
    with pytest.raises(UserError, match='no program "redid" in the guest; did you mean "redis"'):
        programs.choose(found, ["redid"])
