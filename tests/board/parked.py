# SPDX-License-Identifier: MIT
"""A board with a core that must stay parked: riscv64-virt, whose hart 0 is no CPU. Programs built
for it run on the other cores.

usage: parked.py --build FOLDER PROGRAM [MODE...]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "port" / "board" / "riscv64-virt" / "board.toml"
NAME = "parked-virt"
CPUS = 2


def call(*command: object, **variables: str) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{words}: status {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("program")
    parser.add_argument("mode", nargs="+")
    options = parser.parse_args()
    folder, build = options.build / "boards", options.build / "build"
    text = re.sub(r"(?m)^(tested = .*)$", r"\1\nparked = [0]", MODEL.read_text())
    file = folder / NAME / "board.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
    variables = {"PIRN_BOARD": NAME, "PIRN_BOARDS": str(folder)}
    call("cmake", "--preset", "board", "-B", build, **variables)
    call("cmake", "--build", build, "--parallel", 2, "--target", options.program, **variables)
    image = build / "tests" / "board" / f"{options.program}.elf"
    run = (ROOT / ".venv" / "bin" / "pirn", "board", "run", "--timeout", 240, "--cpus", CPUS)
    for mode in options.mode:
        said = call(*run, "--env", "PIRN_PREEMPT=1", NAME, image, mode, **variables)
        expected = f"{CPUS} cores\n" if mode == "cores" else "done\n"
        if not said.endswith(expected):
            sys.exit(f"{mode}: {expected!r} expected, but it says\n{said}")


if __name__ == "__main__":
    main()
