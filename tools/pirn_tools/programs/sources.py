# SPDX-License-Identifier: MIT
"""Source packages, by apt-get, without root and without a change to the machine's set-up.

apt gets lists and a cache of its own below build/programs/apt, and a list of sources that is made
from the machine's: the same mirrors and keys, `deb-src` in the place of `deb`. A mirror may lack
files of a release: then on Debian the later releases of the same mirror are tried.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cmp_to_key
from pathlib import Path

from pirn_tools.errors import UserError

LATER = ("stable", "testing", "unstable")
ETC = Path("/etc/apt")


@dataclass(frozen=True)
class Entry:
    """Where packages come from."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""

    def text(self) -> str:
        lines = [
            "Types: deb-src",
            f"URIs: {self.uri}",
            f"Suites: {' '.join(self.suites)}",
            f"Components: {' '.join(self.components)}",
        ]
        if self.signed_by:
            lines.append(f"Signed-By: {self.signed_by}")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Source:
    """An unpacked source package."""

    version: str
    folder: Path
    note: str  # what was tried before


def parse_lines(text: str) -> list[Entry]:
    """The format of sources.list: deb [option=value ...] uri suite component..."""
    entries = []
    for line in text.splitlines():
        words = line.split("#")[0].replace("[", " [ ").replace("]", " ] ").split()
        if not words or words[0] != "deb":
            continue
        options = []
        if words[1:2] == ["["]:
            end = words.index("]")
            options, words = words[2:end], [words[0], *words[end + 1 :]]
        keys = [word.split("=", 1)[1] for word in options if word.startswith("signed-by=")]
        if len(words) >= 4:
            entries.append(Entry(words[1], (words[2],), tuple(words[3:]), "".join(keys)))
    return entries


def parse_stanzas(text: str) -> list[Entry]:
    """The format of *.sources: stanzas of fields. A key that is written out is ignored."""
    entries = []
    for stanza in text.split("\n\n"):
        fields = {}
        for line in stanza.splitlines():
            name, colon, value = line.partition(":")
            if colon and not line.startswith(("#", " ", "\t")):
                fields[name.lower()] = value.split()
        if "deb" not in fields.get("types", []) or fields.get("enabled") == ["no"]:
            continue
        suites, components = tuple(fields.get("suites", [])), tuple(fields.get("components", []))
        key = " ".join(fields.get("signed-by", []))
        entries += [Entry(uri, suites, components, key) for uri in fields.get("uris", [])]
    return entries


def machine_entries(etc: Path = ETC) -> list[Entry]:
    entries = []
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if path.suffix == ".list" and path.exists():
            entries += parse_lines(path.read_text())
        elif path.suffix == ".sources":
            entries += parse_stanzas(path.read_text())
    return entries


def of_release(entries: Iterable[Entry], codename: str) -> list[Entry]:
    """The distribution's own: those that name its release, with its updates."""
    found = []
    for entry in entries:
        suites = tuple(s for s in entry.suites if s == codename or s.startswith(f"{codename}-"))
        if suites:
            found.append(replace(entry, suites=suites))
    return found


def other_releases(
    entries: Iterable[Entry], codename: str, suites: tuple[str, ...] = LATER
) -> list[Entry]:
    """Other releases of the mirrors that have this one."""
    return [replace(entry, suites=suites) for entry in entries if codename in entry.suites]


def os_release(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key: "".join(shlex.split(value)) for key, _, value in pairs}


def compare_versions(one: str, other: str) -> int:
    """Below, equal to or above 0, as Debian orders versions."""
    if one == other:
        return 0
    command = ["dpkg", "--compare-versions", one, "lt", other]
    return -1 if subprocess.run(command, check=False).returncode == 0 else 1


def has_checksum(path: Path, checksum: str) -> bool:
    """Whether the file is there and whole."""
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == checksum


class Apt:
    """apt-get with its own lists. The first use fetches them."""

    def __init__(self, folder: Path, entries: list[Entry], *, newest_first: bool) -> None:
        self.folder = folder
        self.entries = entries
        self.newest_first = newest_first
        self.ready = False

    def run(self, *command: str, cwd: Path | None = None) -> str:
        environment = {**os.environ, "APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"}
        done = subprocess.run(
            command, env=environment, cwd=cwd, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
            raise UserError(f"{' '.join(command[:2])}: {'; '.join(errors[:2]) or done.stderr}")
        return done.stdout

    def prepare(self) -> None:
        if self.ready:
            return
        for name in ("lists/partial", "cache/archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        text = "\n".join(entry.text() for entry in self.entries)
        (self.folder / "debian.sources").write_text(text)
        (self.folder / "apt.conf").write_text(
            f'Dir::Etc::sourcelist "{self.folder}/debian.sources";\n'
            'Dir::Etc::sourceparts "/dev/null";\n'
            f'Dir::State::lists "{self.folder}/lists";\n'
            f'Dir::Cache "{self.folder}/cache";\n'
            'APT::Sandbox::User "";\n'
        )
        self.run("apt-get", "-q", "update")
        self.ready = True

    def versions(self, package: str) -> list[str]:
        """In the order in which they are to be tried."""
        self.prepare()
        found: list[str] = []
        for stanza in self.run("apt-cache", "showsrc", "--only-source", package).split("\n\n"):
            version = [line[9:] for line in stanza.splitlines() if line.startswith("Version: ")]
            found += [v for v in version if v not in found]
        return sorted(found, key=cmp_to_key(compare_versions), reverse=self.newest_first)

    def download(self, package: str, version: str, into: Path) -> Path:
        """The package's .dsc, with the files that it names beside it; apt-get checks them."""
        into.mkdir(parents=True, exist_ok=True)
        wanted = f"{package}={version}"
        self.run("apt-get", "-q", "source", "--only-source", "--download-only", wanted, cwd=into)
        without_epoch = version.split(":", 1)[-1]
        return into / f"{package}_{without_epoch}.dsc"

    def download_archive(self, package: str, version: str, into: Path) -> Path:
        """The archive of the program's authors alone. Mirrors may have that and lack the .dsc."""
        name, checksum = self.archive(package, version)
        path = into / name
        try:
            self.download(package, version, into)
        except UserError:
            if not has_checksum(path, checksum):
                raise
        return path

    def archive(self, package: str, version: str) -> tuple[str, str]:
        """Its name and SHA-256, as the signed lists have them."""
        for stanza in self.run("apt-cache", "showsrc", "--only-source", package).split("\n\n"):
            if f"Version: {version}" not in stanza.splitlines():
                continue
            found = re.search(r"^ ([0-9a-f]{64}) \d+ (\S+\.orig\.tar\.\w+)$", stanza, re.MULTILINE)
            if found:
                return found[2], found[1]
        raise UserError(f"source package {package} {version}: no archive in the lists")


def machine_release() -> tuple[dict[str, str], list[Entry]]:
    """What /etc/os-release says, and where packages of that release come from."""
    about = os_release(Path("/etc/os-release").read_text())
    codename = about.get("VERSION_CODENAME", "")
    own = of_release(machine_entries(), codename) if codename else []
    if not own:
        raise UserError(
            f'{ETC} names no packages of release "{codename}": source packages are found by apt'
        )
    return about, own


def machine_apts(folder: Path) -> list[Apt]:
    """The machine's release, then the later ones."""
    about, own = machine_release()
    apts = [Apt(folder / "own", own, newest_first=True)]
    if about.get("ID") == "debian":
        apts.append(
            Apt(
                folder / "later", other_releases(own, about["VERSION_CODENAME"]), newest_first=False
            )
        )
    return apts


def fetch(package: str, apts: Iterable[Apt], folder: Path) -> Source:
    """Downloads and unpacks, unless it is there. `note` says which versions were not to be had."""
    stamp = folder / package / "version"
    if stamp.exists():
        version, _, note = stamp.read_text().strip().partition("\n")
        return Source(version, folder / package / "source", note)
    tried = []
    for apt in apts:
        for version in apt.versions(package):
            try:
                dsc = apt.download(package, version, folder / package)
            except UserError as error:
                tried.append(f"{version}: {error.message}")
                continue
            note = (
                f"{', '.join(t.split(': ')[0] for t in tried)} not on the mirror" if tried else ""
            )
            return _unpack(dsc, version, note, stamp)
    raise UserError(f"source package {package}: " + ("\n  ".join(tried) or "no such package"))


def _unpack(dsc: Path, version: str, note: str, stamp: Path) -> Source:
    target = stamp.parent / "source"
    # apt-get has compared the files with the signed lists.
    command = ["dpkg-source", "--no-check", "--extract", dsc.name, target.name]
    done = subprocess.run(command, cwd=dsc.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"{' '.join(command)}: {done.stderr.strip()}")
    stamp.write_text(f"{version}\n{note}")
    return Source(version, target, note)
