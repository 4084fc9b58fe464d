# SPDX-License-Identifier: MIT
"""Installs the pirn command: its package, the packages that it needs, and a launcher.

usage: install.py --bin DIR --lib DIR [--destdir DIR]

LIB/pirn/python gets pirn_tools and, without network, what tools/setup has put into the virtual
environment whose Python runs this script. BIN/pirn is the launcher. Both find each other by
relative paths, so that the prefix may be moved. Prints the files that it has written.

The new folder replaces the old one whole: nothing of an earlier version stays.
"""

from __future__ import annotations

import argparse
import compileall
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OURS = "pirn_tools"
PROJECT = "pirn"
TEMPLATES = Path(__file__).resolve().parent
PACKAGE = TEMPLATES.parent / OURS
LEFT_OUT = frozenset({"tests"})  # the packages' own tests: a third of all files


class InstallError(Exception):
    """The command cannot be installed."""


def needed(name: str, found: dict[str, metadata.Distribution]) -> None:
    """Adds all packages that the project needs, also indirectly, to `found`."""
    try:
        project = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise InstallError(f"{sys.prefix} has no package {name}: make setup") from None
    for line in project.requires or ():
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        key = canonicalize_name(requirement.name)
        if key not in found:
            needed(key, found)
    found[canonicalize_name(name)] = project


def files_of(project: metadata.Distribution) -> Iterator[tuple[Path, Path]]:
    """Each file of the package, and where it lies below the folder of packages."""
    if project.files is None:
        raise InstallError(f"the package {project.name} does not list its files")
    for file in project.files:
        parts = file.parts
        if ".." not in parts and not LEFT_OUT.intersection(parts):
            yield Path(str(project.locate_file(file))), Path(*parts)


def own_files() -> Iterator[tuple[Path, Path]]:
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path, OURS / path.relative_to(PACKAGE)


def fill(folder: Path) -> None:
    """All packages. Their bytecode comes along; that of our own package is made here."""
    packages: dict[str, metadata.Distribution] = {}
    needed(PROJECT, packages)
    del packages[PROJECT]
    wanted = list(own_files())
    for project in packages.values():
        wanted += files_of(project)
    for source, place in wanted:
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def write(template: str, target: Path, values: dict[str, str], mode: int) -> None:
    text = (TEMPLATES / template).read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    target.write_text(text)
    target.chmod(mode)


def install(bin_folder: Path, lib_folder: Path, destdir: str) -> list[Path]:
    """The files, as they are called where the system has been moved to its place."""
    home = lib_folder / "pirn" / "python"
    launcher = bin_folder / "pirn"
    staged = Path(f"{destdir}{home}")
    fresh = staged.with_name("python.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    major, minor = sys.version_info[:2]
    values = {
        "VERSION": f"{major}.{minor}",
        "NUMBERS": f"({major}, {minor})",
        # Not the virtual environment's link to it: that belongs to the source tree.
        "PYTHON": shlex.quote(os.path.realpath(sys.executable)),
        "HOME": shlex.quote(os.path.relpath(home, bin_folder)),
    }
    fill(fresh)
    write("main.py.in", fresh / "__main__.py", values, 0o644)
    compileall.compile_dir(
        fresh / OURS, quiet=1, stripdir=str(fresh), prependdir=str(home), force=True
    )
    shutil.rmtree(staged, ignore_errors=True)
    fresh.rename(staged)
    write("pirn.in", Path(f"{destdir}{launcher}"), values, 0o755)
    copied = (home / path.relative_to(staged) for path in staged.rglob("*") if path.is_file())
    return [launcher, *sorted(copied)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--bin", type=Path, required=True, metavar="DIR")
    parser.add_argument("--lib", type=Path, required=True, metavar="DIR")
    parser.add_argument("--destdir", default="", metavar="DIR")
    options = parser.parse_args()
    for folder in (options.bin, options.lib):
        if not folder.is_absolute():
            parser.error(f"{folder} is not an absolute path")
    try:
        files = install(options.bin, options.lib, options.destdir)
    except (InstallError, OSError) as error:
        print(f"install.py: the pirn command cannot be installed: {error}", file=sys.stderr)
        return 1
    print("\n".join(map(str, files)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
