# SPDX-License-Identifier: MIT
"""Tests of the mjpeg application that need more than one run.

usage: check_mjpeg.py reference MJPEG PSNR CLIPS CLIP   as good as ffmpeg's decoder
       check_mjpeg.py variants MJPEG CLIPS CLIP         every way to run gives the same bits
       check_mjpeg.py faults MJPEG CLIPS                bad streams are refused in words
       check_mjpeg.py truncated MJPEG CLIPS CLIP        a stream that ends anywhere is refused
       check_mjpeg.py command CLIPS CLIP COMMAND...     few runs; COMMAND starts the program
"""

import itertools
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

# ffmpeg's own IDCT is exact to about 66 dB on these clips; a wrong rounding costs 10.
LEAST_PSNR = 60.0
CLOSING_LINE = re.compile(
    r"^mjpeg: pictures=(\d+) width=(\d+) height=(\d+) threads=(\d+) seconds=\d+\.\d+ "
    r"checksum=([0-9a-f]{16})\n\Z",
    re.MULTILINE,
)


def run(*command: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def decode(mjpeg: str, clip: Path, *options: str) -> tuple[re.Match[str], str]:
    """The closing line of a good run, and everything on standard output before it."""
    done = run(mjpeg, "--quiet", *options, clip)
    closing = CLOSING_LINE.search(done.stdout)
    if done.returncode != 0 or closing is None or done.stderr:
        sys.exit(f"{clip.name} {options}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return closing, done.stdout[: closing.start()]


def clip_line(clips: Path, clip: str) -> list[str]:
    lines = [line.split() for line in (clips / "clips.txt").read_text().splitlines()]
    return next(line for line in lines if line[0] == clip)


def check_reference(mjpeg: str, psnr: str, clips_name: str, clip: str) -> None:
    clips = Path(clips_name)
    _, width, height, pixels, pictures = clip_line(clips, clip)
    with tempfile.TemporaryDirectory() as scratch:
        frames = Path(scratch) / "frames.yuv"
        closing, _ = decode(mjpeg, clips / f"{clip}.mjpeg", f"--output={frames}")
        if closing.group(1, 2, 3) != (pictures, width, height):
            sys.exit(f"{pictures} pictures of {width}x{height} expected: {closing.group()}")
        compared = run(psnr, frames, clips / f"{clip}.yuv", width, height, pixels)
    print(compared.stdout, compared.stderr, end="")
    found = re.search(r"frames=(\d+) average=([\d.]+) worst=([\d.]+)", compared.stdout)
    if compared.returncode != 0 or found is None or found.group(1) != pictures:
        sys.exit("the frames cannot be compared")
    if float(found.group(3)) < LEAST_PSNR:
        sys.exit(f"a plane with less than {LEAST_PSNR} dB")


def check_variants(mjpeg: str, clips_name: str, clip: str) -> None:
    path = Path(clips_name) / f"{clip}.mjpeg"
    seen = set()
    for graph, slices, inflight in itertools.product(
        ("tasks", "stages"), (1, 2, 3, 8, 256), (1, 2, 8)
    ):
        options = (f"--graph={graph}", f"--slices={slices}", f"--inflight={inflight}")
        closing, checksums = decode(mjpeg, path, "--checksum", *options)
        if checksums.count("frame ") != int(closing.group(1)):
            sys.exit(f"not one checksum per frame: {checksums}")
        seen.add((checksums, closing.group(5)))
    if len(seen) != 1:
        sys.exit(f"{len(seen)} different results: {seen}")
    closing, checksums = decode(mjpeg, path, "--checksum", "--repeat=3", "--pictures=7")
    if closing.group(1) != "7" or checksums.count("frame ") != 7:
        sys.exit(f"7 pictures expected: {closing.group()}")


def refused(mjpeg: str, stream: bytes, *options: str) -> str:
    """The message for a bad stream."""
    with tempfile.NamedTemporaryFile(suffix=".mjpeg") as file:
        file.write(stream)
        file.flush()
        done = run(mjpeg, *options, file.name)
    if done.returncode != 1 or not CLOSING_LINE.search(done.stdout):
        sys.exit(f"status {done.returncode}, 1 expected\n{done.stdout}{done.stderr}")
    if not re.search(r": picture \d+, byte \d+: ", done.stderr):
        sys.exit(f"the message does not name picture and byte: {done.stderr}")
    return done.stderr


def patched(stream: bytes, marker: int, skip: int, new: bytes) -> bytes:
    """Puts `new` into the first segment of that kind, `skip` bytes behind its length."""
    at = stream.index(bytes((0xFF, marker))) + 4 + skip
    return stream[:at] + new + stream[at + len(new) :]


def replace_marker(stream: bytes, old: int, new: int) -> bytes:
    return stream.replace(bytes((0xFF, old)), bytes((0xFF, new)), 1)


def without_segment(stream: bytes, marker: int) -> bytes:
    at = stream.index(bytes((0xFF, marker)))
    length = int.from_bytes(stream[at + 2 : at + 4], "big")
    return stream[:at] + stream[at + 2 + length :]


FAULTS: dict[str, Callable[[bytes], bytes]] = {
    "progressive JPEG": lambda s: replace_marker(s, 0xC0, 0xC2),
    "arithmetic-coded JPEG": lambda s: replace_marker(s, 0xC0, 0xC9),
    "lossless JPEG": lambda s: replace_marker(s, 0xC0, 0xC3),
    "12-bit samples": lambda s: patched(s, 0xC0, 0, b"\x0c"),
    "height 0": lambda s: patched(s, 0xC0, 1, b"\x00\x00"),
    "width 0": lambda s: patched(s, 0xC0, 3, b"\x00\x00"),
    "65535x65535; the limit is": lambda s: patched(s, 0xC0, 1, b"\xff\xff\xff\xff"),
    "has more than 33554432 samples": lambda s: patched(s, 0xC0, 1, b"\x1f\xff\x1f\xff"),
    "4 components are not supported": lambda s: patched(s, 0xC0, 5, b"\x04"),
    "sampling factors 0x2": lambda s: patched(s, 0xC0, 7, b"\x02"),
    "the stream holds no picture": lambda s: b"",
    "must start with SOI": lambda s: s[2:],
    "a marker is expected, not byte 0x41": lambda s: b"A" + s,
    "quantization table 0, which is missing": lambda s: without_segment(s, 0xDB),
    "there is no frame header": lambda s: without_segment(s, 0xC0),
    "restart marker 2 where 1 is expected": lambda s: replace_marker(s, 0xD1, 0xD2),
    "a restart marker too many": lambda s: without_segment(s, 0xDD),
    "of 9 restart intervals": lambda s: replace_marker(s, 0xD3, 0xD9),
    "DHT: table .* has more codes": lambda s: patched(s, 0xC4, 1, b"\x09"),
    "the length of segment 0xdb": lambda s: patched(s, 0xDB, -2, b"\xff\xff"),
}


def check_faults(mjpeg: str, clips_name: str) -> None:
    good = (Path(clips_name) / "420-restart.mjpeg").read_bytes()
    for expected, break_it in FAULTS.items():
        for graph in ("tasks", "stages"):
            message = refused(mjpeg, break_it(good), f"--graph={graph}")
            if not re.search(expected, message):
                sys.exit(f"'{expected}' is not in: {message}")
    plain = (Path(clips_name) / "420.mjpeg").read_bytes()
    message = refused(mjpeg, patched(plain, 0xC0, 1, b"\x08\x00\x10\x00"))
    if "too few for a picture of 4096x2048" not in message:
        sys.exit(f"a size beyond the data should be named: {message}")
    second = refused(mjpeg, good[: good.index(b"\xff\xd9") + 2] + good[:1000])
    if not re.search(r"picture 1, byte 1?\d+: the stream ends inside the picture", second):
        sys.exit(f"picture 1 should be the bad one: {second}")


def check_truncated(mjpeg: str, clips_name: str, clip: str) -> None:
    good = (Path(clips_name) / f"{clip}.mjpeg").read_bytes()
    first_picture = good.index(b"\xff\xd9") + 2
    for length in range(1, first_picture, max(1, first_picture // 100)):
        refused(mjpeg, good[:length])


def noise(frames: Path, reference: Path) -> float:
    """The signal-to-noise ratio of all samples, in dB."""
    ours, theirs = frames.read_bytes(), reference.read_bytes()
    squares = sum((a - b) ** 2 for a, b in zip(ours, theirs, strict=True))
    return 10 * math.log10(255**2 * len(ours) / max(squares, 1))


def check_command(clips_name: str, clip: str, *command: str) -> None:
    path = Path(clips_name) / f"{clip}.mjpeg"
    seen = set()
    for options in (["--slices=8"], ["--slices=1"], ["--graph=stages"]):
        with tempfile.TemporaryDirectory() as scratch:
            frames = Path(scratch) / "frames.yuv"
            done = run(*command, "--quiet", *options, f"--output={frames}", path)
            closing = CLOSING_LINE.search(done.stdout)
            if done.returncode != 0 or closing is None or closing[1] != "6":
                sys.exit(f"{options}: status {done.returncode}\n{done.stdout}{done.stderr}")
            if noise(frames, path.with_suffix(".yuv")) < LEAST_PSNR:
                sys.exit(f"{options}: less than {LEAST_PSNR} dB")
        seen.add(closing[5])
    if len(seen) != 1:
        sys.exit(f"{len(seen)} different results: {seen}")
    done = run(*command, path.with_suffix(".none"))
    said = done.stdout + done.stderr
    if done.returncode != 1 or "No such file" not in said:
        sys.exit(f"status {done.returncode}, and 1 expected\n{said}")


CHECKS: dict[str, Callable[..., None]] = {
    "reference": check_reference,
    "variants": check_variants,
    "faults": check_faults,
    "truncated": check_truncated,
    "command": check_command,
}

if __name__ == "__main__":
    CHECKS[sys.argv[1]](*sys.argv[2:])
