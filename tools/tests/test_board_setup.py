# SPDX-License-Identifier: MIT
"""tools/setup-boards: targets, what makes a library stale, and its source."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from pirn_tools.board import picolibc, targets
from pirn_tools.errors import UserError
from pirn_tools.programs.sources import Apt

SETUP = Path(__file__).resolve().parent.parent / "setup-boards"
RV64 = targets.Target(
    "rv64", "riscv", "for a test", "absent-", ("-march=rv64gc",), "riscv64", "riscv64"
)
NAME = f"picolibc_{picolibc.VERSION}.orig.tar.gz"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["--target", "sparc"],
            'no target "sparc" (valid: riscv, arm, cortex-m, aarch64, mips, all, rv64, rv32, ',
        ),
        (["--target"], "--target needs a value"),
        (["--nope"], "usage: tools/setup-boards"),
    ],
)
def test_setup_boards_says_what_is_valid(arguments: list[str], text: str) -> None:
    done = subprocess.run([SETUP, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert text in done.stderr


def test_the_script_knows_all_families() -> None:
    done = subprocess.run([SETUP, "--help"], capture_output=True, text=True, check=True)
    for family in targets.families(targets.load()):
        assert f" {family}," in done.stdout


def listed(root: Path, *arguments: str) -> str:
    command = [root / "tools/setup-boards", "--list", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def libraries(text: str) -> list[str]:
    return [line for line in text.splitlines() if "C library" in line]


def test_libraries_are_listed_alike_without_the_virtual_environment(tmp_path: Path) -> None:
    root = tmp_path / "copy"
    (root / "tools").mkdir(parents=True)
    for name in ("setup", "setup-boards", "packages.txt", "pirn_tools", "requirements.txt"):
        (root / "tools" / name).symlink_to(SETUP.parent / name)
    prefix = tmp_path / "prefix"
    # The script looks for .venv beside the path by which it is called: here a link.
    for arguments in ([], ["--target", "arm"], ["--target", "rv32", "--target", "mips"]):
        words = [*arguments, "--prefix", str(prefix)]
        expected = libraries(listed(SETUP.parent.parent, *words))
        assert expected
        assert libraries(listed(root, *words)) == expected
    built = prefix / "picolibc" / "rv32"
    built.mkdir(parents=True)
    (built / "recipe").touch()
    assert "picolibc for rv32 " not in listed(root, "--prefix", str(prefix))


def test_targets_are_chosen_by_family_or_name() -> None:
    table = targets.load()
    assert [one.name for one in targets.choose(table, ["riscv", "armv6k"])] == [
        "rv64",
        "rv32",
        "rv32imac",
        "rv32ima",
        "armv6k",
    ]
    assert [one.name for one in targets.choose(table, ["riscv"])] == [
        "rv64",
        "rv32",
        "rv32imac",
        "rv32ima",
    ]
    assert targets.choose(table, ["all"]) == table
    with pytest.raises(UserError, match=r'no target "risc"; did you mean "riscv"\?'):
        targets.choose(table, ["risc"])


def compiler(folder: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "absent-gcc"
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_library_is_stale_when_the_compiler_or_a_flag_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = picolibc.Folders(tmp_path / "prefix")
    with pytest.raises(UserError, match="tools/setup-boards --target riscv"):
        picolibc.recipe(RV64)
    compiler(tmp_path, "12.2.0", monkeypatch)
    assert not picolibc.is_built(RV64, folders)
    library = folders.library(RV64)
    library.mkdir(parents=True)
    (library / "recipe").write_text(picolibc.recipe(RV64))
    assert picolibc.is_built(RV64, folders)
    other = targets.Target(**{**vars(RV64), "flags": ("-march=rv64imac",)})
    assert not picolibc.is_built(other, folders)
    compiler(tmp_path, "13.1.0", monkeypatch)
    assert not picolibc.is_built(RV64, folders)


def test_the_end_of_the_log_is_shown_when_a_build_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        picolibc, "steps", lambda *_: [["sh", "-c", "seq 1000; echo broken; exit 3"]]
    )
    said: list[str] = []
    folders = picolibc.Folders(tmp_path)
    with pytest.raises(UserError, match="broken") as caught:
        picolibc.build(RV64, folders, tmp_path, said.append)
    assert str(folders.work / "rv64.log") in caught.value.message
    assert "\n500\n" not in caught.value.message
    assert said == [f"building picolibc {picolibc.VERSION} for rv64 (for a test)"]
    assert not (folders.library(RV64) / "recipe").exists()


def test_a_given_archive_must_be_the_right_one(tmp_path: Path) -> None:
    folders = picolibc.Folders(tmp_path / "prefix")
    with pytest.raises(UserError, match="no such file"):
        picolibc.fetch(folders, tmp_path / NAME, print)
    (tmp_path / NAME).write_bytes(b"something else")
    with pytest.raises(UserError, match=f"is to be {picolibc.CHECKSUM}"):
        picolibc.fetch(folders, tmp_path / NAME, print)
    assert not folders.work.exists()


class Mirror(Apt):
    """A mirror that lacks the .dsc, and has the archive."""

    def __init__(self, folder: Path, sent: bytes, listed: bytes) -> None:
        super().__init__(folder, [], newest_first=True)
        self.sent = sent
        self.listed = hashlib.sha256(listed).hexdigest()

    def run(self, *command: str, cwd: Path | None = None) -> str:
        if command[0] == "apt-cache":
            return (
                f"Package: picolibc\nVersion: 1.8-1\nChecksums-Sha256:\n {64 * '0'} 9 {NAME}\n\n"
                f"Package: picolibc\nVersion: 1.8.10-2\nChecksums-Sha256:\n {64 * '0'} 9 x.dsc\n"
                f" {self.listed} 9 {NAME}\n"
            )
        assert cwd is not None
        (cwd / NAME).write_bytes(self.sent)
        raise UserError("apt-get source: E: 404 Not Found")


def test_an_archive_does_when_the_mirror_lacks_the_rest(tmp_path: Path) -> None:
    whole = Mirror(tmp_path, b"archive", b"archive")
    assert whole.download_archive("picolibc", "1.8.10-2", tmp_path) == tmp_path / NAME
    damaged = Mirror(tmp_path, b"archivX", b"archive")
    with pytest.raises(UserError, match="404"):
        damaged.download_archive("picolibc", "1.8.10-2", tmp_path)
