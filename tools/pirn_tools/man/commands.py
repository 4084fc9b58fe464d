# SPDX-License-Identifier: MIT
"""pirn(1), and a page for each verb, made from the commands' help and the library's table."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from pirn_tools.describe import Description
from pirn_tools.man import roff
from pirn_tools.sched import option_line

BOOK = "User Commands"
STATUS = {
    "0": "success",
    "1": "an error of the system or of a file",
    "2": "a wrong option or value",
}
STARTS = {"126": "the program cannot be run", "127": "the program is not found"}


def pages(main: click.Group, description: Description) -> dict[str, str]:
    """File name -> text."""
    context = click.Context(main, info_name="pirn")
    found = {"pirn.1": _front(main, context, description)}
    for name, command, own in _visible(main, context):
        found[f"pirn-{name.replace(' ', '-')}.1"] = _page(name, command, own, description)
    return found


def policies(description: Description) -> list[str]:
    lines: list[str] = []
    for policy in description.policies:
        lines += [".TP", f".B {policy.name}", roff.escape(policy.help)]
        for option in policy.options:
            lines += [".br", roff.escape(option_line(option))]
    return lines


def _visible(
    group: click.Group, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Groups and commands, with the words that call them: "trace", "trace plot"."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        own = click.Context(command, info_name=name, parent=context)
        yield name, command, own
        if isinstance(command, click.Group):
            for sub, leaf, inner in _visible(command, own):
                yield f"{name} {sub}", leaf, inner


def _short(command: click.Command) -> str:
    """One line, for NAME, which begins without a capital and ends without a full stop."""
    text = command.get_short_help_str(limit=200).rstrip(".")
    first = text.split(" ", 1)[0]
    return text if first.isupper() else text[:1].lower() + text[1:]


def _usage(command: click.Command, context: click.Context) -> str:
    return " ".join(command.collect_usage_pieces(context))


def _front(main: click.Group, context: click.Context, description: Description) -> str:
    lines = roff.head("pirn", 1, description.version, BOOK)
    lines += [
        ".SH NAME",
        "pirn \\- run, compare and measure programs on the Pirn threads runtime",
        ".SH SYNOPSIS",
        ".B pirn",
        ".I COMMAND",
        "[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION",
        "Pirn runs POSIX\\-threads programs on user\\-level threads, under a scheduler "
        "policy chosen when the program starts.",
        "Each command has a page of its own, such as",
        ".BR pirn\\-run (1).",
        ".SH COMMANDS",
    ]
    names = []
    for name, command, own in _visible(main, context):
        if isinstance(command, click.Group):
            continue
        names.append(f"pirn-{name.replace(' ', '-')}(1)")
        usage = roff.escape(_usage(command, own))
        lines += [
            ".TP",
            f"\\fBpirn {roff.escape(name)}\\fR {usage}",
            roff.escape(_short(command)) + ".",
        ]
    lines += [
        ".SH INSTALLED",
        "The installed command uses the libraries of its prefix, in the source tree those of "
        "build/release;",
        ".B PIRN_LIBRARY",
        "names another libpirn.so.",
        '.BR "pirn bench" , " pirn demo" , " pirn figures"',
        "and",
        ".B pirn programs",
        "build or measure programs of the source tree, and run only there.",
        ".SH EXIT STATUS",
        "That of the program, for",
        '.BR "pirn run" , " pirn trace record" , " pirn prof record" ;',
        "2 for a wrong option or value, 126 if the program cannot be run, 127 if it is not found, "
        "1 for other errors.",
        *roff.see_also([*names, "pirn(3)", "libpirn-pthread(7)"]),
    ]
    return roff.finished(lines)


def _page(
    name: str, command: click.Command, context: click.Context, description: Description
) -> str:
    title = f"pirn-{name.replace(' ', '-')}"
    lines = roff.head(title, 1, description.version, BOOK)
    lines += [".SH NAME", f"{roff.escape(title)} \\- {roff.escape(_short(command))}"]
    lines += [".SH SYNOPSIS", f".B pirn {roff.escape(name)}", roff.escape(_usage(command, context))]
    lines += [".SH DESCRIPTION", *_description(command)]
    if isinstance(command, click.Group):
        lines += [".SH COMMANDS", *_commands(command, context)]
    own, table = _parameters(command, context)
    if own:
        lines += [".SH OPTIONS", *own]
    if table:
        lines += [
            ".SH RUNTIME OPTIONS",
            "Each is an environment variable of the program, too.",
            *table,
        ]
        lines += [".SH POLICIES", *policies(description)]
        status = STARTS
    else:
        status = STATUS
    if not isinstance(command, click.Group):
        lines += _status(status)
    lines += roff.see_also(_related(name, command, context))
    return roff.finished(lines)


def _description(command: click.Command) -> list[str]:
    text = inspect.cleandoc(command.help or _short(command))
    return roff.paragraphs(text.replace("\b\n", "").splitlines())


def _commands(group: click.Group, context: click.Context) -> list[str]:
    lines: list[str] = []
    for name, command, _ in _visible(group, context):
        lines += [".TP", f".B {roff.escape(name)}", roff.escape(_short(command)) + "."]
    return lines


def _parameters(command: click.Command, context: click.Context) -> tuple[list[str], list[str]]:
    """The command's own options, and the library's, known by their variables."""
    own: list[str] = []
    table: list[str] = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            is_library = (parameter.name or "").startswith("option_")
            (table if is_library else own).extend(
                [".TP", f".B {roff.escape(record[0])}", roff.escape(record[1] or "")]
            )
    return own, table


def _status(known: dict[str, str]) -> list[str]:
    lines = [".SH EXIT STATUS"]
    if known is STARTS:
        lines.append("That of the program, or one of these:")
    for status, what in (STATUS | known if known is STARTS else known).items():
        if known is STARTS and status == "0":
            continue
        lines += [".TP", f".B {status}", f"{what}."]
    return lines


def _related(name: str, command: click.Command, context: click.Context) -> list[str]:
    """The group above, the verbs beside or below, and the library."""
    words = name.split(" ")
    found = ["pirn(1)"]
    if len(words) > 1:
        found.append(f"pirn-{words[0]}(1)")
    if isinstance(command, click.Group):
        found += [f"pirn-{name}-{sub}(1)" for sub, _, _ in _visible(command, context)]
    return [*found, "libpirn-pthread(7)"]
