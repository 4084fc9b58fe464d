# SPDX-License-Identifier: MIT
"""Early check of a scheduler spec such as steal:victim=max,amount=half.

The library checks it too and has the last word; this gives the sentence before the program starts,
with a suggestion. Values of options without a fixed set (a file, a number) are left to the library.
"""

from __future__ import annotations

from pirn_tools.describe import Description, Organization
from pirn_tools.errors import UserError, did_you_mean, listing


def check_spec(description: Description, spec: str, *, others: bool = False) -> None:
    """Raises a UserError with status 2 when organization, option or value is unknown.

    others: the program may register organizations of its own; unknown ones are left to the library.
    """
    name, _, rest = spec.partition(":")
    organization = description.organization(name)
    if organization is None:
        if others:
            return
        names = [org.name for org in description.organizations]
        raise UserError(
            f'--sched: no organization "{name}"{did_you_mean(name, names)}'
            f" (valid: {listing(names)})",
            status=2,
        )
    for setting in filter(None, rest.split(",")):
        _check_setting(organization, setting)


def _check_setting(organization: Organization, setting: str) -> None:
    name, equals, value = setting.partition("=")
    names = [option.name for option in organization.options]
    option = next((option for option in organization.options if option.name == name), None)
    if option is None:
        raise UserError(
            f'--sched: organization "{organization.name}" has no option "{name}"'
            f"{did_you_mean(name, names)} (valid: {listing(names)})",
            status=2,
        )
    if not equals or not value:
        raise UserError(
            f'--sched: option "{name}" of "{organization.name}" needs a value: {name}=...',
            status=2,
        )
    if option.values and value not in option.values:
        raise UserError(
            f'--sched: {name}="{value}" is no value of "{organization.name}"'
            f"{did_you_mean(value, option.values)} (valid: {listing(option.values)})",
            status=2,
        )
