# SPDX-License-Identifier: MIT
"""The manual page pirn.1, made from the commands' help and the library's table."""

from __future__ import annotations

import os
import time

import click

from pirn_tools.describe import Description, Policy, load
from pirn_tools.sched import option_line


def page(main: click.Group) -> str:
    """The whole page in man(7) macros."""
    description = load()
    context = click.Context(main, info_name="pirn")
    lines = [
        '.\\" SPDX-License-Identifier: MIT',
        f'.TH PIRN 1 "{_date()}" "pirn {description.version}" "User Commands"',
        ".SH NAME",
        "pirn \\- run, compare and measure programs on the Pirn threads runtime",
        ".SH SYNOPSIS",
        *_synopsis(main, context),
        ".SH DESCRIPTION",
        "Pirn runs POSIX\\-threads programs on user\\-level threads, under a scheduler "
        "policy chosen when the program starts.",
        ".SH COMMANDS",
        *_commands(main, context),
        ".SH RUNTIME OPTIONS",
        "Options of",
        '.BR "pirn run" ,',
        "each with the environment variable that does the same without this command.",
        *_runtime_options(description),
        ".SH POLICIES",
        *_policies(description),
        ".SH EXIT STATUS",
        "That of the program, for",
        '.BR "pirn run" ;',
        "2 for a wrong option or value, 126 if the program cannot be run, 127 if it is not found, "
        "1 for other errors.",
    ]
    return "\n".join(lines) + "\n"


def _date() -> str:
    # Reproducible builds set the variable; otherwise the day of the build.
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def _visible(main: click.Group, context: click.Context) -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        if command is None or command.hidden:
            continue
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=context)
            found += [(f"{name} {sub}", leaf) for sub, leaf in _visible(command, inner)]
        else:
            found.append((name, command))
    return found


def _synopsis(main: click.Group, context: click.Context) -> list[str]:
    lines: list[str] = []
    for name, command in _visible(main, context):
        pieces = command.collect_usage_pieces(click.Context(command, info_name=name))
        lines += [f".B pirn {name}", _roff(" ".join(pieces)), ".br"]
    return lines


def _commands(main: click.Group, context: click.Context) -> list[str]:
    lines: list[str] = []
    for name, command in _visible(main, context):
        own = click.Context(command, info_name=name, parent=context)
        lines += [".TP", f".B {_roff(name)}", _roff(" ".join((command.help or "").split()))]
        # The table's options have their own section; here only the command's fixed ones.
        for parameter in command.params:
            record = parameter.get_help_record(own)
            if record is not None and record[1]:
                lines += [".br", f"\\fB{_roff(record[0])}\\fR: {_roff(record[1])}"]
    return lines


def _runtime_options(description: Description) -> list[str]:
    lines: list[str] = []
    for option in description.options:
        name, value = _roff("--" + option.name), _roff(option.metavar)
        lines += [".TP", f'.BR {name} " {value}"', _roff(option.detail)]
    return lines


def _policies(description: Description) -> list[str]:
    lines: list[str] = []
    for org in description.policies:
        lines += [".TP", f".B {_roff(org.name)}", _roff(org.help), *_org_options(org)]
    return lines


def _org_options(org: Policy) -> list[str]:
    return [line for option in org.options for line in (".br", _roff(option_line(option)))]
