# SPDX-License-Identifier: MIT
"""Control groups of either version, where this user may make them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CGROUP2 = "cgroup2"
# Names of version 2, and what version 1 calls the file.
OLD_NAMES = {"memory.max": "memory.limit_in_bytes"}
PERIOD = 100_000


class NoGroupsError(Exception):
    """Why there are none."""


class Group:
    def __init__(self, folder: Path, old: bool) -> None:
        self.folder, self.old = folder, old

    def file(self, name: str) -> Path:
        return self.folder / (OLD_NAMES.get(name, name) if self.old else name)

    def limit_cpu(self, share: float | None) -> None:
        microseconds = None if share is None else int(share * PERIOD)
        if self.old:
            self.file("cpu.cfs_quota_us").write_text(
                str(-1 if microseconds is None else microseconds)
            )
        else:
            self.file("cpu.max").write_text(
                f"{'max' if microseconds is None else microseconds} {PERIOD}"
            )

    def run(
        self,
        run: Callable[..., subprocess.CompletedProcess[str]],
        command: list[str],
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        """The command starts in the group."""
        enter = 'echo $$ > "$0" && exec "$@"'
        return run(["sh", "-c", enter, str(self.folder / "cgroup.procs"), *command], **environment)

    @contextmanager
    def below(self) -> Iterator[Group]:
        """A group in this one, without limits of its own."""
        inner = Group(self.folder / "inner", self.old)
        inner.folder.mkdir()
        try:
            yield inner
        finally:
            remove(inner.folder)


def remove(folder: Path) -> None:
    """A process that has ended leaves its group a moment later."""
    for _ in range(200):
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.01)
    raise NoGroupsError(f"{folder} cannot be removed: somebody is still in it")


def paths() -> dict[str, str]:
    """The process's group by controller; version 2: by the name of its file system."""
    found = {}
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(",") if controllers else [CGROUP2]:
            found[controller] = path
    return found


def places(controller: str) -> Iterator[tuple[Path, bool]]:
    """Folders of the process's group that may have the controller; true: by version 1."""
    own = paths()
    for line in (
        Path("/proc/self/mountinfo").read_text(encoding="ascii", errors="replace").splitlines()
    ):
        fields, _, rest = line.partition(" - ")
        root, point = fields.split()[3:5]
        kind, _, options = rest.split(maxsplit=2)
        old = kind == "cgroup" and controller in options.split(",") and controller in own
        if not old and not (kind == CGROUP2 and CGROUP2 in own):
            continue
        path = own[controller if old else CGROUP2]
        if path.startswith(root):
            yield Path(point + "/" + path.removeprefix("" if root == "/" else root)), old


def settle(made: Group, values: dict[str, str | None]) -> None:
    """None: as the group above has it. Version 2 needs no value for that."""
    for name, value in values.items():
        if value is None and not made.old:
            continue
        above = Group(made.folder.parent, made.old).file(name)
        made.file(name).write_text(above.read_text(encoding="ascii") if value is None else value)


@contextmanager
def group(controller: str, values: dict[str, str | None]) -> Iterator[Group]:
    """A group below this process's, with these values in its files."""
    why = [f"no control group with {controller} is mounted where this process can see it"]
    for above, old in places(controller):
        made = Group(above / f"pirn-test-{os.getpid()}", old)
        try:
            if (
                not old
                and controller
                not in (above / "cgroup.controllers").read_text(encoding="ascii").split()
            ):
                why.append(f"{above} lacks the controller {controller}")
                continue
            if not old:
                (above / "cgroup.subtree_control").write_text(f"+{controller}")
            made.folder.mkdir()
        except OSError as e:
            why.append(str(e))
            continue
        try:
            settle(made, values)
            yield made
        finally:
            remove(made.folder)
        return
    raise NoGroupsError("; ".join(why))
