# SPDX-License-Identifier: MIT
"""check_text.py PROGRAM: its strings of JSON against Python's json and UTF-8 decoder.

A byte that is part of no UTF-8 character is U+FFFD; everything else is unchanged.
"""

import json
import re
import subprocess
import sys

STRINGS = 1 + 256 + 65536 + 40000


def expected(raw: bytes) -> str:
    return re.sub("[\udc80-\udcff]", "\ufffd", raw.decode("utf-8", "surrogateescape"))


def main() -> None:
    done = subprocess.run(sys.argv[1:], capture_output=True, check=False)
    lines = done.stdout.decode().rstrip("\n").split("\n") if done.returncode == 0 else []
    if len(lines) != STRINGS:
        sys.exit(f"{len(lines)} strings, not {STRINGS}; {done.stdout[-300:]!r}")
    for line in lines:
        raw, text = line.split("\t")
        if json.loads(text) != expected(bytes.fromhex(raw)):
            sys.exit(f"bytes {raw}: {text}")
    print("done")


main()
