# SPDX-License-Identifier: MIT
"""What all scripts that boot a guest do alike: its image, a run, and the end of the script."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click
from machine import Guest
from pirn_tools.guest.image import Image
from pirn_tools.guest.qemu import GuestError, Times
from results import Part, read

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = ROOT / ".kernel"
BUSYBOX = Path("/bin/busybox")
MOUNTED = ["/proc", "/sys", "/dev", "/tmp"]  # noqa: S108 - the guest's
# Seconds of this computer's CPU time, so that other programs' load is no failure: the guest's own
# clock counts instructions, but those of one kernel always take the same.
BOOT_LIMIT = 30.0


def require(path: Path, made_by: str) -> Path:
    if not path.exists():
        raise click.ClickException(f"there is no {path}; run {made_by}")
    return path


def part(name: str, commands: list[str]) -> list[str]:
    """Of the guest's script. The status of the part is that of its last command."""
    return [f"echo '@begin {name}'", *commands, 'echo "@end $?"']


def small_image(script: str) -> Image:
    """With a shell that runs the script; programs are added."""
    image = Image()
    for folder in MOUNTED:
        image.add_folder(folder)
    image.add_program("/bin/busybox", require(BUSYBOX, "tools/setup-kernel"))
    image.add_bytes("/init", (HERE / "init.sh").read_bytes())
    image.add_bytes("/guest/all.sh", script.encode())
    return image


def boot(
    folder: Path,
    image: Image,
    limit: float,
    *,
    cpus: int = 4,
    clock: str = "virtual",
    nodes: int = 1,
) -> tuple[list[Part], Times]:
    """The parts of the script as they ran; all output is in the folder."""
    kernel = require(CACHE / "linux/vmlinuz", "tools/setup-kernel")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "initrd").write_bytes(image.archive())
    guest = Guest(kernel, folder / "initrd", folder, cpus, clock, nodes)
    try:
        times = guest.run(limit)
    except GuestError as error:
        raise click.ClickException(f"{error}; its console: {guest.console}") from None
    return read(guest.output.read_text(errors="replace")), times


def kernel_name() -> str:
    return (CACHE / "linux/name").read_text().strip()


def end(times: Times, bad: list[str]) -> NoReturn:
    """Status 1 if something is bad, or the boot has taken too much CPU time."""
    took = f"booted in {times.boot:.1f} s, of them {times.boot_cpu:.1f} s of CPU time"
    click.echo(f"\n{kernel_name()}: {took}; {times.all:.1f} s in all")
    if not 0 < times.boot_cpu <= BOOT_LIMIT:
        bad = [*bad, f"the boot took {times.boot_cpu:.1f} s of CPU time, not 30 s at most"]
    for line in bad:
        click.echo(f"failed: {line}", err=True)
    sys.exit(1 if bad else 0)
