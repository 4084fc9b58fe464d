# SPDX-License-Identifier: MIT
"""`pirn sched list`: the scheduler policies, as the library describes them."""

from __future__ import annotations

import json

import click
from rich.table import Table

from pirn_tools import terminal
from pirn_tools.describe import Description, OrgOption, load


@click.group()
def sched() -> None:
    """About the scheduler policies."""


@sched.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def list_policies(as_json: bool) -> None:
    """List the policies, one line each, with their options."""
    description = load()
    if as_json:
        click.echo(json.dumps(description.raw["policies"], indent=2))
        return
    console = terminal.console()
    console.print(policy_table(description))
    console.print(
        f"default: {default_spec(description)}"
        "   choose: pirn run --sched NAME:OPTION=VALUE,... or PIRN_SCHED",
        highlight=False,
    )


def default_spec(description: Description) -> str:
    """What PIRN_SCHED is when nobody sets it."""
    return next((opt.default for opt in description.options if opt.name == "sched"), "")


def policy_table(description: Description) -> Table:
    table = Table(show_header=True, header_style="bold")
    table.add_column("policy", no_wrap=True)
    table.add_column("what it is")
    table.add_column("options (default first)")
    for org in description.policies:
        table.add_row(org.name, org.help, "\n".join(map(option_line, org.options)) or "-")
    return table


def option_line(option: OrgOption) -> str:
    """victim=neighbour|max|random, the default first."""
    first = [option.default] if option.default in option.values else []
    others = [value for value in option.values if value not in first]
    values = "|".join(first + others) or option.free or option.name.upper()
    line = f"{option.name}={values}"
    return f"{line}  {option.help}" if option.help else line
