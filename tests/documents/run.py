#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the commands of a document as they are written there, and compares their output.

usage: run.py --root TREE --build BUILD DOCUMENT

The working folder is a new one. It has links to the tree's folders, so that build/release and
.venv/bin are where the document says, and the files that the document writes. Installed files are
in a prefix of its own, which pkg-config, CMake and the dynamic linker find. blocks.py explains the
comments before blocks.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from blocks import Block, Command, DocumentError, blocks, matches

LINKED = (".venv", "apps", "bench", "docs", "include", "tests", "tools", "README.md")
LIMIT = 240  # seconds; only a command that hangs meets it


class FailedError(Exception):
    """A command did not behave as the document says."""


class Folder:
    """The working folder of a document."""

    def __init__(self, root: Path, build: Path, place: Path) -> None:
        self.place = place / "work"
        self.place.mkdir()
        for name in LINKED:
            if (root / name).exists():
                (self.place / name).symlink_to(root / name)
        (self.place / "build").mkdir()
        (self.place / "build" / "release").symlink_to(build)
        prefix = place / "usr"
        subprocess.run(
            ["cmake", "--install", build, "--component", "library", "--prefix", prefix],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        libraries = next(prefix.rglob("libpirn.so")).parent
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith("PIRN_")
        } | {
            "PATH": f"{root}/.venv/bin:{os.environ['PATH']}",
            "PKG_CONFIG_PATH": f"{libraries}/pkgconfig",
            "CMAKE_PREFIX_PATH": str(prefix),
            "LD_LIBRARY_PATH": str(libraries),
            "MANPATH": f"{prefix}/share/man",
            "PAGER": "cat",
            "COLUMNS": "100",
            "HOME": str(place),
        }

    def write(self, block: Block) -> None:
        path = self.place / block.marks["file"]
        path.unlink(missing_ok=True)  # never through a link into the tree
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(block.lines) + "\n")

    def run(self, command: Command, status: int) -> list[str]:
        """The lines that it prints, on either stream."""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command.text],
            cwd=self.place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LIMIT,
            check=False,
        )
        lines = done.stdout.splitlines()
        # bash becomes its last command, so a signal may end either: as a shell says it.
        ended = 128 - done.returncode if done.returncode < 0 else done.returncode
        if ended != status:
            raise FailedError(f"status {ended}, not {status}\n" + "\n".join(lines[-30:]))
        return lines


def perform(folder: Folder, block: Block) -> None:
    commands = block.commands()
    for command in commands:
        status = block.status if command is commands[-1] else 0
        try:
            got = folder.run(command, status)
            compared = block.language == "console" and "output varies" not in block.marks
            if compared and not matches(command.output, got):
                raise FailedError(
                    "the document shows\n  "
                    + "\n  ".join(command.output)
                    + "\nbut it prints\n  "
                    + "\n  ".join(got)
                )
        except (FailedError, subprocess.TimeoutExpired) as error:
            raise FailedError(f"line {command.line}: {command.text}\n{error}") from None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("document", type=Path)
    options = parser.parse_args()
    ran, left = 0, []
    try:
        found = blocks(options.document.read_text())
        with tempfile.TemporaryDirectory(prefix="pirn-document-") as place:
            folder = Folder(options.root.resolve(), options.build.resolve(), Path(place))
            for block in found:
                if "file" in block.marks:
                    folder.write(block)
                elif block.runs:
                    perform(folder, block)
                    ran += 1
                elif block.language in ("sh", "console"):
                    left.append(f"line {block.line} is not run: {block.marks.get('not run')}")
    except (DocumentError, FailedError) as error:
        print(f"{options.document}: {error}", file=sys.stderr)
        return 1
    print(f"{options.document.name}: {ran} blocks ran", *left, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
