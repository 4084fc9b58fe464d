# SPDX-License-Identifier: MIT
"""`pirn programs`, without the network: scripts stand for the programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from pirn_tools import paths
from pirn_tools.board import targets
from pirn_tools.errors import UserError
from pirn_tools.programs import boards, build, compare, plan, report, sources
from pirn_tools.programs.compare import Configuration, Outcome
from pirn_tools.programs.plan import Program, Run
from pirn_tools.programs.sources import Entry, Source

RUN = Run("a run", "one {text}")


def program(**changes: object) -> Program:
    fields = {"name": "prog", "package": "pack", "language": "C", "build": ("make {ldflags}",)}
    fields |= {"binary": "prog", "installed": "true", "runs": (RUN,), **changes}
    return Program(**fields)  # type: ignore[arg-type]


def script(folder: Path, name: str, body: str, family: str = "pirn") -> Configuration:
    path = folder / name
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    return Configuration(name, family, path)


def outcomes(tmp_path: Path, body: str, rounds: int = 2) -> list[Outcome]:
    """NPTL's `echo right`, and another that is to be compared with it."""
    pair = [script(tmp_path, "nptl", "echo right\n", "nptl"), script(tmp_path, "steal", body)]
    keep = tmp_path / "first"
    done = compare.compare(RUN, pair, {"text": "x"}, rounds, keep, lambda name: None)
    assert keep.read_text() == "right\n"
    assert done[0].failure == ""
    return done


# ---- the plan --------------------------------------------------------------------------------


def test_plan_of_the_project_is_valid() -> None:
    found = plan.load(paths.project() / "apps/programs/programs.toml")
    assert {"pigz", "pbzip2", "xz", "zstd", "pzstd", "x264"} <= {one.name for one in found}
    assert all(one.runs and one.build for one in found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[program]]\nname = "a"\n', "program a: no package"),
        ("[[program", "programs.toml"),
        ("", "'program'"),
    ],
)
def test_plan_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "programs.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        plan.load(path)


def test_choose_suggests_a_name() -> None:
    with pytest.raises(UserError, match='no program "pro"; did you mean "prog"'):
        plan.choose([program()], ["pro"])
    assert plan.choose([program()], []) == [program()]


# ---- where the sources come from -------------------------------------------------------------


def test_machine_entries_are_read_in_both_formats(tmp_path: Path) -> None:
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (tmp_path / "sources.list").write_text(
        "# a comment\ndeb [arch=amd64 signed-by=/k.gpg] http://m/d bookworm main contrib # why\n"
        "deb-src http://m/d bookworm main\n"
    )
    (parts / "other.list").write_text("deb http://other/apt stable main\n")
    (parts / "d.sources").write_text(
        "Types: deb deb-src\nURIs: http://a http://b\nSuites: bookworm bookworm-updates\n"
        "Components: main\nSigned-By: /k.gpg\n\nTypes: deb\nEnabled: no\nURIs: http://c\n"
        "Suites: bookworm\nComponents: main\n"
    )
    (parts / "off.sources.disabled").write_text("Types: deb\nURIs: http://x\n")
    found = sources.machine_entries(tmp_path)
    own = sources.of_release(found, "bookworm")
    assert own == [
        Entry("http://m/d", ("bookworm",), ("main", "contrib"), "/k.gpg"),
        Entry("http://a", ("bookworm", "bookworm-updates"), ("main",), "/k.gpg"),
        Entry("http://b", ("bookworm", "bookworm-updates"), ("main",), "/k.gpg"),
    ]
    assert len(found) == 4
    assert own[0].text().startswith("Types: deb-src\nURIs: http://m/d\nSuites: bookworm\n")
    later = sources.other_releases(own, "bookworm")
    assert {entry.suites for entry in later} == {sources.LATER}


def test_os_release_loses_its_quotes() -> None:
    assert sources.os_release('ID=debian\nNAME="A B"\n') == {"ID": "debian", "NAME": "A B"}


def test_versions_are_compared_as_debian_does() -> None:
    assert sources.compare_versions("5.4.1-1+deb12u1", "5.4.1-1+deb12u2") < 0
    assert sources.compare_versions("2:0.1-1", "1.0") > 0
    assert sources.compare_versions("1.0", "1.0") == 0


class FakeApt:
    """A mirror that has some versions, and files of one."""

    def __init__(self, versions: Iterable[str], good: str = "") -> None:
        self.known = list(versions)
        self.good = good

    def versions(self, package: str) -> list[str]:
        return self.known

    def download(self, package: str, version: str, into: Path) -> Path:
        if version != self.good:
            raise UserError("404 Not Found")
        return into / f"{package}.dsc"


def test_fetch_takes_the_first_version_that_is_to_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unpack(dsc: Path, version: str, note: str, stamp: Path) -> Source:
        stamp.parent.mkdir(parents=True)
        stamp.write_text(f"{version}\n{note}")
        return Source(version, stamp.parent / "source", note)

    monkeypatch.setattr(sources, "_unpack", unpack)
    apts = [FakeApt(["1.0"]), FakeApt(["1.1", "1.2"], "1.1")]
    got = sources.fetch("pack", apts, tmp_path)  # type: ignore[arg-type]
    assert (got.version, got.note) == ("1.1", "1.0 not on the mirror")
    assert sources.fetch("pack", [], tmp_path) == got


def test_fetch_says_what_was_tried(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"package pack: 1\.0: 404 Not Found"):
        sources.fetch("pack", [FakeApt(["1.0"])], tmp_path)  # type: ignore[list-item]
    with pytest.raises(UserError, match="no such package"):
        sources.fetch("pack", [FakeApt([])], tmp_path)  # type: ignore[list-item]


# ---- building --------------------------------------------------------------------------------


def source(folder: Path, makefile: str) -> Source:
    tree = folder / "source"
    tree.mkdir(parents=True)
    (tree / "Makefile").write_text(makefile)
    return Source("1.0", tree, "")


def test_build_runs_the_recipe_once_for_each_library(tmp_path: Path) -> None:
    makefile = "prog:\n\techo '$(LDFLAGS)' > prog\n\tchmod +x prog\n\techo >> $(CURDIR)/../count\n"
    one = source(tmp_path, makefile)
    recipe = program(build=("make --silent prog LDFLAGS={ldflags}",))
    for _ in range(2):
        binary = build.build(recipe, one, "pirn", tmp_path / "out", Path("/lib/ours"))
        assert "-lpirn-pthread" in binary.read_text()
    plain = build.build(recipe, one, "nptl", tmp_path / "out", Path("/lib/ours"))
    assert plain.read_text() == "\n"
    assert (tmp_path / "out/pirn/count").read_text() == "\n"
    assert not (one.folder / "prog").exists()


def test_build_shows_the_log_when_it_fails(tmp_path: Path) -> None:
    one = source(tmp_path, "prog:\n\techo the reason; false\n")
    with pytest.raises(UserError, match=r"(?s)building prog .nptl. failed.*the reason"):
        build.build(program(build=("make prog",)), one, "nptl", tmp_path / "out", Path("/lib"))


# ---- comparing -------------------------------------------------------------------------------


def test_compare_passes_when_the_output_is_the_same(tmp_path: Path) -> None:
    done = outcomes(tmp_path, "[ $1$2 = onex ] && echo right\n")
    assert [len(one.seconds) for one in done] == [2, 2]
    assert done[1].failure == ""


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ("echo wrong\n", "another output than with NPTL"),
        ("echo right; echo uneasy >&2\n", "the output is right, but it says: uneasy"),
        ("echo why >&2; exit 3\n", "exit status 3: why"),
        ("kill -SEGV $$\n", "killed by SIGSEGV"),
    ],
)
def test_compare_says_how_a_program_fails(tmp_path: Path, body: str, failure: str) -> None:
    failed = outcomes(tmp_path, body)[1]
    assert failed.failure == failure
    assert len(failed.seconds) == 1


def test_compare_ends_a_program_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "HANGS", 1.0)
    assert outcomes(tmp_path, "sleep 1000\n")[1].failure == "hangs"


def test_compare_lets_a_program_say_how_fast_it_was(tmp_path: Path) -> None:
    assert outcomes(tmp_path, "echo right; echo $$ ms >&2\n")[1].failure != ""
    pair = [
        script(tmp_path, name, "echo $$ ms >&2\n", family)
        for name, family in (("nptl", "nptl"), ("steal", "pirn"))
    ]
    done = compare.compare(RUN, pair, {"text": "x"}, 1, tmp_path / "first", lambda name: None)
    assert done[1].failure == ""


def test_compare_counts_files_that_a_program_writes(tmp_path: Path) -> None:
    for name, text in (("output.a", "1"), ("output.b", "2")):
        (tmp_path / name).write_text(text)
    before = compare.digest(tmp_path / "output")
    (tmp_path / "output.b").write_text("3")
    assert compare.digest(tmp_path / "output") != before


def test_verdicts_compare_with_what_is_expected(tmp_path: Path) -> None:
    good, bad = (Outcome(script(tmp_path, name, "")) for name in ("good", "bad"))
    bad.failure = "exit status 1"
    assert compare.verdicts(program(), [good]) == []
    assert compare.verdicts(program(), [good, bad]) == ["prog under bad: exit status 1"]
    listed = program(fails={"pirn": "why"})
    assert compare.verdicts(listed, [good, bad]) == []
    assert compare.verdicts(listed, [good]) == ["prog: pirn is expected to fail and passes"]


# ---- the page --------------------------------------------------------------------------------


def test_page_shows_ratios_and_failures(tmp_path: Path) -> None:
    made = {
        name: Outcome(script(tmp_path, name, "", family), [seconds], [seconds])
        for name, family, seconds in (
            ("nptl", "nptl", 0.5),
            ("steal", "pirn", 0.25),
            ("single", "pirn", 9.0),
            ("installed", "installed", 0.5),
            ("preloaded", "preload", 1.0),
        )
    }
    made["single"].failure = "killed by SIGSEGV"
    one = program(fails={"pirn": "no signals"})
    row = report.Row(one, Source("2.0", tmp_path, "1.0 not on the mirror"), RUN, [*made.values()])
    text = report.page([row], 5, 1.5)
    assert "| prog | pack 2.0 (1.0 not on the mirror) | C |" in text
    assert "| prog | a run | 500 | 0.50 | **fails** |" in text
    assert "| prog | a run | 500 | 2.00 |" in text
    assert "- **prog**: killed by SIGSEGV. Why: no signals. Seen under single (a run)." in text
    assert 'prog,"a run",pirn,steal,0,0.250000,0.250000,""' in report.csv([row])


# ---- boards ----------------------------------------------------------------------------------


def board_program(tmp_path: Path) -> tuple[Program, Source]:
    (tmp_path / "source").mkdir()
    steps = ("sh -c 'echo \"$CC {cross}\" > prog && chmod +x prog'",)
    return program(board=steps, cross="--for {cpu} {prefix}"), Source("1", tmp_path / "source", "")


def test_board_builds_get_the_boards_compiler_and_others_none(tmp_path: Path) -> None:
    one, source = board_program(tmp_path)
    board = tmp_path / "riscv64-virt"
    target = targets.Target("rv64", "riscv", "a test", "rv-", (), "riscv64", "riscv64")
    with pytest.raises(UserError, match=r"no libraries in .*riscv64-virt; `make boards`"):
        boards.build_board(one, source, target, board, tmp_path / "out")
    for name in boards.LIBRARIES:
        (board / name).parent.mkdir(parents=True, exist_ok=True)
        (board / name).write_text("1")
    built = boards.build_board(one, source, target, board, tmp_path / "out")
    assert built.read_text() == f"{board / 'pirn-cc'} --for riscv64 rv-\n"
    assert boards.build_host(one, source, tmp_path / "out").read_text() == " \n"


def test_board_builds_are_stale_when_a_library_changes(tmp_path: Path) -> None:
    one, source = board_program(tmp_path)
    board = tmp_path / "riscv64-virt"
    target = targets.Target("rv64", "riscv", "a test", "rv-", (), "riscv64", "riscv64")
    for name in boards.LIBRARIES:
        (board / name).parent.mkdir(parents=True, exist_ok=True)
        (board / name).write_text("1")
    built = boards.build_board(one, source, target, board, tmp_path / "out")
    built.write_text("mine")
    assert boards.build_board(one, source, target, board, tmp_path / "out").read_text() == "mine"
    (board / boards.LIBRARIES[1]).write_text("2")
    again = boards.build_board(one, source, target, board, tmp_path / "out")
    assert again.read_text() != "mine"


def test_board_builds_need_commands(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"prog has no commands for boards in programs\.toml"):
        boards.build_host(program(), Source("1", tmp_path, ""), tmp_path / "out")
