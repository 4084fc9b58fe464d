# SPDX-License-Identifier: MIT
"""Binary packages, unpacked and not installed, and how programs find them.

apt gets lists and a cache of its own below the folder; what is installed on the machine counts, so
only what is missing is fetched. All packages are unpacked into one root. Programs look for their
files below /usr and /etc, many by names that were compiled into them: so they run in a mount
namespace in which overlays show the root's files there, before the machine's. A user namespace
allows that without privileges, and nothing of the machine is changed. Scripts of packages
(postinst) are not run: there are no services, users and alternatives.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pirn_tools.errors import UserError

LINKS = ("bin", "sbin", "lib", "lib64")  # of a merged /usr
SHOWN = ("usr", "etc")
ENTER = """for each in $1; do
    mount -t overlay overlay -o "lowerdir=$2/$each:/$each" "/$each" || exit 125
done
shift 2
exec "$@"
"""


class Unpacked:
    """The folder of packages: apt's lists, archives while they are unpacked, the root, stamps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.stamps = folder / "unpacked"

    def lock(self) -> None:
        """This process alone uses the folder, until it ends."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._locked = (self.folder / "lock").open("w")
        try:
            fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another pirn world uses {self.folder}: wait for its end") from None

    def need(self, packages: Sequence[str]) -> list[str]:
        """Unpacks them with what they depend on; name=version of each that was fetched for them."""
        wanted = self.stamps / "+".join(packages)
        if not wanted.exists():
            self._prepare()
            found = self._missing(packages)
            for one in found:
                self._unpack(one)
            wanted.write_text("".join(f"{one}\n" for one in found))
        return wanted.read_text().split()

    def command(self, inner: Sequence[str]) -> list[str]:
        """A command that runs another one where the packages are seen."""
        enter = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ENTER, "enter"]
        return [*enter, " ".join(SHOWN), str(self.root), *inner]

    def check(self) -> None:
        """An error if the machine does not allow such a namespace."""
        done = _run(self.command(["true"]))
        if done.returncode != 0:
            raise UserError(
                "programs of unpacked packages need a user namespace with overlays, which this "
                f"machine refuses: {done.stderr.strip() or f'exit status {done.returncode}'}"
            )

    def _prepare(self) -> None:
        for path in (self.folder / "lists/partial", self.folder / "cache/archives/partial"):
            path.mkdir(parents=True, exist_ok=True)
        for path in (*(self.root / shown for shown in SHOWN), self.stamps):
            path.mkdir(parents=True, exist_ok=True)
        for name in LINKS:
            (self.root / "usr" / name).mkdir(exist_ok=True)
            if not (self.root / name).is_symlink():
                (self.root / name).symlink_to(f"usr/{name}")
        if not list((self.folder / "lists").glob("*Packages*")):
            self._apt("apt-get", "-q", "update")

    def _missing(self, packages: Sequence[str]) -> list[str]:
        """name=version of these, and of what they depend on and this machine lacks."""
        text = self._apt(
            "apt-get", "install", "--simulate", "--no-install-recommends", "--reinstall", *packages
        )
        found = []
        for line in text.splitlines():  # Inst NAME [INSTALLED] (VERSION ORIGIN [ARCHITECTURE])
            words = line.split()
            if words[:1] == ["Inst"]:
                version = next(word for word in words if word.startswith("("))[1:]
                found.append(f"{words[1]}={version}")
        return found

    def _unpack(self, package: str) -> None:
        stamp = self.stamps / package
        if stamp.exists():
            return
        into = self.folder / "cache" / "download"
        into.mkdir(exist_ok=True)
        for left in into.glob("*.deb"):
            left.unlink()
        self._apt("apt-get", "-q", "download", package, cwd=into)
        for archive in into.glob("*.deb"):
            unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x --no-same-owner '
            unpack += '--keep-directory-symlink -C "$2"'
            words = ["bash", "-o", "pipefail", "-c", unpack, "unpack"]
            done = _run([*words, str(archive), str(self.root)])
            archive.unlink()
            if done.returncode != 0:
                raise UserError(f"package {package} cannot be unpacked: {done.stderr.strip()}")
        stamp.touch()

    def _apt(self, *command: str, cwd: Path | None = None) -> str:
        options = [
            f"Dir::State::lists={self.folder}/lists",
            f"Dir::Cache={self.folder}/cache",
            "APT::Sandbox::User=",
            "Debug::NoLocking=1",
        ]
        words = [command[0], *(word for one in options for word in ("-o", one)), *command[1:]]
        done = _run(words, cwd)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
            said = "; ".join(errors[:2]) or done.stderr.strip()
            raise UserError(f"{' '.join(command)}: {said}")
        return done.stdout


def _run(command: Sequence[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    environment.pop("LD_PRELOAD", None)
    try:
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise UserError(f"cannot run {command[0]}: {error.strerror}") from None
