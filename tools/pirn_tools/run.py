# SPDX-License-Identifier: MIT
"""`pirn run`: a program under chosen runtime options. launch.py does the work."""

from __future__ import annotations

from typing import Any

from pirn_tools import launch

EPILOG = (
    "Each option stands for the environment variable in brackets. Without an option the variable "
    "counts, without both the default. `pirn sched list` lists the policies."
)


@launch.command(epilog=EPILOG, short_help="Run a program under chosen scheduler options.")
@launch.program
def run(**given: Any) -> None:  # noqa: ANN401
    """Run PROGRAM with its ARGS on the Pirn runtime; the exit status is the program's.

    PROGRAM need not be linked with Pirn: the library is then preloaded, of a script into its
    interpreter. Into static, set-user-ID, set-group-ID and 32-bit programs nothing can be loaded:
    they run on the system's threads, and a line on standard error says so.

    A -- before PROGRAM is allowed: pirn run --sched steal --cpus 2 -- program --its-option
    """
    launch.prepare(needed=False, **given).replace_us()
