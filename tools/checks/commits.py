# SPDX-License-Identifier: MIT
"""Messages of the commits since the last tag: subjects of at most 72 characters, and a body for
each commit that changes code. --since REVISION begins elsewhere.

Where there is no tag, it begins after the commit that brought this check. Without git or without
history (an archive, a shallow clone) it says that it skips.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from common import CODE_SUFFIXES, Problem, parse_root, report

SUBJECT = 72
CODE_NAMES = ("CMakeLists.txt", "Makefile")


def git(root: Path, *arguments: str) -> str | None:
    """Its output; None if it fails or is not there."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def beginning(root: Path) -> tuple[str, str]:
    """The last tag, else the commit that added this file; or why there is neither."""
    inside = git(root, "rev-parse", "--show-toplevel")
    if inside is None or Path(inside.strip()).resolve() != root:
        return "", "no git history"
    if (git(root, "rev-parse", "--is-shallow-repository") or "").strip() != "false":
        return "", "a shallow clone"
    tag = git(root, "describe", "--tags", "--abbrev=0")
    if tag:
        return tag.strip(), ""
    added = git(root, "log", "--diff-filter=A", "--format=%H", "--", "tools/checks/commits.py")
    return (added.split()[-1], "") if added and added.split() else ("", "no tag")


def is_code(name: str) -> bool:
    path = Path(name)
    return path.suffix in CODE_SUFFIXES or path.name in CODE_NAMES


def faults(subject: str, body: str, names: list[str]) -> list[str]:
    found = []
    if len(subject) > SUBJECT:
        found.append(f"a subject of {len(subject)} characters; at most {SUBJECT}")
    if not body and any(map(is_code, names)):
        found.append("it changes code and has no body: what was wrong, why this, how checked")
    return found


def check(root: Path, since: str) -> list[Problem]:
    """Merges are left out: their messages are git's."""
    listed = git(root, "log", "--no-merges", "--format=%H", f"{since}..HEAD")
    if listed is None:
        return [Problem(since, 0, "there is no such revision")]
    problems = []
    for commit in listed.split():
        message = git(root, "log", "-1", "--format=%s%n%b", commit) or ""
        names = git(root, "show", "--format=", "--name-only", commit) or ""
        subject, _, body = message.partition("\n")
        for text in faults(subject, body.strip(), names.splitlines()):
            problems.append(Problem(f"commit {commit[:10]} ({subject[:40]})", 1, text))
    return problems


def main() -> int:
    parser = parse_root(__doc__)
    parser.add_argument("--since", help="a tag, commit or branch")
    options = parser.parse_args()
    root = options.root.resolve()
    since, why = (options.since, "") if options.since else beginning(root)
    if not since:
        print(f"check commits: skipped, {why}")
        return 0
    return report("commits", check(root, since))


if __name__ == "__main__":
    sys.exit(main())
