# SPDX-License-Identifier: MIT
"""Checks the symbols that objects of one layer need of another.

includes.py sees the names of headers only: a function that core declares and sync defines passes
it.

usage: layers.py [--root DIR] [--nm NM] BUILD...

BUILD is the folder of a build, whose objects of src/ and port/ are read. A symbol is a leak if the
layer that needs it may need none of the layers that define it (ALLOWED, after the table of
includes.py). A port needs only upcalls: functions and variables that a header of UPCALLS declares.
The only way up from core is a table: a constant structure that a header of core declares
(`extern const struct rt_x rt_x;`) and a layer above defines. Layers that may need core may need its
tables. A leak has no exceptions.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from common import Problem, parse_root, read_lines, report
from includes import kind_of

# The layers whose symbols a layer may need, besides its own. Inline functions of core's headers
# need symbols of the port and of the trace, so objects of sched do; calls of the port in
# the text of sched are a matter of includes.py (NAMES).
ALLOWED = {
    "core": {"sched", "trace", "prof", "port"},  # sched: what policy.h declares
    "sched": {"core", "trace", "port"},
    "sync": {"core", "trace", "port"},
    "trace": {"core", "port"},
    "prof": {"core", "trace", "port"},  # waits are recorded by the trace's hooks
    "libc": {"core", "sync", "port"},
    "native": {"core", "sched", "sync", "trace", "prof", "port"},
    "posix": {"core", "sync", "trace", "port"},
    "port": set(),  # and upcalls
    "sim": {"core", "sched", "sync", "trace", "prof", "port"},  # the oracle looks into all
    "cxx": {"native"},  # libpirn-cxx.a: a user of the native API
    "mpi": {"native"},  # libpirn-mpi: likewise
}
PLACES = (("port/env/sim/", "sim"), ("port/board/cxx/", "cxx"), ("port/", "port"))
# Headers whose functions and variables ports may need; check.h: ports state assertions, too.
UPCALLS = ("port/*.h", "port/env/*.h", "src/prof/prof.h", "src/core/check.h")

# Functions of the C library that ports call, by layer. A layer above has one of its own under the
# same name, so these symbols belong to no layer.
LIBC = {
    "port": {
        "atexit",
        "clock_gettime",
        "fclose",
        "pthread_attr_destroy",
        "pthread_attr_init",
        "pthread_attr_setstack",
        "syscall",
    },
    "sim": {"fclose", "fork", "syscall"},
    "cxx": {"write", "abort"},
    "mpi": {"pthread_mutex_unlock", "sched_getaffinity", "sysconf"},
}


@dataclass
class Object:
    source: str
    defined: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)

    @property
    def layer(self) -> str:
        for prefix, layer in PLACES:
            if self.source.startswith(prefix):
                return layer
        return kind_of(self.source)


def compiled(root: Path, build: Path) -> Iterator[tuple[str, Path]]:
    """Sources of src/ and port/, and their objects that there are, from compile_commands.json."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        path = Path(entry["directory"]) / words[words.index("-o") + 1]
        source = os.path.relpath(entry["file"], root)
        # The template is a program of its own, without the POSIX layer.
        ours = source.startswith(("src/", "port/")) and not source.startswith("port/template/")
        if ours and path.exists():
            yield source, path


def parse(listing: str, objects: dict[str, Object]) -> None:
    """Of `nm -A --format=posix --extern-only`: PATH: NAME LETTER, and an address if defined."""
    for line in listing.splitlines():
        path, _, symbol = line.rpartition(": ")
        words = symbol.split()
        if len(words) > 1 and len(words[1]) == 1:
            obj = objects[path]
            (obj.needed if words[1] in "Uwv" else obj.defined).add(words[0])


def read_objects(root: Path, build: Path, nm: str) -> list[Object]:
    """By one command for all: a process for each object takes a minute."""
    objects = {str(path): Object(source) for source, path in compiled(root, build)}
    command = [nm, "-A", "--format=posix", "--extern-only", *objects]
    if objects:
        parse(subprocess.run(command, check=True, capture_output=True, text=True).stdout, objects)
    return list(objects.values())


def upcalls(root: Path) -> set[str]:
    """Functions and variables that the port's headers declare."""
    names: set[str] = set()
    for pattern in UPCALLS:
        for header in root.glob(pattern):
            code = re.sub(r"/\*.*?\*/", " ", "\n".join(read_lines(header)), flags=re.DOTALL)
            names.update(re.findall(r"\b([a-z]\w+)\s*[(;\[]", code))
    return names


def tables(root: Path) -> set[str]:
    """Constant tables that core declares and a layer above defines."""
    names: set[str] = set()
    for header in root.glob("src/core/*.h"):
        text = "\n".join(read_lines(header))
        names.update(re.findall(r"^HIDDEN extern const struct (rt_\w+) \1;$", text, re.MULTILINE))
    return names


@dataclass
class Declared:
    """Symbols that a layer may need although a layer above it defines them."""

    upcalls: set[str] = field(default_factory=set)  # by ports
    tables: set[str] = field(default_factory=set)  # by layers that may need core

    def allows(self, layer: str, symbol: str) -> bool:
        if symbol in LIBC.get(layer, ()):
            return True
        if layer == "port":
            return symbol in self.upcalls
        return symbol in self.tables and (layer == "core" or "core" in ALLOWED[layer])


def leaks(objects: list[Object], declared: Declared) -> Iterator[tuple[Object, str, set[str]]]:
    """Of every leak: the object that needs a symbol, the symbol, the layers that define it."""
    layers_of: dict[str, set[str]] = defaultdict(set)
    for obj in objects:
        for symbol in obj.defined:
            layers_of[symbol].add(obj.layer)
    for obj in objects:
        allowed = ALLOWED[obj.layer] | {obj.layer}
        allowed |= {"sim"} if "port" in allowed else set()
        for symbol in obj.needed - obj.defined:
            layers = layers_of[symbol]
            if layers and not layers & allowed and not declared.allows(obj.layer, symbol):
                yield obj, symbol, layers


def check(objects: list[Object], declared: Declared) -> list[Problem]:
    return sorted(
        {
            Problem(
                obj.source,
                1,
                f"{obj.layer} may not need {symbol} ({', '.join(sorted(layers))})",
            )
            for obj, symbol, layers in leaks(objects, declared)
        }
    )


def main() -> int:
    parser = parse_root(__doc__)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("builds", nargs="+", type=Path)
    options = parser.parse_args()
    root = options.root.resolve()
    objects = [o for build in options.builds for o in read_objects(root, build, options.nm)]
    if not objects:
        parser.error("no objects of src/ or port/ in the folders of builds")
    return report("layers", check(objects, Declared(upcalls(root), tables(root))))


if __name__ == "__main__":
    sys.exit(main())
