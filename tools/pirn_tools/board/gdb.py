# SPDX-License-Identifier: MIT
"""`pirn board run --gdb`: the port at which QEMU waits for gdb, and the command that starts gdb."""

from __future__ import annotations

import errno
import os
import shlex
import socket

import click

from pirn_tools import paths
from pirn_tools.errors import UserError

HOST = "127.0.0.1"


def port(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """The option's number; 0: any."""
    if value is None:
        return None
    if not value.isascii() or not value.isdigit() or int(value) > 65535:
        text = f"'{value}' is no port: 1 to 65535, or nothing for a free one"
        raise click.BadParameter(text, ctx, param)
    return int(value)


def free(number: int) -> int:
    """The port, or an error if another program has it; 0: one that is free."""
    if number != 0:
        problem = _taken(number)
        if problem:
            raise UserError(
                f"--gdb {number}: {os.strerror(problem).lower()}; without a number it takes a port "
                "that is free",
                status=2,
            )
        return number
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


def _taken(number: int) -> int:
    """The error's number; 0: it is free. Asked for as by QEMU, which takes one just used."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((HOST, number))
            one.listen()
        except OSError as error:
            return error.errno or errno.EADDRINUSE
    return 0


def command(program: str, number: int) -> str:
    """With the commands for Pirn's threads, where they are installed."""
    script = paths.debugger()
    words = ["gdb-multiarch", program]
    words += ["-ex", f"source {script}"] if script is not None else []
    return shlex.join([*words, "-ex", f"target remote {HOST}:{number}"])
