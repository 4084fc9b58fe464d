# SPDX-License-Identifier: MIT
"""The command as the user calls it, on the library that was built (PIRN_LIBRARY)."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from pirn_tools.describe import PTHREAD_SONAME

BUILT = bool(os.environ.get("PIRN_LIBRARY"))
APPS = Path(os.environ.get("PIRN_APPS", "."))
needs_library = pytest.mark.skipif(not BUILT, reason="PIRN_LIBRARY names no built library")


def pirn(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pirn_tools", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def policies() -> list[str]:
    return [org["name"] for org in json.loads(pirn("sched", "list", "--json").stdout)]


@needs_library
def test_sched_list_shows_every_policy() -> None:
    table = pirn("sched", "list", COLUMNS="120")
    assert table.returncode == 0
    names = policies()
    assert len(names) >= 1
    assert all(name in table.stdout for name in names)


@needs_library
def test_run_help_shows_every_option_of_the_library() -> None:
    text = pirn("run", "--help").stdout
    assert "--sched" in text
    assert "PIRN_CPUS" in text


@needs_library
def test_man_page_is_made_from_the_table() -> None:
    assert ".TH PIRN 1" in pirn("man").stdout
    text = pirn("man", "pirn-run.1").stdout
    assert all(name in text for name in policies())


@needs_library
def test_run_passes_on_the_exit_status_when_preloading() -> None:
    if not Path(os.environ["PIRN_LIBRARY"]).with_name(PTHREAD_SONAME).exists():
        pytest.skip("libpirn-pthread is not built")
    result = pirn("run", "--preload", "--", "sh", "-c", "exit 7")
    assert result.returncode == 7, result.stderr


@needs_library
@pytest.mark.parametrize("folder", ["with space", "with:colon", "with$dollar"])
def test_run_refuses_to_preload_when_the_linker_cannot_read_the_path(
    folder: str, tmp_path: Path
) -> None:
    built = Path(os.environ["PIRN_LIBRARY"])
    if not built.with_name(PTHREAD_SONAME).exists():
        pytest.skip("libpirn-pthread is not built")
    (tmp_path / folder).mkdir()
    for library in (built, built.with_name(PTHREAD_SONAME)):
        shutil.copy(library, tmp_path / folder / library.name)
    moved = str(tmp_path / folder / built.name)
    result = pirn("run", "--preload", "--", "sh", "-c", "echo ran", PIRN_LIBRARY=moved)
    assert result.returncode == 1, result
    assert result.stdout == ""
    assert str(tmp_path / folder / PTHREAD_SONAME) in result.stderr
    assert "LD_PRELOAD cannot hold" in result.stderr


@needs_library
def test_run_refuses_to_preload_when_the_program_has_capabilities(tmp_path: Path) -> None:
    program = tmp_path / "true"
    shutil.copy("/bin/true", program)
    try:
        # struct vfs_cap_data, version 2: CAP_CHOWN, effective.
        value = struct.pack("<5I", 0x02000001, 1, 0, 0, 0)
        os.setxattr(program, "security.capability", value)
    except OSError as error:
        pytest.skip(f"no file capabilities here: {error.strerror}")
    if os.getuid() == 0:
        # root gains nothing by them, and the dynamic linker obeys LD_PRELOAD.
        assert pirn("run", "--preload", "--", str(program)).returncode == 0
        return
    result = pirn("run", "--preload", "--", str(program))
    assert result.returncode == 1, result
    assert "program with file capabilities: nothing can be preloaded" in result.stderr


@needs_library
def test_run_starts_a_linked_program_under_every_policy() -> None:
    program = APPS / "comm-pirn"
    if not program.exists():
        pytest.skip("comm-pirn is not built")
    for name in policies():
        result = pirn("run", "--sched", name, "--", str(program), "--help")
        assert result.returncode == 0, result.stderr


@needs_library
def test_run_knows_that_a_program_may_bring_an_policy() -> None:
    program = APPS.parent / "tests" / "policy" / "pirn-policy-example"
    if not program.exists():
        pytest.skip("pirn-policy-example is not built")
    result = pirn("run", "--sched", "home:start=turn", "--", str(program))
    assert result.returncode == 0, result.stderr
    assert "under home:start=turn" in result.stdout
    result = pirn("run", "--sched", "hme", "--", str(program))
    assert result.returncode == 2
    assert 'there is no policy "hme"; there are:' in result.stderr
    result = pirn("run", "--sched", "steal:vicitm=max", "--", str(program))
    assert 'did you mean "victim"' in result.stderr


WRONG = [
    (("run", "--sched", "stael", "true"), 2, "did you mean"),
    (("run", "--sched", "steal:vicitm=max", "true"), 2, 'did you mean "victim"'),
    (("run", "--scehd", "steal", "true"), 2, "--sched"),
    (("run", "--cpus", "two", "true"), 2, 'option cpus="two" is not valid'),
    (("run", "no-such-program"), 127, "no such program"),
    (("run", "--preload", "/"), 126, "is a folder"),
    (("run",), 2, "PROGRAM"),
]


@needs_library
@pytest.mark.parametrize(("arguments", "status", "text"), WRONG)
def test_run_says_what_is_wrong(arguments: tuple[str, ...], status: int, text: str) -> None:
    result = pirn(*arguments)
    assert result.returncode == status
    assert text in result.stderr
    assert "Traceback" not in result.stderr


def test_unknown_command_comes_with_a_suggestion() -> None:
    result = pirn("rum")
    assert result.returncode == 2
    assert 'did you mean "run"' in result.stderr


@pytest.mark.parametrize("library", ["/nowhere/libpirn.so.0", __file__])
def test_broken_library_is_an_error_without_traceback(library: str) -> None:
    for arguments in (("sched", "list"), ("run", "--cpus", "2", "true"), ("man",)):
        result = pirn(*arguments, PIRN_LIBRARY=library)
        assert result.returncode == 1
        assert "cannot load" in result.stderr
        assert "Traceback" not in result.stderr
