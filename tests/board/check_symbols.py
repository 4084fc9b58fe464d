# SPDX-License-Identifier: MIT
"""check_symbols.py NM IMAGE SYMBOL... fails if the image defines one of these symbols.

That it looks at what it should: the image must define main.
"""

import subprocess
import sys


def main() -> int:
    nm, image, *unwanted = sys.argv[1:]
    listing = subprocess.run(
        [nm, "--defined-only", image], check=True, capture_output=True, text=True
    ).stdout
    defined = {line.split()[-1] for line in listing.splitlines()}
    if "main" not in defined:
        print(f"{image} does not define main: is that a program?")
        return 2
    found = sorted(defined.intersection(unwanted))
    if found:
        print(f"{image} defines {', '.join(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
