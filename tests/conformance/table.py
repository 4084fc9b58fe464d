# SPDX-License-Identifier: MIT
"""The table interfaces.txt: reading it, and checking it.

    table.py --expected expected.txt --compiler gcc --library libpirn-pthread.so PROGRAM...

Every function that the system declares in <pthread.h>, <semaphore.h>, <sched.h>, <threads.h>,
<signal.h> and <time.h>, and every one that the library exports, is in the table; every error has a
case, or a reason why not; every pattern of the table and of the list of expected failures matches a
case; every case tests an interface.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import expected

HERE = Path(__file__).parent
TABLE = HERE / "interfaces.txt"
HEADERS = ("pthread.h", "semaphore.h", "sched.h", "threads.h", "signal.h", "time.h")
STANDARDS = ("XSH", "C11", "GNU", "Pirn")
KINDS = ("shall", "may", "recommended")
UNTESTABLE = "untestable:"
INTERNAL = re.compile(r"^__")  # of the implementation: no interface


class TableError(Exception):
    pass


@dataclass
class Error:
    kind: str
    name: str
    cases: list[str]
    reason: str  # why there is no case


@dataclass
class Interface:
    name: str
    header: str
    standard: str  # "" for a group of functions that are not tested one by one
    line: int
    cases: list[str] = field(default_factory=list)
    errors: list[Error] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass
class Table:
    interfaces: list[Interface] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)  # name: why it is not about threads


def read_error(words: list[str], where: str) -> Error:
    if len(words) < 3:
        raise TableError(f"{where}: {' '.join(words)}: no case and no reason")
    if words[2] == UNTESTABLE:
        return Error(words[0], words[1], [], " ".join(words[3:]))
    return Error(words[0], words[1], words[2:], "")


def read_detail(interface: Interface, text: str, where: str) -> None:
    words = text.split()
    if words[0] in KINDS:
        interface.errors.append(read_error(words, where))
    elif words[0] == "note:":
        interface.notes.append(" ".join(words[1:]))
    else:
        interface.cases += words


def read_head(text: str, header: str, number: int, where: str) -> Interface:
    name, _, rest = text.partition("  ")
    if ":" in name:  # a group
        return Interface(text.strip(), header, "", number)
    standard = rest.strip()
    if standard.split(" ")[0] not in STANDARDS:
        raise TableError(f"{where}: {name}: no standard of {', '.join(STANDARDS)}")
    return Interface(name, header, standard, number)


def read(path: Path = TABLE) -> Table:
    table = Table()
    header = ""
    others: list[str] = []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.name}:{number}"
        if not text.strip() or text.startswith("#"):
            continue
        if text.startswith("== "):
            header = text[3:].strip()
        elif text.startswith("other: "):
            others = text.split()[1:]
        elif not text.startswith(" "):
            others = []
            table.interfaces.append(read_head(text, header, number, where))
        elif others:
            table.others |= dict.fromkeys(others, text.strip())
        elif table.interfaces:
            read_detail(table.interfaces[-1], text, where)
    return table


def patterns_of(interface: Interface) -> list[str]:
    return interface.cases + [case for error in interface.errors for case in error.cases]


def matching(patterns: list[str], cases: list[str]) -> list[str]:
    return [case for case in cases if any(fnmatchcase(case, p) for p in patterns)]


def cases_of(programs: list[str]) -> list[str]:
    cases = set()
    for program in programs:
        area = Path(program).name.split("-", 1)[1].rsplit("-", 1)[0]
        text = subprocess.run([program, "--list"], check=True, capture_output=True, text=True)
        cases |= {f"{area}.{name}" for name in text.stdout.split()}
    return sorted(cases)


def declared(compiler: str, header: str) -> set[str]:
    """Functions declared in the header itself, not in headers that it includes."""
    command = [compiler, "-D_GNU_SOURCE", "-std=gnu11", "-x", "c", "-E", "-"]
    source = f"#include <{header}>\n"
    text = subprocess.run(command, input=source, check=True, capture_output=True, text=True).stdout
    own = []
    inside = False
    for line in text.splitlines():
        if line.startswith("# "):
            inside = line.split('"')[1].endswith("/" + header)
        elif inside:
            own.append(line)
    found = set()
    for declaration in " ".join(own).split(";"):
        match = re.search(r"\bextern\b[^(]*?\b([a-z_]\w*)\s*\(", declaration)
        if match and not INTERNAL.match(match[1]):
            found.add(match[1])
    return found


def check_headers(table: Table, compiler: str) -> list[str]:
    known = {interface.name for interface in table.interfaces} | set(table.others)
    problems = []
    for header in HEADERS:
        names = declared(compiler, header)
        if len(names) < 10:
            problems.append(f"<{header}>: only {len(names)} functions found: {sorted(names)}")
        problems += [f"<{header}>: {name} is not in the table" for name in sorted(names - known)]
    return problems


def exported(library: str) -> set[str]:
    """The names for programs, without the native API and the names that only headers use."""
    command = ["nm", "-D", "--defined-only", "--format=posix", library]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    fields = [line.split() for line in text.splitlines()]
    names = {words[0].split("@")[0] for words in fields if words[1] != "A"}  # A: versions
    return {name for name in names if not name.startswith(("_", "pirn_"))}


def check_library(table: Table, library: str) -> list[str]:
    known = {interface.name for interface in table.interfaces} | set(table.others)
    # open64 and the like: names of the same functions for large files
    found = exported(library)
    names = {name for name in found if re.sub("64(?:v(2))?$", r"\1", name) not in known}
    problems = [] if len(found) >= 100 else [f"{library}: exports only {sorted(found)}"]
    return problems + [f"{library}: {name} is not in the table" for name in sorted(names)]


def check_cases(table: Table, cases: list[str]) -> list[str]:
    problems = []
    used: set[str] = set()
    for interface in table.interfaces:
        where = f"{TABLE.name}:{interface.line}: {interface.name}"
        if not interface.cases:
            problems.append(f"{where}: no case")
        for pattern in patterns_of(interface):
            found = matching([pattern], cases)
            used |= set(found)
            if not found:
                problems.append(f"{where}: no case matches {pattern}")
        problems += [
            f"{where}: {error.name}: no reason"
            for error in interface.errors
            if not error.cases and not error.reason
        ]
    return problems + [f"{case} tests no interface" for case in cases if case not in used]


def check_expected(path: str, cases: list[str]) -> list[str]:
    return [
        f"expected.txt:{entry.line}: no case matches {entry.case}"
        for entry in expected.read(path)
        if not matching([entry.case], cases)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", nargs="+")
    parser.add_argument("--expected", required=True)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--library", required=True)
    args = parser.parse_args()
    table = read()
    cases = cases_of(args.program)
    problems = check_headers(table, args.compiler) + check_cases(table, cases)
    problems += check_library(table, args.library) + check_expected(args.expected, cases)
    print("\n".join(problems))
    errors = [error for interface in table.interfaces for error in interface.errors]
    tested = sum(1 for error in errors if error.cases)
    print(
        f"{len(table.interfaces)} interfaces, {len(cases)} cases, {tested} of {len(errors)} errors"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
