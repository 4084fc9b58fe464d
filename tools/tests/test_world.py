# SPDX-License-Identifier: MIT
"""`pirn world`, without the network: shell scripts stand for the programs. An empty
library stands for Pirn's, so a script knows what it runs with by its environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from pirn_tools import paths
from pirn_tools.cli import main
from pirn_tools.errors import UserError
from pirn_tools.world import compare, inputs, packages, plan, report
from pirn_tools.world.compare import NPTL, PIRN, Outcome, Setting
from pirn_tools.world.plan import Program
from pirn_tools.world.report import Row

WITH_PIRN = 'case "${LD_PRELOAD-}" in *stand-in*)'
LISTEN = """python3 -c '
import os, signal, socket
s = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
while True:
    c, _ = s.accept(); c.sendall(b"hello"); c.close()'"""
ASK = """python3 -c '
import os, socket
print(socket.create_connection(("127.0.0.1", int(os.environ["PORT"]))).recv(9).decode())'"""


def setting(folder: Path) -> Setting:
    library = folder / "stand-in.so"
    command = ["cc", "-shared", "-x", "c", "/dev/null", "-o", str(library)]
    subprocess.run(command, check=True)
    return Setting(library, folder, folder / "keep", folder)


def outcomes(folder: Path, **script: object) -> dict[str, Outcome]:
    program = Program("prog", "threads", **script)  # type: ignore[arg-type]
    return compare.compare(program, setting(folder), 2, lambda what: None)


def with_pirn(folder: Path, script: str) -> str:
    """The failure of a program that does this with Pirn, and is right with the system's threads."""
    found = outcomes(folder, run=f"{WITH_PIRN} {script};; *) echo right;; esac 2> /dev/null")
    assert found[NPTL].failure == ""
    return found[PIRN].failure


# ---- runs --------------------------------------------------------------------------------------


def test_program_passes_when_output_and_files_are_the_same(tmp_path: Path) -> None:
    found = outcomes(tmp_path, run="echo right; echo file > out")
    assert [one.failure for one in found.values()] == ["", ""]
    assert [len(one.seconds) for one in found.values()] == [2, 2]


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        ("echo wrong", "its output differs: wrong"),
        ("echo right; echo more > out", "its output differs"),
        ("echo why; exit 3", "exit status 3: why"),
        ("kill -SEGV $$", "killed by SIGSEGV: no message"),
        ("sh -c 'kill -ABRT $$'", "killed by SIGABRT"),
    ],
)
def test_program_fails_when_it_is_not_right(tmp_path: Path, script: str, failure: str) -> None:
    assert failure in with_pirn(tmp_path, script)


def test_program_hangs_when_it_takes_many_times_as_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "LEAST_LIMIT", 1.0)
    assert with_pirn(tmp_path, "sleep 10000 & wait") == "hangs"


def test_program_that_fails_with_nptl_says_nothing_about_pirn(tmp_path: Path) -> None:
    found = outcomes(tmp_path, run="echo no such thing; exit 1")
    row = Row(Program("prog", "t", run="x"), found)
    assert "exit status 1: no such thing" in row.not_run
    assert found[PIRN].seconds == []
    assert report.unexpected([row]) == [f"prog was not run with Pirn: {row.not_run}"]


def test_stated_property_counts_when_bytes_differ(tmp_path: Path) -> None:
    assert outcomes(tmp_path, run="echo $$ done", says="^[0-9]+ done")[PIRN].failure == ""
    found = outcomes(tmp_path, run="echo $$ done", says="^[0-9]+ undone")
    assert "does not match" in found[NPTL].failure


def test_set_up_is_done_once_and_its_failure_is_told(tmp_path: Path) -> None:
    script = {"setup": "echo x >> $KEEP/count", "run": "cat $KEEP/count"}
    for _ in range(2):
        assert outcomes(tmp_path, **script, says=r"\Ax\n\Z")[PIRN].failure == ""
    assert (
        "set-up exit status 4: bad"
        in outcomes(tmp_path, setup="echo bad; exit 4", run=":")[NPTL].failure
    )


def test_server_passes_when_it_answers_and_ends(tmp_path: Path) -> None:
    found = outcomes(tmp_path, serve=LISTEN, load=ASK, says="hello")
    assert [one.failure for one in found.values()] == ["", ""]


@pytest.mark.parametrize(
    ("serve", "load", "failure"),
    [
        ("sh -c 'echo no; exit 1'", ":", "ends before it listens: no"),
        (LISTEN, "exit 5", "under load exit status 5"),
        (LISTEN, "kill -KILL $(cat pid)", "ends under load"),
    ],
)
def test_server_fails_when_it_or_its_client_does(
    tmp_path: Path, serve: str, load: str, failure: str
) -> None:
    if "pid" in load:
        (tmp_path / "server.py").write_text(LISTEN.split("'")[1])
        serve = f"sh -c 'echo $$ > pid; exec python3 {tmp_path}/server.py'"
        load += "; while kill -0 $(cat pid) && ! grep -q Z /proc/$(cat pid)/stat; do :; done"
    assert failure in outcomes(tmp_path, serve=serve, load=load)[NPTL].failure


def test_server_fails_when_it_ignores_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "FIRST_LIMIT", 3.0)
    (tmp_path / "server.py").write_text(
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)" + LISTEN.split("'")[1]
    )
    found = outcomes(tmp_path, serve=f"python3 {tmp_path}/server.py", load=ASK)
    assert found[NPTL].failure == "does not end after SIGTERM"


# ---- the list ----------------------------------------------------------------------------------


def test_list_of_the_project_is_valid() -> None:
    found = plan.load(paths.project() / "apps/world")
    assert len(plan.choose(found, [], sample=True)) >= 8
    assert {"compression", "media", "runtimes"} <= {one.kind for one in found}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[program]]\nname = "a"\nthreads = "t"\n', "program a: either run, or serve and load"),
        ('[[program]]\nname = "a"\nthreads = "t"\nrum = "x"\n', "program a: unknown: rum"),
        ('[[program]]\nname = "a"\nthreads = "t"\nrun = "x"\nsays = "("\n', "kind.toml"),
        ("[[program", "kind.toml"),
        ('[[program]]\nname = "a"\nthreads = "t"\nrun = "x"\n' * 2, "more than one .* named a"),
    ],
)
def test_list_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "kind.toml").write_text(text)
    with pytest.raises(UserError, match=message):
        plan.load(tmp_path)


def test_command_suggests_a_name_when_it_is_unknown() -> None:
    done = CliRunner().invoke(main, ["world", "--only", "pigs"])
    assert done.exit_code == 2
    assert 'no program or kind "pigs"; did you mean "pigz"' in done.output


def test_command_lists_the_programs_of_a_kind() -> None:
    done = CliRunner().invoke(main, ["world", "--list", "--only", "media"])
    assert done.exit_code == 0
    assert all(line.startswith("media: ") for line in done.output.splitlines())


# ---- packages ----------------------------------------------------------------------------------


def test_package_that_cannot_be_had_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt = tmp_path / "apt-get"
    apt.write_text('#!/bin/sh\ncase "$*" in *install*) echo "E: No such package" >&2; exit 1; esac')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    unpacked = packages.Unpacked(tmp_path / "cache")
    for _ in range(2):
        with pytest.raises(UserError, match="No such package"):
            unpacked.need(["nosuch"])


def test_folder_has_one_user_at_a_time(tmp_path: Path) -> None:
    first = packages.Unpacked(tmp_path)
    first.lock()
    with pytest.raises(UserError, match="another pirn world"):
        packages.Unpacked(tmp_path).lock()


def test_package_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "bin").mkdir()
    (tree / "bin" / "prog").write_text("here")
    about = "Package: prog\nVersion: 1\nArchitecture: all\nMaintainer: x <x@x>\nDescription: x\n"
    (tree / "DEBIAN" / "control").write_text(about)
    apt = tmp_path / "apt-get"
    apt.write_text(
        f"""#!/bin/sh
        echo "$*" >> {tmp_path}/log
        case "$*" in
        *install*) echo "Inst prog (1 Debian:12 [all])";;
        *download*) dpkg-deb -b {tree} prog.deb > {tmp_path}/built;;
        esac"""
    )
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    unpacked = packages.Unpacked(tmp_path / "cache")
    for _ in range(2):
        assert unpacked.need(["prog"]) == ["prog=1"]
    assert (unpacked.root / "usr/bin/prog").read_text() == "here"
    assert (tmp_path / "log").read_text().count("download") == 1


# ---- the page ----------------------------------------------------------------------------------


def test_page_has_ratios_failures_and_what_is_not_run() -> None:
    good = {NPTL: Outcome([2.0], [4.0]), PIRN: Outcome([1.0], [2.0])}
    bad = {NPTL: Outcome([2.0], [4.0]), PIRN: Outcome([9.0], [1.0], "hangs")}
    rows = [
        Row(Program("good", "t", "k", ("good",), run="x"), good),
        Row(Program("bad", "t", "k", run="x", known="a reason"), bad),
        Row(Program("gone", "t", "k", run="x"), missing="no such package"),
    ]
    text = report.page(rows, {"good": ["good=1.2", "other=3"]}, 3, ["a machine"])
    assert "| good | k | t | 2.00 | 4.00 | 0.50 | 0.50 | same |" in text
    assert "| bad | k | t | 2.00 | 4.00 | - | - | **fails** |" in text
    assert "**bad**: hangs. Why: a reason." in text
    assert "gone was not run with Pirn: no such package." in text
    assert "3 programs: 1 pass, 1 fail, 1 not run." in text
    assert "- good: good 1.2\n" in text
    assert report.unexpected(rows) == ["gone was not run with Pirn: no such package"]
    assert report.csv(rows).count("\n") == 5


def test_inputs_are_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        inputs.sources(tmp_path / name)
    texts = [(tmp_path / name / "part1.c").read_text() for name in ("one", "two")]
    assert texts[0] == texts[1]
