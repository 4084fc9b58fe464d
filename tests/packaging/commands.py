# SPDX-License-Identifier: MIT
"""Loads each command of pirn, and all below it: what their modules import is installed."""

import click
from pirn_tools.cli import main


def load(group: click.Group, path: str) -> int:
    context = click.Context(group, info_name=path)
    count = 0
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, f"{path} {name} is listed, but does not exist"
        assert command.get_help(click.Context(command, info_name=f"{path} {name}"))
        count += 1
        if isinstance(command, click.Group):
            count += load(command, f"{path} {name}")
    return count


loaded = load(main, "pirn")
assert loaded > 30, f"pirn has only {loaded} commands"
