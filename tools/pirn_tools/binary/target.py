# SPDX-License-Identifier: MIT
"""What a command starts, and how Pirn gets into it.

The kernel starts the interpreter that a script names in its first line, and that one's if it is a
script, too. `env`, as an interpreter or as the command, becomes the program that it looks up.
So Target has the whole way from the command to the file whose dynamic linker counts.

Entry says what happens there:

    LINKED   the program, or a library of it, names libpirn
    PRELOAD  LD_PRELOAD reaches it
    SYSTEM   nothing can be loaded into it: it runs on the system's threads, and `why` says why
"""

from __future__ import annotations

import enum
import os
import platform
import re
import shlex
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pirn_tools import files
from pirn_tools.binary import linked
from pirn_tools.binary.linked import Binary
from pirn_tools.errors import UserError
from pirn_tools.limits import LimitError
from pirn_tools.terminal import printable

FIRST_LINE = 256  # bytes of it that Linux reads
DEEPEST = 5  # scripts whose interpreters are scripts
CANNOT, MISSING = 126, 127  # exit statuses of a shell
MACHINES = {
    "EM_386": "x86",
    "EM_X86_64": "x86-64",
    "EM_ARM": "ARM",
    "EM_AARCH64": "AArch64",
    "EM_RISCV": "RISC-V",
    "EM_PPC": "PowerPC",
    "EM_PPC64": "PowerPC",
    "EM_S390": "S/390",
    "EM_MIPS": "MIPS",
    "EM_LOONGARCH": "LoongArch",
}
OWN_MACHINE = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64", "riscv64": "EM_RISCV"}
COMPATIBLE = {"EM_X86_64": "EM_386", "EM_AARCH64": "EM_ARM"}  # that the same kernel may run
C_LIBRARIES = (("ld-musl", "musl"), ("uClibc", "uClibc"), ("/linker64", "Android's C library"))


class Entry(enum.Enum):
    """How Pirn gets into a program."""

    LINKED = "linked"
    PRELOAD = "preload"
    SYSTEM = "system"


class Kind(enum.Enum):
    """Why nothing can be loaded into a program."""

    STATIC = "static program"
    RIGHTS = "set-id program"
    BITS = "32-bit program"
    MACHINE = "program for another processor"
    LIBC = "program of another C library"
    CLEARED = "started without its environment"


@dataclass(frozen=True)
class Target:
    """What a command starts."""

    path: Path  # the command's own file
    way: tuple[Path, ...]  # from it to the file that counts: one file, unless it is a script
    entry: Entry
    binary: Binary | None  # of the last file; None: it cannot be read
    kind: Kind | None = None
    why: str = ""  # SYSTEM: "static program"
    shell: bool = False  # a text without a first line that names an interpreter: for /bin/sh

    @property
    def file(self) -> Path:
        """The file whose dynamic linker counts."""
        return self.way[-1]

    @property
    def inherits(self) -> bool:
        """Whether programs that it starts may get Pirn, though it has not: its dynamic linker
        neither complains about LD_PRELOAD nor takes it away."""
        return self.kind is Kind.STATIC


def find(program: str, args: Sequence[str] = ()) -> Target:
    """What the command starts, or an error with a shell's exit status for it."""
    path = linked.find_program(program)
    way, shell, cleared = _follow(path, args)
    return _judge(path, way, shell=shell, cleared=cleared)


def _judge(path: Path, way: tuple[Path, ...], *, shell: bool, cleared: bool) -> Target:
    file = way[-1]
    try:
        binary = linked.read(file)
    except LimitError:
        raise
    except UserError as error:
        if os.access(file, os.R_OK):
            raise
        binary = None  # it may be executed, and not read
        if gains_rights(file) is None and not os.access(file, os.X_OK):
            raise UserError(error.message, status=CANNOT) from None
    kind, why = _obstacle(file, binary)
    if binary is not None:
        _check_runs(file, binary, kind)
    if kind is None and cleared:
        kind, why = Kind.CLEARED, "env -i starts it without LD_PRELOAD"
    entry = Entry.SYSTEM if kind is not None else Entry.PRELOAD
    # Linked with libpirn's archive it is static, and a program that gains rights loads what its
    # file names.
    possible = kind in (None, Kind.STATIC, Kind.RIGHTS, Kind.CLEARED)
    if binary is not None and possible and linked.uses_pirn(binary):
        entry, kind, why = Entry.LINKED, None, ""
    return Target(path, way, entry, binary, kind, why, shell)


def _obstacle(file: Path, binary: Binary | None) -> tuple[Kind | None, str]:
    """Why nothing can be preloaded into that file."""
    if binary is not None:
        own = OWN_MACHINE.get(platform.machine(), "")
        if binary.machine != own:
            if binary.bits == 32 and binary.machine == COMPATIBLE.get(own):
                return Kind.BITS, "32-bit program"
            name = MACHINES.get(binary.machine, printable(binary.machine))
            return Kind.MACHINE, f"{name} program, on {MACHINES.get(own, platform.machine())}"
        if binary.bits == 32:
            return Kind.BITS, "32-bit program"
        if not binary.interpreter and not binary.path.name.startswith("ld-linux"):
            return Kind.STATIC, "static program"
        for part, name in C_LIBRARIES:
            if part in binary.interpreter:
                return Kind.LIBC, f"program of {name}, not of glibc"
    rights = gains_rights(file)
    return (None, "") if rights is None else (Kind.RIGHTS, rights)


def _check_runs(file: Path, binary: Binary, kind: Kind | None) -> None:
    """An error that says more than the kernel's."""
    if kind is Kind.MACHINE:
        if not _registered(_head(file)):
            name = MACHINES.get(binary.machine, printable(binary.machine))
            raise UserError(
                f"{file} is a program for {name}; this is {platform.machine()}, and no emulator "
                "for it is registered with the kernel (package qemu-user-static does that)",
                CANNOT,
            )
    elif binary.interpreter and not Path(binary.interpreter).exists():
        raise UserError(
            f"{file} needs the dynamic linker {binary.interpreter}, which does not exist here: "
            f"the C library that it was built for is not installed",
            CANNOT,
        )


def _registered(head: bytes, folder: Path = Path("/proc/sys/fs/binfmt_misc")) -> bool:
    """Whether an emulator is registered for files that begin so (binfmt_misc)."""
    try:
        return any(_matches(one.read_text(), head) for one in folder.iterdir() if one.is_file())
    except OSError:
        return False


def _matches(entry: str, head: bytes) -> bool:
    """An entry of binfmt_misc: lines "enabled", "magic 7f45...", "mask ff...", "offset 0"."""
    lines = dict(line.partition(" ")[::2] for line in entry.splitlines())
    if "enabled" not in lines or "magic" not in lines:
        return False
    magic, offset = bytes.fromhex(lines["magic"]), int(lines.get("offset", "0"))
    mask = bytes.fromhex(lines["mask"]) if "mask" in lines else b"\xff" * len(magic)
    part = head[offset : offset + len(magic)]
    return len(part) == len(magic) and all(
        (one ^ two) & bits == 0 for one, two, bits in zip(part, magic, mask, strict=False)
    )


def gains_rights(path: Path) -> str | None:
    """Why the dynamic linker would ignore the environment: the file gives its caller rights."""
    found = path.stat()
    if os.statvfs(path).f_flag & os.ST_NOSUID or no_new_rights():
        return None
    if found.st_mode & stat.S_ISUID and found.st_uid != os.getuid():
        return "set-user-ID program"
    group = stat.S_ISGID | stat.S_IXGRP
    if found.st_mode & group == group and found.st_gid != os.getgid():
        return "set-group-ID program"
    if os.getuid() != 0 and has_capabilities(path):
        return "program with file capabilities"
    return None


def has_capabilities(path: Path) -> bool:
    """Whether the file has capabilities(7)."""
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def no_new_rights() -> bool:
    """Whether no program gains rights here (PR_SET_NO_NEW_PRIVS), as in many containers."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return False
    return "\nNoNewPrivs:\t1" in status


# ---- the way to the file that counts ----


def _follow(path: Path, args: Sequence[str]) -> tuple[tuple[Path, ...], bool, bool]:
    """The files; whether /bin/sh has to read the last script; whether env clears LD_PRELOAD."""
    way, words, cleared, scripts = [path], list(args), False, 0
    while True:
        here = way[-1]
        head = _head(here)
        if head.startswith(b"#!"):
            scripts += 1
            if scripts > DEEPEST:
                raise UserError(f"{path}: more than {DEEPEST} scripts interpret each other", CANNOT)
            interpreter, argument = _first_line(here, head)
            words = [*argument, str(here), *words]
            way.append(interpreter)
        elif _is_env(here) and (started := env_starts(words)) is not None:
            cleared |= started.cleared
            found = shutil.which(started.program, path=started.path)
            if found is None:
                name, before = started.program, f"{way[-2]}: " if len(way) > 1 else ""
                raise UserError(f"{before}{name}, which env is to start: no such program", MISSING)
            way.append(Path(found))
            words = list(started.args)
        elif head and not head.startswith(b"\x7fELF") and _is_text(head):
            return (*way, Path("/bin/sh")), True, cleared
        else:
            return tuple(way), False, cleared


def _head(path: Path) -> bytes:
    """The beginning of a file; nothing of one that cannot be read."""
    try:
        fd = files.open_ordinary(path)
    except OSError:
        return b""
    try:
        return os.read(fd, FIRST_LINE)
    finally:
        os.close(fd)


def _is_text(head: bytes) -> bool:
    """As shells decide whether a file that the kernel refuses may be a script."""
    return b"\0" not in head.split(b"\n", 1)[0]


def _first_line(script: Path, head: bytes) -> tuple[Path, list[str]]:
    """The interpreter, and the one argument that Linux gives it."""
    line, newline, _ = head[2:].partition(b"\n")
    if b"\0" in line:
        line = line[: line.index(b"\0")]
    words = re.split(rb"[ \t]+", line.strip(b" \t"), maxsplit=1) if line.strip(b" \t") else []
    if not newline and len(head) == FIRST_LINE and len(words) < 2:
        raise UserError(f"{script}: the first line is longer than {FIRST_LINE} bytes", CANNOT)
    if not words:
        raise UserError(f"{script}: its first line, #!, names no interpreter", CANNOT)
    name = os.fsdecode(words[0])
    path = Path(name)
    shown = printable(name)
    if not path.exists():
        said = " (a line that ends with a carriage return?)" if name.endswith("\r") else ""
        raise UserError(f"{script}: its interpreter {shown} does not exist{said}", CANNOT)
    if path.is_dir() or not os.access(path, os.X_OK):
        raise UserError(f"{script}: its interpreter {shown} is not executable", CANNOT)
    return path, [os.fsdecode(word) for word in words[1:]]


# ---- env ----


@dataclass(frozen=True)
class Started:
    """What env is asked to start."""

    program: str
    args: tuple[str, ...]
    cleared: bool  # without the environment
    path: str | None  # the PATH that env sets; None: ours


ENV_WITH_VALUE = {"-u", "--unset", "-C", "--chdir", "-a", "--argv0"}


def _is_env(path: Path) -> bool:
    """By its name: a program that has all of coreutils or busybox in it goes by it, too."""
    return path.name == "env"


def env_starts(words: Sequence[str]) -> Started | None:
    """What `env WORDS` starts; None if it starts nothing, or an option is not known here."""
    rest, cleared, path = list(words), False, None
    while rest:
        word = rest.pop(0)
        if word in ("-S", "--split-string") and rest:
            rest[:1] = _split(rest[0])
        elif word.startswith("--split-string="):
            rest[:0] = _split(word.split("=", 1)[1])
        elif word.startswith(("-S", "-vS", "-iS")) and not word.startswith("--"):
            cleared |= word.startswith("-i")
            text = word.partition("S")[2]
            rest[:0] = _split(text) if text else _split(rest.pop(0)) if rest else []
        elif word in ("-", "-i", "--ignore-environment"):
            cleared = True
        elif word in ENV_WITH_VALUE:
            cleared |= word in ("-u", "--unset") and rest[:1] == ["LD_PRELOAD"]
            rest = rest[1:]
        elif word in ("-uLD_PRELOAD", "--unset=LD_PRELOAD"):
            cleared = True
        elif word == "--" or (word.startswith("-") and word not in ("-0", "--null")):
            continue
        elif "=" in word:
            name, _, value = word.partition("=")
            cleared = False if name == "LD_PRELOAD" else cleared
            path = value if name == "PATH" else path
        else:
            return Started(word, tuple(rest), cleared, path)
    return None


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an open quotation: env says so itself
        return []
