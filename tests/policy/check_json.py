# SPDX-License-Identifier: MIT
"""Checks Pirn's description of external policies, as programs read it.

usage: check_json.py REGISTER UNIT [EMULATOR...]

The description of REGISTER's policies is JSON, with their texts as they were registered; the
counters of UNIT, run under "owned" and under "relay", have those policies' own among them.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

EXPECTED = {
    "name": "odd",
    "help": 'says "so"\nand \\ so',
    "options": [
        {"name": "file", "values": "path", "default": "", "help": 'a "path"'},
        {"name": "how", "values": ["a\\b", "c"], "default": "c", "help": ""},
    ],
}


def run(command: list[str], **environment: str) -> str:
    return subprocess.run(
        command, env={**os.environ, **environment}, check=True, capture_output=True, text=True
    ).stdout


def counters(command: list[str], sched: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counters.json"
        run(command, PIRN_SCHED=sched, PIRN_CPUS="2", PIRN_STATS=f"json:{path}")
        return json.loads(path.read_text())


def main() -> None:
    register, unit, *emulator = sys.argv[1:]
    described = json.loads(run([*emulator, register, "describe"]).splitlines()[-1])
    names = [policy["name"] for policy in described["policies"]]
    built_in = ["steal", "single", "central", "dist", "request", "gate", "groups", "fair"]
    assert names[:8] == built_in, names
    assert len(names) == 16, names
    assert EXPECTED in described["policies"], described["policies"]
    test = [*emulator, unit, "--suite", "core", "--repeat", "5"]
    owned = counters(test, "owned")
    assert owned["sched"] == "owned", owned
    assert owned["own"].keys() == {"received", "living"}, owned
    assert owned["own"]["received"] > 0, owned
    assert owned["own"]["living"] >= 1, owned  # main, and threads that nobody joins
    relay = counters(test, "relay")
    assert relay["own"].keys() == {"taken"}, relay
    assert "own" not in counters(test, "home")
    print("described and counted")


if __name__ == "__main__":
    main()
