# SPDX-License-Identifier: MIT
"""Which folder may include which: posix -> sync -> core -> {policy.h, port.h, trace.h}.

Includes point one way, downwards. A policy (src/sched) includes its own headers and core's. A port
includes port.h, its own folder and the leaf headers. Nothing includes posix, and only atomic.h
(with its twin in the simulator) includes <stdatomic.h>. C files name headers without a folder, so
a name is looked up as the compiler would: in the includer's folder, then in all of them.

A file can use names of a header that it includes indirectly: NAMES lists those that some folders
must not use all the same. layers.py checks the symbols that objects need of each other.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from common import C_SUFFIXES, Problem, main, read_lines, under

CHECKED = ("src", "port", "include")
INCLUDE = re.compile(r'^\s*#\s*(?:include|include_next|import)\s*([<"])([^>"]+)[>"]')

# Leaf headers are about the language (attributes, atomics, build options, assertions, lists), not
# about threads. check.h is one so that ports, too, state their conventions as assertions.
LEAVES = {
    "src/core/check.h",
    "src/core/compiler.h",
    "src/core/config.h",
    "src/core/atomic.h",
    "src/core/list.h",
}
SEAMS = {
    "src/sched/policy.h": "policy.h",
    "port/port.h": "port.h",
    "port/env/frames.h": "frames.h",  # what environments share
    "port/libc/glibc/glibc.h": "glibc.h",  # what is known of glibc's inside; Linux's port asks it
    "port/env/linux/linux.h": "linux.h",
    "src/trace/trace.h": "trace.h",
    "src/prof/prof.h": "prof.h",
}
# Which kinds of headers (see kind_of) a folder may include besides its own and the leaves.
ALLOWED = {
    "include": {"include"},
    "core": {"include", "policy.h", "port.h", "trace.h", "prof.h"},
    "sched": {"include", "policy.h", "core", "trace.h"},
    "sync": {"include", "core", "port.h", "trace.h"},
    "native": {"include", "core", "sync", "port.h", "trace.h", "prof.h"},  # pirn.h, beside posix
    "posix": {"include", "core", "sync", "port.h", "trace.h"},
    "mpi": {"include"},  # libpirn-mpi: a user of the native API
    "trace": {"include", "core", "port.h", "trace.h"},
    "prof": {"include", "core", "port.h", "trace.h"},
    "libc": {"include", "core", "sync", "port.h"},  # what a C library asks of a runtime
    "port.h": {
        "port.h",
        "port",
        "bare",
    },  # port.h draws in the architecture's and the environment's half
    "policy.h": {"include", "core"},
    "trace.h": {"core"},
    "prof.h": {"core"},
    "frames.h": {"port.h"},
    "glibc.h": {"linux.h"},
    "linux.h": {"port.h"},
    "port": {"port.h", "frames.h", "prof.h", "glibc.h", "linux.h"},
    # Boards: environment, architecture's half and board know each other's contracts.
    "bare": {"include", "port.h", "frames.h", "prof.h", "bare"},
    # The simulator is a port and, beyond that, the oracle: it looks into the scheduler it runs.
    "sim": {"port.h", "policy.h", "core", "sync", "trace.h", "prof.h"},
}
BARE = re.compile(r"port/(env/bare|arch/[^/]+/bare|board)/")
STDATOMIC = ("src/core/atomic.h", "port/env/sim/atomic")
# The atomics' own twin: the simulator's build takes this header instead of <stdatomic.h>.
EXCEPTIONS = {
    ("src/core/atomic.h", "port/env/sim/atomic_sim.h"),
    ("src/sched/place.c", "port/port_files.h"),  # it reads measured loads from a file
    ("src/sched/cache.c", "port/port_cache.h"),  # the default of its option
}


@dataclass(frozen=True)
class Name:
    """A name that files below `folders`, except `files`, must not use."""

    pattern: re.Pattern[str]
    folders: tuple[str, ...]
    text: str
    files: dict[str, str]  # path: why


NAMES = (
    Name(
        re.compile(r"\brt\.policy\b"),
        ("src/sync", "src/native", "src/posix", "src/libc", "src/trace", "src/prof", "port"),
        "rt.policy is core's and sched's: ask core (rt_has_work, rt_is_pinned, rt_policy_name)",
        {
            "port/env/sim/sim_oracle.c": "the oracle looks into the scheduler",
            "port/env/sim/sim.c": "what a run begins and ends it gives back",
        },
    ),
    Name(
        re.compile(r"\brt\.policy\.(?:enqueue|pick|search|remove|preempt)\("),
        ("src/core",),
        "the simulator must hear of each thread that goes to the policy or comes back: policy_*()",
        {"src/core/handed.h": "tells it", "src/core/wake.h": "tells it of what it enqueues"},
    ),
    Name(
        re.compile(r"\bport_(?!cpu_self\b)\w+\("),
        ("src/sched",),
        "sched asks core, not the port",
        {
            "src/sched/classes.c": "the table of queues (port_table_alloc)",
            "src/sched/request.c": "mailboxes (port_table_alloc)",
            "src/sched/place.c": "the file of measured loads, and its table",
            "src/sched/steal_search.c": "the time of a search (port_now)",
            "src/sched/steal_capacity.c": "the same",
            "src/sched/affinity.c": "the same, and how long a CPU was idle",
            "src/sched/affinity_place.c": "the time of a push (port_now)",
            "src/sched/gate_edf.c": "which threads are late (port_now)",
            "src/sched/fair.c": "the time that a sample takes (port_now)",
            "src/sched/classq.c": "the time that a thread has used before a yield (port_now)",
            "src/sched/cache.c": "the size of the cache (port_cache_size)",
        },
    ),
)
COMMENT = re.compile(r"/\*.*?(?:\*/|$)|//.*|^ \*.*")


def kind_of(path: str) -> str:
    """The seam or folder that a file belongs to, as the table above names it."""
    if path in SEAMS:
        return SEAMS[path]
    if path.startswith("port/env/sim/"):
        return "sim"
    if BARE.match(path):
        return "bare"
    if re.fullmatch(r"port/port_\w+\.h", path):
        return "port.h"
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def home_of(path: str) -> str:
    """The folder whose files may include each other: ports are separate from each other."""
    parts = path.split("/")
    return "/".join(parts[:3]) if parts[0] == "port" else "/".join(parts[:2])


def find_header(includer: str, name: str, headers: list[str]) -> list[str]:
    """Where the name may lead: the includer's own folder first, else every folder."""
    beside = os.path.normpath(Path(includer).parent / name)
    if beside in headers:
        return [beside]
    name = name.replace("../", "")
    return [header for header in headers if header == name or header.endswith("/" + name)]


def allowed(includer: str, header: str) -> bool:
    if header in LEAVES or (includer, header) in EXCEPTIONS:
        return True
    if home_of(includer) == home_of(header) and "posix" not in (kind_of(includer), kind_of(header)):
        return True
    if kind_of(header) == "posix":
        return kind_of(includer) == "posix"
    return kind_of(header) in ALLOWED.get(kind_of(includer), set())


def check(root: Path, files: list[Path]) -> list[Problem]:
    sources = [path for path in files if under(path, *CHECKED) and path.suffix in C_SUFFIXES]
    headers = [str(path) for path in sources if path.suffix in (".h", ".hpp", ".def")]
    problems: list[Problem] = []
    for path in sources:
        for number, line in enumerate(read_lines(root / path), start=1):
            match = INCLUDE.match(line)
            if match is None:
                continue
            text = _problem(str(path), match[1] == "<", match[2], headers)
            if text is not None:
                problems.append(Problem(str(path), number, text))
        problems += _named(path, read_lines(root / path))
    return problems


def _named(path: Path, lines: list[str]) -> list[Problem]:
    rules = [n for n in NAMES if under(path, *n.folders) and str(path) not in n.files]
    return [
        Problem(str(path), number, rule.text)
        for rule in rules
        for number, line in enumerate(lines, start=1)
        if rule.pattern.search(COMMENT.sub("", line))
    ]


def _problem(includer: str, system: bool, name: str, headers: list[str]) -> str | None:
    if name in ("stdatomic.h", "atomic"):
        if includer.startswith(STDATOMIC) or under(Path(includer), "include"):
            return None
        return f"only {STDATOMIC[0]} includes <{name}>; use its at_ functions"
    found = find_header(includer, name, headers)
    if system and not name.startswith("pirn/"):
        return None
    wrong = [header for header in found if not allowed(includer, header)]
    # A name that several ports have is a seam; it is wrong only if every meaning is.
    if not found or len(wrong) < len(found):
        return None
    return f"{kind_of(includer)} may not include {wrong[0]} ({kind_of(wrong[0])})"


if __name__ == "__main__":
    main("includes", check, __doc__)
