# SPDX-License-Identifier: MIT
"""Time and memory of each verb of `pirn prof` on a large profile of a large program.

    python measure_prof.py [--nodes N] [--files N] [--keep FOLDER]

The program is made here: its files have 500 functions each (40 files: some 20 MB with debug
information). Fails if a verb takes more than 10 s of CPU time, or 1 GiB.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from measure_trace import MEBIBYTES, SECONDS, measure
from profiles import Writer

FUNCTIONS = 500


def build_program(folder: Path, files: int) -> Path:
    """Many functions, with debug information."""
    objects = []
    for number in range(files):
        source = folder / f"part{number}.c"
        source.write_text(
            "".join(
                f"int f{number}_{one}(int *a, int n)\n{{\n"
                + "".join(
                    f"    struct {{ int x{k}, y{k}; }} s{k} = {{n, a[{k}]}};\n"
                    f"    a[n & {k}] += s{k}.x{k} * s{k}.y{k};\n"
                    for k in range(6)
                )
                + "    return a[0];\n}\n\n"
                for one in range(FUNCTIONS)
            )
        )
        objects.append(folder / f"part{number}.o")
        subprocess.run(["gcc", "-g", "-c", source, "-o", objects[-1]], check=True)
    main = folder / "main.c"
    main.write_text("int main(void) { return 0; }\n")
    program = folder / "large"
    subprocess.run(["gcc", "-no-pie", "-g", main, *objects, "-o", program], check=True)
    return program


def build_profile(program: Path, path: Path, nodes: int) -> None:
    chance = random.Random(1)
    w = Writer(program)
    names = [name for name in w.address if name.startswith("f") and w.size[name]]
    known = [w.root("main", "main")]
    known += [w.root("user", names[0], 2 + one) for one in range(50)]
    while len(known) < nodes:
        parent = chance.choice(known[-2000:])
        caller = chance.choice(names)
        site = w.address[caller] + chance.randrange(1, w.size[caller])
        node = w.call(parent, chance.choice(names), site, chance.randrange(1, 10**6))
        known.append(node)
    for _ in range(nodes // 2):
        name = chance.choice(names)
        pc = w.address[name] + chance.randrange(w.size[name])
        w.sample(chance.choice(known), pc, chance.randrange(1, 100), chance.randrange(4))
    w.save(path)


def verbs(file: Path, folder: Path) -> list[list[str]]:
    name = str(file)
    return [
        ["tree", name],
        ["tree", name, "--json"],
        ["flat", name],
        ["path", name],
        ["graph", name, "-o", str(folder / "g.dot"), "--min", "0.5"],
        ["annotate", name],
        ["flame", name, "-o", str(folder / "f.svg")],
        ["gprof", name, "-o", str(folder / "gmon.out")],
        ["pprof", name, "-o", str(folder / "p.pb.gz")],
        ["stat", name, "--blocks"],
        ["diff", name, name],
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=60_000)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--keep", type=Path, help="a folder for what is made here")
    options = parser.parse_args()
    worst = 0
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(exist_ok=True)
        program = folder / "large"
        if not program.exists():
            build_program(folder, options.files)
        print(f"program: {program.stat().st_size / 1e6:.1f} MB, {options.nodes:,} nodes")
        file = folder / "p.prof"
        build_profile(program, file, options.nodes)
        for arguments in verbs(file, folder):
            wall, cpu, memory = measure(["prof", *arguments])
            worst |= cpu > SECONDS or memory > MEBIBYTES
            what = " ".join([arguments[0], *(word for word in arguments[2:] if "/" not in word)])
            print(f"{what:<28} {wall:6.1f} s {cpu:6.1f} s CPU {memory:7.0f} MiB")
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
