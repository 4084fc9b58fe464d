# SPDX-License-Identifier: MIT
"""A profile of a board with the callers above its samples: every caller, in order.

usage: check_frames.py PIRN BOARD CORES PROGRAM FOLDER ARCHITECTURE

Time is counted in instructions, so that samples do not depend on how busy this computer is. Where
the architecture's frames are no chain, the option is refused.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

WITHOUT_CHAIN = ("mips", "cortex-m")
REFUSED = (
    'option profframes="1": functions\' frames are no chain on this architecture; valid here: 0'
)
CHAINS = (("spins",), ("counts",), ("nothing",), ("counts", "nothing"))
ABOVE = ("works", "outer", "inner")


def run(*command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )


def check(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(what)


def samples(tree: str) -> Counter[tuple[str, ...]]:
    """By the chain from the start routine to where the samples are."""
    chains: dict[int, tuple[str, ...]] = {}
    found: Counter[tuple[str, ...]] = Counter()
    for node in json.loads(tree)["nodes"]:
        above = chains.get(node["parent"], ())
        begins = node["name"] == ABOVE[0] or above != ()
        chains[node["id"]] = (*above, node["name"]) if begins else ()
        found[chains[node["id"]]] += node["own"]
    return found


def main() -> None:
    pirn, board, cores, program, folder, architecture = sys.argv[1:]
    file = Path(folder, "frames.prof")
    done = run(
        pirn, "board", "run", "--icount", "--cpus", cores, board, program,
        PIRN_PROF=str(file), PIRN_PROFRATE="1000", PIRN_PROFFRAMES="1", PIRN_PREEMPT="1",
    )  # fmt: skip
    said = f"status {done.returncode}\n{done.stdout}{done.stderr}"
    if architecture in WITHOUT_CHAIN:
        check(done.returncode == 2 and REFUSED in said, said)
        return
    check(done.returncode == 0 and done.stdout == "done\n", said)
    tree = run(pirn, "prof", "tree", "--json", str(file))
    check(tree.returncode == 0, tree.stderr)
    found = samples(tree.stdout)
    # In the first and last instructions of a function its caller is another one's.
    expected = sum(found[(*ABOVE, *chain)] for chain in CHAINS)
    total = sum(found.values())
    check(total >= 20 and expected >= 0.8 * total, f"{expected} of {total} samples: {found}")
    for chain in CHAINS[:2]:
        check(found[(*ABOVE, *chain)] > 0, f"no sample at {chain}: {found}")


if __name__ == "__main__":
    main()
