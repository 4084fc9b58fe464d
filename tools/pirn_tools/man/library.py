# SPDX-License-Identifier: MIT
"""libpirn-pthread(7): the library as a program meets it."""

from __future__ import annotations

from pirn_tools.describe import Description
from pirn_tools.man import roff
from pirn_tools.man.commands import policies

INTRODUCTION = """\
libpirn-pthread provides the functions of <pthread.h>, <threads.h> and <semaphore.h> on user-level
threads. Many of them run on few kernel threads, the workers; a switch between two does not enter
the kernel. The library also provides the functions of the C library that block (`read`, `accept`,
`poll`, `nanosleep` and others), so that a thread that waits in one does not stop the others.

A program links with it before the C library, or is started with it preloaded, which
`pirn run` does. The runtime starts with the first thread that is created, or at the first
call that needs it.
"""
NEEDS = """\
Each thread has its own thread-local storage and signals, and threads are preempted, on x86-64 with
the version of glibc that the library was built for. With another C library a message says so at the
start; threads then share the storage of their worker. On AArch64 and RISC-V 64 they always do.

A call that blocks inside the C library, such as `fgets`, keeps its worker for about 20 ms until
another kernel thread takes over.
"""
ENVIRONMENT = """\
Each variable is also an option of `pirn run`. An unknown variable that begins with PIRN_, or a
value that is not valid, ends the program with a message. Programs with more rights than their
caller (set-user-ID, file capabilities) ignore all of them.
"""
LINKING = ["cc program.c $(pkg-config --cflags --libs pirn-pthread)"]


def page(description: Description) -> str:
    lines = roff.head("libpirn-pthread", 7, description.version, "Pirn Library")
    lines += [".SH NAME", "libpirn\\-pthread \\- POSIX threads on user\\-level threads"]
    lines += [".SH SYNOPSIS", ".nf", *(f".B {roff.escape(line)}" for line in LINKING), ".fi"]
    lines += [".SH DESCRIPTION", *roff.paragraphs(INTRODUCTION.splitlines())]
    lines += [".SH PLATFORMS", *roff.paragraphs(NEEDS.splitlines())]
    lines += [".SH ENVIRONMENT", *roff.paragraphs(ENVIRONMENT.splitlines())]
    for option in description.options:
        values = f" ({option.values})" if option.values else ""
        default = option.default_pthread or option.default or "none"
        text = f"{option.help}{values}; default {default}"
        lines += [".TP", f".B {option.env}", roff.escape(text)]
    lines += [".SH POLICIES", *policies(description)]
    lines += roff.see_also(["pirn(1)", "pirn(3)", "pirn_policy(3)", "pthreads(7)"])
    return roff.finished(lines)
