# SPDX-License-Identifier: MIT
"""A group of commands, as the command line has several."""

from __future__ import annotations

import click

from pirn_tools.errors import did_you_mean


class Group(click.Group):
    """A group whose unknown commands come with a suggestion."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            names = [word for word in self.list_commands(ctx) if not self.commands[word].hidden]
            ctx.fail(f'no command "{name}"{did_you_mean(name, names)} (valid: {", ".join(names)})')
        return super().resolve_command(ctx, args)
