# SPDX-License-Identifier: MIT
"""Input for programs of biology: genome.fa, and reads.fq with pieces of it that have faults.

genome.py FOLDER
"""

import random
import sys
from pathlib import Path

LETTERS = "ACGT"
LENGTH = 300_000
READS = 12_000
READ = 100


def main() -> None:
    folder = Path(sys.argv[1])
    rng = random.Random(1)
    genome = "".join(rng.choices(LETTERS, k=LENGTH))
    lines = [genome[at : at + 60] for at in range(0, LENGTH, 60)]
    (folder / "genome.fa").write_text(">chr1\n" + "\n".join(lines) + "\n")
    with (folder / "reads.fq").open("w") as file:
        for number in range(READS):
            at = rng.randrange(LENGTH - READ)
            read = list(genome[at : at + READ])
            for _ in range(rng.randrange(4)):
                read[rng.randrange(READ)] = rng.choice(LETTERS)
            file.write(f"@r{number}\n{''.join(read)}\n+\n{'I' * READ}\n")


main()
