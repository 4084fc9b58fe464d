# SPDX-License-Identifier: MIT
"""A description as the library gives it, for tests of what is made from it."""

from __future__ import annotations

import json

import pytest

from pirn_tools.describe import Description, parse

RAW = {
    "version": "1.2.3",
    "options": [
        {
            "name": "sched",
            "env": "PIRN_SCHED",
            "type": "spec",
            "default": "steal",
            "values": "ORG[:OPT=VALUE,...]",
            "help": "the scheduler policy",
        },
        {"name": "cpus", "env": "PIRN_CPUS", "type": "int", "default": 2, "values": "1.."},
        {
            "name": "stats",
            "env": "PIRN_STATS",
            "type": "output",
            "values": "off, text, or json:FILE",
        },
        {"name": "detour", "env": "PIRN_DETOUR", "type": "flag", "values": "0 or 1"},
        {"name": "new-one", "env": "PIRN_NEW_ONE", "type": "int", "help": "unknown to the tools"},
    ],
    "policies": [
        {"name": "single", "help": "one queue", "options": []},
        {
            "name": "dist",
            "help": "pinned",
            "options": [{"name": "place", "values": "FILE", "help": "from a measured run"}],
        },
        {
            "name": "steal",
            "help": "stealing",
            "options": [
                {"name": "victim", "values": ["max", "random", "neighbour"], "default": "random"}
            ],
        },
    ],
}


@pytest.fixture
def description() -> Description:
    return parse(json.dumps(RAW))
