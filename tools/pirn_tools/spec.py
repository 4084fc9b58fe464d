# SPDX-License-Identifier: MIT
"""Early check of a scheduler spec such as steal:victim=max,amount=half.

The library checks it too and has the last word; this gives the sentence before the program starts,
with a suggestion. Values of options without a fixed set (a file, a number) are left to the library.
"""

from __future__ import annotations

from pirn_tools.describe import Description, Policy
from pirn_tools.errors import UserError, did_you_mean, listing


def check_spec(description: Description, spec: str, *, others: bool = False) -> None:
    """Raises a UserError with status 2 when policy, option or value is unknown.

    others: the program may register policies of its own; unknown ones are left to the library.
    """
    name, _, rest = spec.partition(":")
    policy = description.policy(name)
    if policy is None:
        if others:
            return
        names = [org.name for org in description.policies]
        raise UserError(
            f'--sched: no policy "{name}"{did_you_mean(name, names)} (valid: {listing(names)})',
            status=2,
        )
    for setting in filter(None, rest.split(",")):
        _check_setting(policy, setting)


def _check_setting(policy: Policy, setting: str) -> None:
    name, equals, value = setting.partition("=")
    names = [option.name for option in policy.options]
    option = next((option for option in policy.options if option.name == name), None)
    if option is None:
        raise UserError(
            f'--sched: policy "{policy.name}" has no option "{name}"'
            f"{did_you_mean(name, names)} (valid: {listing(names)})",
            status=2,
        )
    if not equals or not value:
        raise UserError(
            f'--sched: option "{name}" of "{policy.name}" needs a value: {name}=...',
            status=2,
        )
    if option.values and value not in option.values:
        raise UserError(
            f'--sched: {name}="{value}" is no value of "{policy.name}"'
            f"{did_you_mean(value, option.values)} (valid: {listing(option.values)})",
            status=2,
        )
