# SPDX-License-Identifier: MIT
"""pirn-kernel on a kernel without sched_ext, and for a user without privileges.

usage: refused.py PIRN-KERNEL

Each command ends with its status and one sentence that names the cause, and writes nothing else.
Status 77: this kernel has sched_ext; the guest's checks (guest/checks.sh) are for those.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
SCHED_EXT = Path("/sys/kernel/sched_ext")
NOBODY = 65534
NO_CLASS = (
    "this kernel has no sched_ext: it needs Linux 6.13 or newer with CONFIG_SCHED_CLASS_EXT=y"
)
NO_PRIVILEGES = "no privileges: schedulers are loaded and changed by root (CAP_SYS_ADMIN)"
# Those that look at the kernel first, and those that look at the user first.
ABOUT_THE_KERNEL = (["load"], ["load", "--rule=old", "--infer=on"], ["unload"], ["status"])
ABOUT_THE_USER = (["counters"], ["events"], ["add", "1", "2"], ["delete", "1", "2"], ["list"])


def check(tool: str, words: list[str], message: str, user: int | None = None) -> list[str]:
    done = subprocess.run(
        [tool, *words], capture_output=True, text=True, check=False, user=user, group=user
    )
    wanted = f"pirn-kernel {words[0]}: {message}"
    one_line = done.stderr.startswith(wanted) and done.stderr.count("\n") == 1
    if done.returncode == 1 and one_line and done.stdout == "":
        return []
    said = f"{done.stdout}{done.stderr}".strip()
    who = "" if user is None else f" as user {user}"
    return [f'{" ".join(words)}{who}: status {done.returncode}, "{said}", not "{wanted}"']


def faults(tool: str) -> list[str]:
    found = []
    for words in ABOUT_THE_KERNEL:
        found += check(tool, words, NO_CLASS)
    found += check(tool, ["run", "true"], "policy SCHED_EXT: this kernel has no sched_ext")
    if os.geteuid() != 0:
        for words in ABOUT_THE_USER:
            found += check(tool, words, NO_PRIVILEGES)
        print("not tried: as root")
        return found
    for words in ABOUT_THE_USER:
        found += check(tool, words, NO_CLASS)
        found += check(tool, words, NO_PRIVILEGES, user=NOBODY)
    for words in ABOUT_THE_KERNEL:
        found += check(tool, words, NO_CLASS, user=NOBODY)
    return found


def main() -> None:
    if SCHED_EXT.exists():
        print(f"skipped: this kernel has {SCHED_EXT}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # another user may not read the build
        tool = shutil.copy(sys.argv[1], folder)
        found = faults(tool)
    print("\n".join(found) or "done")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
