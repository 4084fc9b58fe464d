# SPDX-License-Identifier: MIT
"""`pirn doctor`: what this machine, and a program on it, will get of Pirn.

    findings.py   what is found: states, and how they are shown
    runtime.py    what the library itself says, in a process into which it is preloaded
    system.py     the machine, its limits, containers, what the tools may do
    program.py    a program or script, and its libraries, read without running them
    cli.py        the command

What the runtime does is asked of the library (pirn_features), not concluded from versions.
"""
