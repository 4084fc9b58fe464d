# SPDX-License-Identifier: MIT
"""Finds the table of a process that says where the runtime's data are (binary/layout.py)."""

from __future__ import annotations

from pirn_tools.binary import layout
from pirn_tools.binary.layout import Layout, LayoutError
from pirn_tools.binary.memory import UnreadableError
from pirn_tools.errors import UserError, listing
from pirn_tools.live.objects import Object, Objects
from pirn_tools.live.process import Process

MOST_PROBLEMS = 3  # said at once


def find(process: Process, objects: Objects) -> tuple[Layout, Object]:
    """The table, and the library or program that it is in."""
    for candidate in objects.likely():
        at = candidate.symbol(layout.SYMBOL)
        if at is not None:
            return _read(process, candidate, at), candidate
    if not process.lives():
        raise UserError(f"process {process.pid} has ended, and waits for its parent")
    raise _foreign(process.pid, objects.allowance.problems)


def _read(process: Process, library: Object, at: int) -> Layout:
    try:
        return layout.read(process, at, f"process {process.pid}", library.file.name)
    except UnreadableError:
        raise UserError(f"process {process.pid}: the library's table cannot be read yet") from None
    except LayoutError as error:
        raise UserError(str(error)) from None


def _foreign(pid: int, problems: list[str]) -> UserError:
    unread = f"; not read: {listing(problems[:MOST_PROBLEMS])}" if problems else ""
    return UserError(
        f"process {pid} has no Pirn runtime: it is not linked with libpirn or libpirn-pthread "
        f"(nor preloaded), or its libraries are not loaded yet{unread}"
    )
