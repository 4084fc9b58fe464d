# SPDX-License-Identifier: MIT
"""The programs of apps/world that run in guests, which say so there.

`python -m pirn_tools.guest.programs` lists their packages, for tools/setup-guest.
"""

from __future__ import annotations

from collections.abc import Sequence

from pirn_tools import paths
from pirn_tools.errors import UserError, did_you_mean, listing
from pirn_tools.world import plan
from pirn_tools.world.plan import Program


def load() -> list[Program]:
    return [one for one in plan.load(paths.project() / "apps/world") if one.guest]


def choose(programs: Sequence[Program], wanted: Sequence[str]) -> list[Program]:
    """Those of these names; all if there are none."""
    names = [one.name for one in programs]
    for word in wanted:
        if word not in names:
            raise UserError(
                f'no program "{word}" in the guest{did_you_mean(word, names)} '
                f"(valid: {listing(names)})",
                status=2,
            )
    return [one for one in programs if not wanted or one.name in wanted]


def packages(programs: Sequence[Program]) -> list[str]:
    return list(dict.fromkeys(name for one in programs for name in one.packages))


if __name__ == "__main__":
    print("\n".join(packages(load())))
