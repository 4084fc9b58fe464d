# SPDX-License-Identifier: MIT
"""tools/setup on a machine made of stubs: what it says, what it would install."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).resolve().parent.parent / "setup"
TOOLS = [
    "bash",
    "awk",
    "sed",
    "paste",
    "cksum",
    "cat",
    "dirname",
    "env",
    "flock",
    "grep",
    "tail",
    "mktemp",
    "rm",
]
PACKAGES = """\
[base]
alpha|beta   cmd:alpha,beta   # the first letter
gamma        cmd:gamma        # the third letter
[bench]
delta        cmd:delta        # the fourth letter
"""


class Machine:
    """A tree with tools/setup and a PATH that holds only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.log = folder / "apt.log"
        self.tools = folder / "tree" / "tools"
        self.bin.mkdir()
        self.tools.mkdir(parents=True)
        for name in TOOLS:
            found = shutil.which(name)
            assert found is not None, name
            (self.bin / name).symlink_to(found)
        shutil.copy(SETUP, self.tools / "setup")
        (self.tools / "packages.txt").write_text(PACKAGES)
        # An environment that looks finished: these tests are about packages.
        for name in ("requirements.txt", "pyproject.toml"):
            (self.tools / name).write_text("")
        venv = self.tools.parent / ".venv"
        self.venv = venv
        (venv / "bin").mkdir(parents=True)
        self.stub("pirn", "", venv / "bin")
        finger = f"printf '%s\\n' '{self.tools.parent}' | cksum"
        shell = subprocess.run(["sh", "-c", finger], capture_output=True, text=True, check=True)
        (venv / ".stamp").write_text(shell.stdout)
        self.user(0)

    def stub(self, name: str, body: str, folder: Path | None = None) -> None:
        path = (folder or self.bin) / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def user(self, number: int) -> None:
        self.stub("id", f"echo {number}")

    def apt(self, installs: str) -> None:
        """An apt-get that writes down its arguments and "installs" the commands named."""
        made = "; ".join(f"ln -sf /bin/true {self.bin}/{name}" for name in installs.split())
        install = f"PATH=/bin:/usr/bin; {made or ':'}"
        body = f'case "$*" in *install*) {install};; esac'
        self.stub("apt-get", f'echo "$@" >> {self.log}\n{body}')

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.bin / "bash"), str(self.tools / "setup"), *arguments],
            env={"PATH": str(self.bin), "YES": "1", "HOME": os.environ.get("HOME", "/")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_setup_installs_only_what_is_missing(machine: Machine) -> None:
    machine.stub("beta", "")
    machine.apt("gamma")
    first = machine.run()
    assert first.returncode == 0, first.stderr
    assert "gamma" in first.stdout
    assert "the third letter" in first.stdout
    assert "alpha" not in machine.log.read_text()
    assert "delta" not in machine.log.read_text()
    machine.log.unlink()
    again = machine.run("--quiet")
    assert (again.returncode, again.stdout) == (0, "")
    assert not machine.log.exists()


def test_setup_installs_a_group_when_asked(machine: Machine) -> None:
    machine.apt("alpha gamma delta")
    assert machine.run("--group", "bench").returncode == 0
    assert "install alpha gamma delta" in machine.log.read_text()


def test_setup_installs_one_group_alone_when_asked(machine: Machine) -> None:
    machine.apt("delta")
    assert machine.run("--only", "bench").returncode == 0
    assert "install delta" in machine.log.read_text()


def test_setup_installs_the_python_packages_of_a_group_once(machine: Machine) -> None:
    machine.apt("alpha gamma delta")
    (machine.tools / "requirements-bench.txt").write_text("some==1\n")
    machine.stub("python", f'echo "$@" >> {machine.log}.pip', machine.venv / "bin")
    assert machine.run().returncode == 0
    log = Path(f"{machine.log}.pip")
    assert not log.exists()
    assert "requirements-bench.txt" in machine.run("--group", "bench").stdout
    assert "requirements-bench.txt" in log.read_text()
    log.unlink()
    again = machine.run("--group", "bench", "--quiet")
    assert (again.returncode, again.stdout) == (0, "")
    assert not log.exists()
    (machine.tools / "requirements-bench.txt").write_text("some==2\n")
    assert machine.run("--group", "bench").returncode == 0
    assert log.exists()


def test_setup_shows_why_pip_failed_and_tries_again(machine: Machine) -> None:
    machine.apt("alpha gamma")
    (machine.tools / "requirements-base.txt").write_text("some==1\n")
    machine.stub("python", "echo no such package; exit 1", machine.venv / "bin")
    for _ in range(2):
        result = machine.run()
        assert result.returncode == 1
        assert "no such package" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["--group", "nope"], 1, 'no group "nope" in tools/packages.txt (groups: base bench)'),
        (["--group"], 1, "--group needs a name"),
        (["--only", "nope"], 1, 'no group "nope"'),
        (["--nope"], 2, "usage:"),
    ],
)
def test_setup_says_what_is_valid(
    machine: Machine, arguments: list[str], status: int, text: str
) -> None:
    result = machine.run(*arguments)
    assert result.returncode == status
    assert text in result.stderr


def test_setup_names_the_packages_when_it_cannot_install(machine: Machine) -> None:
    without_apt = machine.run()
    assert without_apt.returncode == 1
    assert "no apt-get" in without_apt.stderr
    assert "the first letter" in without_apt.stdout
    machine.apt("")
    machine.user(1000)
    without_sudo = machine.run()
    assert without_sudo.returncode == 1
    assert "as root run: apt-get install alpha gamma" in without_sudo.stderr
    assert not machine.log.exists()


def test_setup_uses_sudo_when_not_root(machine: Machine) -> None:
    machine.apt("alpha gamma")
    machine.user(1000)
    machine.stub("sudo", 'exec "$@"')
    assert machine.run().returncode == 0
    assert "install alpha gamma" in machine.log.read_text()


def test_setup_fails_when_installing_did_not_help(machine: Machine) -> None:
    machine.apt("alpha")
    result = machine.run()
    assert result.returncode == 1
    assert "installed, but still not usable: gamma" in result.stderr


def test_setup_shows_why_apt_failed(machine: Machine) -> None:
    machine.stub("apt-get", "echo no network; exit 100")
    result = machine.run()
    assert result.returncode == 1
    assert "no network" in result.stderr
    assert "apt-get failed" in result.stderr


def test_setup_lists_without_installing(machine: Machine) -> None:
    machine.apt("alpha gamma")
    result = machine.run("--list", "--group", "bench")
    assert result.returncode == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["alpha", "gamma", "delta"]
    assert not machine.log.exists()
