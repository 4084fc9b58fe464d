# SPDX-License-Identifier: MIT
"""docs/guide/options.md, made from the library's table as `pirn run --help` and pirn(1) are."""

from __future__ import annotations

from pathlib import Path

from pirn_tools.describe import Description, Option, OrgOption, Policy, load

PAGE = Path("docs/guide/options.md")
HEAD = """<!-- SPDX-License-Identifier: MIT -->
<!-- Written by `make options-doc` from the library's table of options. -->
# Options

Each option is an environment variable of the program and an option of `pirn run`. An unknown option
or a wrong value ends a program that is linked with Pirn. The message names it, lists what is valid,
and suggests the nearest valid word. In a preloaded program and its children this is only a warning,
once in each process, and the default is used.
Programs with more rights than their caller (set-user-ID, file capabilities) ignore all options:
[security](security.md).

Numbers may end with `K`, `M` or `G`.
"""
POLICIES = """
## Policies and their options

`PIRN_SCHED=POLICY:OPTION=VALUE,OPTION=VALUE` chooses a policy and sets its options; so does
`pirn run --sched`. `pirn sched list` prints them.
"""


def page(description: Description | None = None) -> str:
    table = description or load()
    lines = [
        HEAD,
        "| variable | `pirn run` | values | default | |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += map(_option, table.options)
    lines += [POLICIES, *_policies(table.policies)]
    return "\n".join(lines).rstrip() + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _option(option: Option) -> str:
    default = f"`{option.default or 'none'}`"
    if option.default_pthread:
        default += f"; pthread API: {option.default_pthread}"
    values = option.values or option.type
    cells = (f"`{option.env}`", f"`--{option.name}`", values, default, option.help)
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _policies(policies: tuple[Policy, ...]) -> list[str]:
    """First the options that all have, or all but two; then each policy with its own."""
    most = len(policies) - 2
    shared = [o for o in policies[0].options if sum(o in p.options for p in policies) >= most]
    lacking = [p.name for p in policies if any(o not in p.options for o in shared)]
    except_for = " except " * bool(lacking) + " and ".join(f"`{name}`" for name in lacking)
    lines = [f"Every policy{except_for} has these options.", "", *_policy_options(shared)]
    for policy in policies:
        lines += [f"### {policy.name}", "", f"{policy.help[:1].upper()}{policy.help[1:]}.", ""]
        own = [one for one in policy.options if one not in shared]
        lines += _policy_options(own) if own else []
    return lines


def _policy_options(options: list[OrgOption]) -> list[str]:
    head = ["| option | values | default | |", "| --- | --- | --- | --- |"]
    return [*head, *map(_policy_option, options), ""]


def _policy_option(option: OrgOption) -> str:
    free = "name of a file" if option.free in ("", "file") else option.free
    values = ", ".join(f"`{value}`" for value in option.values) or free
    default = f"`{option.default}`" if option.default else "none"
    cells = (f"`{option.name}`", values, default, option.help)
    return "| " + " | ".join(map(_cell, cells)) + " |"
