# SPDX-License-Identifier: MIT
"""Whose environment a copy of `obeys` obeys.

usage: check_secure.py OBEYS KIND

KIND is what the copy is: `plain` (each option does what it says, which shows that the other kinds
are tested with options that work), `setuid`, `setgid`, `capability`: run by another user, none of
the library's options may create, change or print anything, or be an error.

Needs root for all but `plain`; exit status 77 where that, or the file system, is not to be had.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

NOBODY = 65534
CAP_DAC_OVERRIDE = 1
KEPT = "what was in the file before\n"


def skip(why: str) -> NoReturn:
    print(f"skipped: {why}")
    sys.exit(77)


def capabilities() -> bytes:
    """The extended attribute of a file that gives CAP_DAC_OVERRIDE: struct vfs_cap_data, version
    2, with the flag that makes it effective."""
    return struct.pack("<5I", 0x02000001, 1 << CAP_DAC_OVERRIDE, 0, 0, 0)


def make_copy(program: Path, kind: str, folder: Path) -> Path:
    copy = folder / "obeys"
    shutil.copyfile(program, copy)
    os.chown(copy, 0, 0)
    mode = {"setuid": stat.S_ISUID, "setgid": stat.S_ISGID}.get(kind, 0)
    copy.chmod(mode | 0o755)
    if kind == "capability":
        try:
            os.setxattr(copy, "security.capability", capabilities())
        except OSError as error:
            skip(f"no file capabilities in {folder}: {error.strerror}")
    return copy


@contextmanager
def folder_for(kind: str) -> Iterator[Path]:
    """A folder that everybody can enter, on a file system where set-id bits count."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if kind != "plain" and os.statvfs(folder).f_flag & os.ST_NOSUID:
            skip(f"{folder} is mounted nosuid")
        folder.chmod(0o755)
        yield folder


class Case:
    """An option with a value; a file that it names, if it names one."""

    def __init__(self, variable: str, value: str, file: Path | None = None, **others: str) -> None:
        self.variable, self.value, self.file = variable, value, file
        self.environment = {variable: value, **others}

    def __str__(self) -> str:
        return f"{self.variable}={self.value}"


def output_values(option: dict[str, Any], file: Path) -> list[str]:
    """Values that name a file: of "off, json:FILE", and of "off, or the name of a file"."""
    words = option["values"].replace(",", " ").split()
    forms = [word.replace("FILE", str(file)) for word in words if word.endswith(":FILE")]
    return forms or [str(file)]


def cases_of(description: dict[str, Any], file: Path) -> list[Case]:
    """All options with a value that is an error, and all that name a file."""
    cases = [Case("PIRN_NOSUCH", "1")]
    for option in description["options"]:
        if option["type"] == "output":
            values = output_values(option, file)
            cases += [Case(option["env"], value, file) for value in values]
        else:
            cases.append(Case(option["env"], "?"))
    cases.append(Case("PIRN_STATS", "text"))
    for policy in description["policies"]:
        for option in policy["options"]:
            if option["values"] == "file":
                value = f"{policy['name']}:{option['name']}={file}"
                cases.append(Case("PIRN_SCHED", value, file, PIRN_CPUS="1"))
    return cases


def run_plain(program: Path, case: Case, folder: Path) -> None:
    """The option counts: it makes or reads the file, prints, or is an error."""
    done = subprocess.run(
        [program],
        env={"PATH": os.environ.get("PATH", ""), **case.environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if case.file is not None and case.file.exists():
        assert done.returncode == 0, (str(case), done)
        assert case.file.stat().st_size > 0, str(case)
        case.file.unlink()
    else:
        assert done.stderr.startswith("pirn: "), (str(case), done)
        assert done.returncode == (0 if case.value == "text" else 2), (str(case), done)


def user_of(kind: str) -> dict[str, Any]:
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if kind != "plain" else {}


def run_secure(program: Path, kind: str, case: Case, folder: Path) -> None:
    """Twice: the file is missing; the file exists, and user NOBODY may not write it."""
    for content in (None, KEPT):
        if case.file is not None and content is not None:
            case.file.write_text(content)
            case.file.chmod(0o600)
        before = sorted(folder.rglob("*"))
        done = subprocess.run(
            [program],
            env=case.environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            **user_of(kind),
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (str(case), done)
        assert sorted(folder.rglob("*")) == before, (str(case), sorted(folder.rglob("*")))
        if case.file is not None and content is not None:
            assert case.file.read_text() == content, str(case)
            case.file.unlink()


def environment_of(program: Path, kind: str) -> list[str]:
    """The program's report on its environment, with three variables set."""
    variables = {"PIRN_STATS": "off", "OTHER_PIRN_STATS": "kept", "PIRN_DUMP": "off"}
    done = subprocess.run(
        [program, "environment"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        **user_of(kind),
    )
    if done.returncode == 127 and "shared libraries" in done.stderr:
        skip(f"user {NOBODY} cannot read the library: {done.stderr.strip()}")
    assert done.returncode == 0, done
    secure, *rest = done.stdout.splitlines()
    if kind != "plain" and secure != "secure 1":
        skip(f"a {kind} program has no AT_SECURE here")
    return rest


def main() -> None:
    program, kind = Path(sys.argv[1]), sys.argv[2]
    if kind != "plain" and os.geteuid() != 0:
        skip("only root can make a program that runs with rights of another user")
    said = subprocess.run([program, "describe"], capture_output=True, text=True, check=True).stdout
    description = json.loads(said)
    with folder_for(kind) as top:
        copy = program if kind == "plain" else make_copy(program, kind, top)
        environment = environment_of(copy, kind)
        # Everybody may write there: only the program decides.
        folder = top / "files"
        folder.mkdir()
        folder.chmod(0o777)
        cases = cases_of(description, folder / "output")
        files = [case for case in cases if case.file is not None]
        assert len(files) >= 6, [str(case) for case in files]
        for case in cases:
            if kind == "plain":
                run_plain(copy, case, folder)
            else:
                run_secure(copy, kind, case, folder)
        others = ["PIRN_DUMP=off", "PIRN_STATS=off"] if kind == "plain" else []
        assert sorted(environment) == ["OTHER_PIRN_STATS=kept", *others], environment
        print(f"{kind}: {len(cases)} options and values, {len(files)} of which name a file")


if __name__ == "__main__":
    main()
