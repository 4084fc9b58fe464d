# SPDX-License-Identifier: MIT
"""A program, or a script and its interpreter, with the libraries that it names: read, never run.

Libraries are found as the dynamic linker would (linked.py). Those that a program opens later
(dlopen) are not seen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from pirn_tools import launch
from pirn_tools.binary import linked, target
from pirn_tools.binary.elf import File, Files
from pirn_tools.binary.target import Entry, Kind, Target
from pirn_tools.doctor.findings import Finding, State
from pirn_tools.doctor.runtime import Runtime
from pirn_tools.errors import UserError, listing

SECTION = "Program"
# Of glibc itself: what they need of each other is their own matter.
GLIBC = re.compile(
    r"(libc|libm|libpthread|libdl|librt|libresolv|libutil|libanl|libnsl|libthread_db"
    r"|ld-linux[-\w]*)\.so\.\d+"
)
THREADS = re.compile(r"(pthread_|sem_|mtx_|cnd_|thrd_|tss_|call_once$)")
# In glibc and not in ours: it works as it is (fork handlers), or nobody has it any more.
HARMLESS = {"pthread_atfork", "__pthread_atfork", "pthread_kill_other_threads_np"}
ALLOCATORS = {
    "jemalloc": ("mallctl", "je_mallctl"),
    "tcmalloc": ("tc_malloc", "MallocExtension_ReleaseFreeMemory"),
    "mimalloc": ("mi_malloc",),
    "tbbmalloc": ("scalable_malloc",),
}
OPENMP = {"libgomp": "gcc's", "libomp": "LLVM's", "libiomp5": "Intel's"}
SANITIZERS = {
    "libasan": "AddressSanitizer",
    "libtsan": "ThreadSanitizer",
    "liblsan": "LeakSanitizer",
    "__asan_init": "AddressSanitizer",
    "__tsan_init": "ThreadSanitizer",
    "__lsan_init": "LeakSanitizer",
}
WHAT_TO_DO = {
    Kind.STATIC: "Link it dynamically, or with libpirn's archive.",
    Kind.RIGHTS: "Run a copy without the rights, or link it with Pirn.",
    Kind.BITS: "Use a build for 64 bits.",
    Kind.MACHINE: "Use a build for this processor.",
    Kind.LIBC: "Use a build for glibc.",
    Kind.CLEARED: "Set LD_PRELOAD in env's own words, or leave -i out.",
}


@dataclass(frozen=True)
class Read:
    """The files of a program."""

    found: Target
    files: tuple[File, ...]  # the program's first, then its libraries, but those of glibc
    names: tuple[str, ...]  # of all libraries
    missing: tuple[str, ...]  # that would not be found

    def symbols(self) -> set[str]:
        """All names that any of the files defines or needs."""
        return {
            name for one in self.files for name in one.table.undefined | one.table.defined.keys()
        }


def read(found: Target) -> Read:
    """Opens them."""
    files, names, missing = [], [], []
    if found.binary is not None:
        known: Files = found.binary.files
        files.append(known.get(str(found.binary.path.absolute())))
        for name, library in linked.loaded(found.binary):
            names.append(name)
            if library is None and not name.startswith("libpirn"):
                missing.append(name)
            elif library is not None and not GLIBC.fullmatch(library.path.name):
                files.append(known.get(str(library.path.absolute())))
    return Read(found, tuple(files), tuple(sorted(names)), tuple(sorted(missing)))


def findings(program: str, args: Sequence[str], runtime: Runtime) -> list[Finding]:
    """A row for each thing that matters for this program."""
    try:
        found = target.find(program, args)
        files = read(found)
    except UserError as error:
        if error.exit_code == target.MISSING:
            raise
        advice = "Nothing of Pirn's changes that."
        return [Finding(SECTION, "start", State.MISSING, error.message, "", advice)]
    rows = [_file(found), _entry(found)]
    if found.binary is None:
        return rows
    rows += [*_missing(files), *_version(files, runtime), *_pthread(files)]
    symbols = files.symbols()
    rows += [*_openmp(files), *_allocator(files, symbols), *_sanitizer(files, symbols)]
    return [*rows, *_go(files), *_split_stacks(symbols)]


def _file(found: Target) -> Finding:
    """The way from the command to the file that counts."""
    value = " → ".join(str(one) for one in found.way)
    if found.shell:
        value += " (a text without #!, as shells run it)"
    return Finding(SECTION, "file", State.OK, value)


def _entry(found: Target) -> Finding:
    name = "how"
    if found.entry is Entry.LINKED:
        return Finding(SECTION, name, State.OK, "linked with Pirn: it runs on Pirn by itself")
    if found.entry is Entry.PRELOAD:
        value = "not linked with Pirn: pirn run preloads libpirn-pthread"
        if found.binary is None:
            value += " (it cannot be read, so nothing else is known)"
        return Finding(SECTION, name, State.OK, value)
    which = "it runs" if found.inherits else "it and the programs that it starts run"
    why = f"Nothing can be loaded into it: {which} on the system's threads."
    advice = WHAT_TO_DO[found.kind] if found.kind is not None else ""
    return Finding(SECTION, name, State.MISSING, found.why, why, advice)


def _missing(files: Read) -> list[Finding]:
    if not files.missing:
        count = len(files.names)
        return [Finding(SECTION, "libraries", State.OK, f"{count}, all found")] if count else []
    value = f"not found: {listing(files.missing)}"
    why = "The dynamic linker would not start it."
    advice = "Install them, or name their folder in LD_LIBRARY_PATH."
    return [Finding(SECTION, "libraries", State.MISSING, value, why, advice)]


def needed_glibc(elf: ELFFile) -> tuple[int, ...]:
    """The newest version of glibc that the file asks for: (2, 34)."""
    newest: tuple[int, ...] = ()
    for section in elf.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for _, versions in cast("Any", section.iter_versions()):
                for one in versions:
                    match = re.fullmatch(r"GLIBC_(\d+(?:\.\d+)*)", one.name)
                    if match:
                        newest = max(newest, tuple(int(part) for part in match[1].split(".")))
    return newest


def _version(files: Read, runtime: Runtime) -> list[Finding]:
    own = files.found.binary
    if own is None or not own.interpreter or files.found.kind in (Kind.LIBC, Kind.MACHINE):
        return []
    asked = [(one.part("versions", needed_glibc) or (), one.name) for one in files.files]
    newest, name = max(asked, default=((), ""))
    _, text = runtime.feature("libc")
    present = tuple(int(part) for part in re.findall(r"\d+", text)[:2])
    if not newest or not present:
        return []
    wanted = ".".join(map(str, newest))
    if newest <= present:
        value = f"{name} asks for {wanted} or newer; {text} is here"
        return [Finding(SECTION, "glibc", State.OK, value)]
    why = "The dynamic linker would refuse it."
    advice = "Run it in a container of a newer distribution."
    value = f"{name} needs glibc {wanted}; {text} is here"
    return [Finding(SECTION, "glibc", State.MISSING, value, why, advice)]


def _exports(path: Path | None) -> set[str]:
    if path is None:
        return set()
    return {name for name in File(str(path)).table.defined if THREADS.match(name)}


def _pthread(files: Read) -> list[Finding]:
    """Functions of threads that it calls, beside those of the library."""
    if (
        files.found.entry is Entry.SYSTEM
        or not files.found.binary
        or not files.found.binary.dynamic
    ):
        return []
    try:
        ours = _exports(launch.preload_library())
    except UserError:
        return []
    wanted = {name for one in files.files for name in one.table.undefined if THREADS.match(name)}
    glibc = _exports(linked.locate("libc.so.6", ())) | _exports(
        linked.locate("libpthread.so.0", ())
    )
    lacking = sorted((wanted & glibc) - ours - HARMLESS)
    if lacking:
        why = "Calls of these reach the C library, which does not know Pirn's threads."
        advice = "Report the program."
        value = f"not provided by Pirn: {listing(lacking)}"
        return [Finding(SECTION, "thread calls", State.LIMITED, value, why, advice)]
    count = len(wanted & ours)
    text = f"{count} functions of pthreads, all provided by Pirn" if count else "none by itself"
    return [Finding(SECTION, "thread calls", State.OK, text)]


def _named(names: Iterable[str], stem: str) -> bool:
    return any(re.match(rf"{re.escape(stem)}(?:[-_.]|$)", name) for name in names)


def _openmp(files: Read) -> list[Finding]:
    found = [f"{whose} ({stem})" for stem, whose in OPENMP.items() if _named(files.names, stem)]
    if not found:
        return []
    value = f"{listing(found)}; pirn run sets OMP_WAIT_POLICY=passive unless you say otherwise"
    return [Finding(SECTION, "OpenMP", State.OK, value)]


def _allocator(files: Read, symbols: set[str]) -> list[Finding]:
    found = [
        name
        for name, marks in ALLOCATORS.items()
        if symbols.intersection(marks) or _named(files.names, f"lib{name}")
    ]
    text = f"{listing(found)}: tested with Pirn"
    return [Finding(SECTION, "allocator", State.OK, text)] if found else []


def _sanitizer(files: Read, symbols: set[str]) -> list[Finding]:
    found = {
        name
        for mark, name in SANITIZERS.items()
        if mark in symbols or (mark.startswith("lib") and _named(files.names, mark))
    }
    if not found or files.found.entry is Entry.SYSTEM:
        return []
    value = listing(sorted(found))
    library = next(
        (name for name in files.names if name.startswith(("libasan", "libtsan", "liblsan"))), ""
    )
    if files.found.entry is Entry.PRELOAD and library:
        why = "The sanitizer's library must come before ours."
        advice = f"LD_PRELOAD={library}:libpirn-pthread.so.0 without pirn run, or link with Pirn."
        return [Finding(SECTION, "sanitizer", State.LIMITED, value, why, advice)]
    why = "Creating a thread waits in the kernel; see the guide's page on debugging."
    return [Finding(SECTION, "sanitizer", State.LIMITED, value, why, "Expect it to be slower.")]


def _is_go(elf: ELFFile) -> bool:
    names = {section.name for section in elf.iter_sections()}
    return bool(names & {".go.buildinfo", ".note.go.buildid", ".gopclntab"})


def _go(files: Read) -> list[Finding]:
    if not any(one.part("sections", _is_go) for one in files.files):
        return []
    if files.found.entry is Entry.SYSTEM:
        return [Finding(SECTION, "Go", State.OK, "goroutines are Go's own threads, as before")]
    why = "Threads of Go run as before; threads of C that call Go have a kernel thread each."
    advice = "Nothing: it works, and gains little."
    return [Finding(SECTION, "Go", State.LIMITED, "Go with C in it (cgo)", why, advice)]


def _split_stacks(symbols: set[str]) -> list[Finding]:
    if "__morestack" not in symbols:
        return []
    why = "Its functions look for their stack's end where Pirn's threads do not keep it."
    advice = "Compile without -fsplit-stack."
    return [Finding(SECTION, "split stacks", State.LIMITED, "-fsplit-stack", why, advice)]


def preloads() -> list[Finding]:
    """What the environment preloads already."""
    named = [one for one in re.split("[: ]+", os.environ.get("LD_PRELOAD", "")) if one]
    if not named:
        return []
    lost = [one for one in named if "/" in one and not Path(one).exists()]
    if lost:
        why = "The dynamic linker prints an error for each program."
        return [
            Finding(
                "Machine",
                "LD_PRELOAD",
                State.LIMITED,
                f"no such file: {listing(lost)}",
                why,
                "Correct LD_PRELOAD.",
            )
        ]
    text = f"{listing(named)}; pirn run keeps them, behind its own"
    return [Finding("Machine", "LD_PRELOAD", State.OK, text)]
