# SPDX-License-Identifier: MIT
"""`pirn affinity`: producers of kernel threads, for the scheduler of kernel/, by pirn-kernel."""

from __future__ import annotations

import os
import shutil
import subprocess

import click

from pirn_tools import paths
from pirn_tools.errors import UserError
from pirn_tools.group import Group

VARIABLE = "PIRN_KERNEL"


@click.group(cls=Group)
def affinity() -> None:
    """Task affinity of ordinary threads, under Pirn's scheduler for Linux.

    Tells the scheduler that pirn-kernel has loaded which threads wait for what others make, so that
    they run where that is in a cache. These commands call pirn-kernel: that of the tree (make
    kernel), else the installed one; PIRN_KERNEL names another one. Threads are given by number or
    by name.

    For threads of Pirn's runtime there is pirn run --affinity.
    """


@affinity.command("add", short_help="Declare that a thread waits for what another one makes.")
@click.argument("consumer")
@click.argument("producer")
def add(consumer: str, producer: str) -> None:
    """Declare that thread CONSUMER waits for what thread PRODUCER makes.

    Needs root. It ends with either thread.
    """
    call("add", consumer, producer)


@affinity.command("del", short_help="Delete a declared dependency.")
@click.argument("consumer")
@click.argument("producer")
def delete(consumer: str, producer: str) -> None:
    """Declare that thread CONSUMER no longer waits for what thread PRODUCER makes. Needs root."""
    call("delete", consumer, producer)


@affinity.command("list")
def list_all() -> None:
    """List the declared dependencies: consumer < producers. Needs root."""
    call("list")


def find() -> str:
    """The pirn-kernel that is used."""
    named = os.environ.get(VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise UserError(f"{VARIABLE}={named}: there is no such program")
        return named
    root = paths.find_project()
    built = root / "build" / "kernel" / "bin" / "pirn-kernel" if root is not None else None
    if built is not None and os.access(built, os.X_OK):
        return str(built)
    program = shutil.which("pirn-kernel")
    if program is None:
        raise UserError(
            "pirn-kernel is neither built nor installed: run make kernel in Pirn's source tree "
            "(it needs clang-19, and the scheduler Linux 6.13 or newer with sched_ext)"
        )
    return program


def call(*words: str) -> None:
    """Its messages and its status become those of this command."""
    try:
        status = subprocess.run([find(), *words], check=False).returncode
    except OSError as error:
        raise UserError(f"cannot run {error.filename}: {error.strerror}", status=126) from None
    raise SystemExit(status if status >= 0 else 128 - status)
