# SPDX-License-Identifier: MIT
"""Inputs of the programs: the text of the source packages themselves, and a real video."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pirn_tools.demo.clip import ffmpeg, source_video

SUFFIXES = (".c", ".h", ".cc", ".cpp", ".hpp", ".py", ".po", ".asm", ".S", ".txt", ".md", ".html")
TEXT_BYTES = 8 << 20
PICTURES = 48
SIZE = (640, 360)


def text(sources: Iterable[Path], target: Path) -> Path:
    """8 MiB of program text, in the order of the names, from the beginning again if need be."""
    if target.exists():
        return target
    files = [
        path
        for folder in sources
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink()
    ]
    whole = b"".join(path.read_bytes() for path in files)
    whole *= -(-TEXT_BYTES // len(whole))
    part = target.with_suffix(".part")
    part.write_bytes(whole[:TEXT_BYTES])
    part.rename(target)
    return target


def video(
    cache: Path, target: Path, size: tuple[int, int] = SIZE, pictures: int = PICTURES
) -> Path:
    """Uncompressed pictures of the demo's clip."""
    if target.exists():
        return target
    part = target.with_suffix(".part")
    options = ["-i", str(source_video(cache)), "-an", "-frames:v", str(pictures)]
    options += ["-vf", f"scale={size[0]}:{size[1]}", "-pix_fmt", "yuv420p", "-flags", "+bitexact"]
    ffmpeg([*options, "-f", "yuv4mpegpipe", str(part)], f"making {target.name}")
    part.rename(target)
    return target
