# SPDX-License-Identifier: MIT
"""A group of commands, as the command line has several."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import ClassVar

import click

from pirn_tools.errors import did_you_mean


class Group(click.Group):
    """A group whose unknown commands come with a suggestion."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            names = [word for word in self.list_commands(ctx) if not self._is_hidden(ctx, word)]
            ctx.fail(f'no command "{name}"{did_you_mean(name, names)} (valid: {", ".join(names)})')
        return super().resolve_command(ctx, args)

    def _is_hidden(self, ctx: click.Context, name: str) -> bool:
        command = self.get_command(ctx, name)
        return command is None or command.hidden


class LazyGroup(Group):
    """A group that loads a command when it is asked for."""

    lazy: ClassVar[Mapping[str, str]] = {}  # name: "module:attribute"

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self.lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.lazy and cmd_name not in self.commands:
            module, attribute = self.lazy[cmd_name].split(":")
            self.add_command(getattr(importlib.import_module(module), attribute), cmd_name)
        return super().get_command(ctx, cmd_name)
