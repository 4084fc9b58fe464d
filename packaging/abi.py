# SPDX-License-Identifier: MIT
"""Compares the libraries' binary interfaces with those that packaging/abi records.

usage: abi.py --libraries DIR [--record] [--reference DIR]

packaging/abi has the interface of each library, built with the compilers of Debian bullseye for
x86-64: functions, their parameters, the layout of types in the public headers. Every difference is
an error until --record writes it there, so that a change of the interface is seen in review. The
interfaces that the last tag (v...) records may only grow, as long as the library's file name stays.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "packaging" / "abi"
LIBRARIES = {"libpirn": "libpirn.so.0", "libpirn-pthread": "libpirn-pthread.so.0"}
# The exit status of abidiff has bits.
FAILED, CHANGED = 1 | 2, 4 | 8


class AbiError(Exception):
    """The comparison cannot be made, or has found something."""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)


def describe(library: Path) -> str:
    """The interface as XML, without what differs between two machines."""
    words = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-parameter-names"]
    words += ["--no-elf-needed", "--type-id-style", "hash"]
    # Without types that only the library's own files have.
    words += ["--headers-dir", "include/pirn", "--drop-private-types"]
    done = run("abidw", *words, str(library))
    if done.returncode != 0:
        raise AbiError(f"abidw cannot read {library}: {done.stderr or done.stdout}")
    root = ElementTree.fromstring(done.stdout)  # noqa: S314 # abidw's own
    for unit in root.findall("abi-instr"):
        path = Path(unit.get("path", ""))
        unit.set("path", str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path))
        for kind in ("var-decl", "function-decl"):
            for entry in unit.findall(kind):
                if entry.get("elf-symbol-id") is None:  # not exported
                    unit.remove(entry)
    if not root.findall("abi-instr/function-decl"):
        raise AbiError(f"{library} has no debug information about its functions")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def compare(recorded: Path, library: Path, *words: str) -> str:
    """What has changed; empty: nothing. abidiff compares two descriptions: it does not see all
    differences between one and a library whose private types it leaves out."""
    with tempfile.TemporaryDirectory() as folder:
        now = Path(folder) / "now.abi"
        now.write_text(describe(library))
        done = run("abidiff", *words, str(recorded), str(now))
    if done.returncode & FAILED:
        raise AbiError(f"abidiff cannot compare {recorded}: {done.stderr or done.stdout}")
    return done.stdout if done.returncode & CHANGED else ""


def last_tag() -> str:
    done = run("git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
    return done.stdout.strip() if done.returncode == 0 else ""


def soname(interface: str) -> str:
    found = re.search(r"\bsoname=['\"]([^'\"]*)", interface)
    return found[1] if found else ""


def compare_tag(tag: str, name: str, library: Path) -> str:
    """Whether the library still has all that the tag's library has."""
    done = run("git", "show", f"{tag}:{(RECORDED / name).relative_to(ROOT)}.abi")
    if done.returncode != 0:
        return f"{name}: {tag} records no interface"
    if soname(done.stdout) != soname(describe(library)):
        return f"{name}: has another file name than in {tag}, so its interface may differ"
    with tempfile.TemporaryDirectory() as folder:
        recorded = Path(folder) / f"{name}.abi"
        recorded.write_text(done.stdout)
        changes = compare(recorded, library, "--no-added-syms")
    if changes:
        raise AbiError(
            f"{library.name} is not what programs need that were linked with {tag}:\n{changes}"
        )
    return f"{name}: has all that {tag} has"


def check(folder: Path, reference: Path) -> None:
    tag = last_tag()
    for name, file in LIBRARIES.items():
        changes = compare(reference / f"{name}.abi", folder / file)
        if changes:
            raise AbiError(
                f"the interface of {file} is not the recorded one:\n{changes}\n"
                "If that is meant: make check-abi ABI_ARGS=--record, and commit packaging/abi."
            )
        print(f"abi: {name}: as recorded")
        print(
            f"abi: {compare_tag(tag, name, folder / file)}"
            if tag
            else "abi: no tag to compare with"
        )


def record(folder: Path) -> None:
    RECORDED.mkdir(exist_ok=True)
    for name, file in LIBRARIES.items():
        (RECORDED / f"{name}.abi").write_text(describe(folder / file))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--libraries", type=Path, required=True, metavar="DIR")
    parser.add_argument("--record", action="store_true", help="record them as they are now")
    parser.add_argument("--reference", type=Path, default=RECORDED, metavar="DIR")
    options = parser.parse_args()
    try:
        if options.record:
            record(options.libraries)
        check(options.libraries, options.reference)
    except (AbiError, OSError, ElementTree.ParseError) as error:
        print(f"abi.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
