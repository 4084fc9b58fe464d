# SPDX-License-Identifier: MIT
"""Makes the Motion-JPEG clips of the mjpeg tests, and ffmpeg's decoded frames.

usage: make_clips.py DIRECTORY

For each clip NAME there are NAME.mjpeg, NAME.yuv (raw planar frames, by ffmpeg's
decoder) and a line "NAME WIDTH HEIGHT FORMAT PICTURES" in clips.txt.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PICTURES = 6
DC_CODES = ("00", "010", "011", "100", "101", "110", "1110", "11110", "111110", "1111110")
END_OF_BLOCK = "1010"


@dataclass(frozen=True)
class Clip:
    name: str
    width: int
    height: int
    pixels: str  # 420, 422, 444 or 400
    source: str  # a picture generator of ffmpeg's, lavfi
    encoder: tuple[str, ...]


CLIPS = (
    Clip("420", 176, 144, "420", "testsrc2", ()),
    Clip("420-restart", 176, 144, "420", "testsrc2", ("-slices", "4")),
    Clip("420-odd", 165, 131, "420", "mandelbrot", ("-slices", "4")),
    Clip("422-restart", 166, 130, "422", "mandelbrot", ("-slices", "4")),
    Clip("444", 176, 144, "444", "mandelbrot", ()),
    Clip("444-restart", 176, 144, "444", "testsrc2", ("-slices", "4")),
    Clip("420-default-tables", 176, 144, "420", "mandelbrot", ("-huffman", "default")),
    Clip("420-coarse", 176, 144, "420", "testsrc2", ("-q:v", "31")),
)


def ffmpeg(*arguments: str) -> None:
    try:
        subprocess.run(("ffmpeg", "-v", "error", "-y", *arguments), check=True)
    except FileNotFoundError:
        sys.exit("make_clips.py: ffmpeg is not installed; the package's name is ffmpeg")


def encode(clip: Clip, path: Path) -> None:
    source = f"{clip.source}=size={clip.width}x{clip.height}:rate=25"
    quality = () if "-q:v" in clip.encoder else ("-q:v", "3")
    ffmpeg(
        *("-f", "lavfi", "-i", source, "-frames:v", str(PICTURES), "-c:v", "mjpeg"),
        *("-pix_fmt", f"yuvj{clip.pixels}p", "-threads", "1", *quality, *clip.encoder),
        *("-f", "mjpeg", str(path)),
    )


def segments(stream: bytes) -> list[bytes]:
    """Cuts a stream of ffmpeg's into marker segments; SOS takes its data along."""
    parts = []
    at = 0
    while at < len(stream):
        marker = stream[at + 1]
        end = at + 2
        if marker not in (0xD8, 0xD9):
            end += int.from_bytes(stream[end : end + 2], "big")
        if marker == 0xDA:
            end = stream.index(b"\xff\xd9", end)
        parts.append(stream[at:end])
        at = end
    return parts


def without_huffman_tables(stream: bytes) -> bytes:
    return b"".join(part for part in segments(stream) if part[1] != 0xC4)


def with_wide_quantization(stream: bytes) -> bytes:
    """The same tables with 16-bit numbers, each in a segment of its own."""
    out = b""
    for part in segments(stream):
        tables = part[4:]
        while part[1] == 0xDB and tables:
            wide = b"".join(bytes((0, value)) for value in tables[1:65])
            out += b"\xff\xdb\x00\x83" + bytes((0x10 | tables[0],)) + wide
            tables = tables[65:]
        out += b"" if part[1] == 0xDB else part
    return out


def with_padding(stream: bytes) -> bytes:
    """Fill bytes 0xFF before markers, zeros between the pictures."""
    padded = b"".join(b"\xff" * 3 + part for part in segments(stream))
    return padded.replace(b"\xff\xd9", b"\xff\xd9" + bytes(5))


def dc_bits(difference: int) -> str:
    size = abs(difference).bit_length()
    value = difference if difference > 0 else difference + (1 << size) - 1
    return DC_CODES[size] + (f"{value:0{size}b}" if size else "")


def flat_interval(levels: list[int]) -> bytes:
    """Entropy-coded blocks without AC coefficients."""
    bits = ""
    before = 0
    for level in levels:
        bits += dc_bits(level - before) + END_OF_BLOCK
        before = level
    bits += "1" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\x00")


def grey_picture(width: int, height: int, interval: int, phase: int) -> bytes:
    """A mosaic of flat blocks, one component, default Huffman tables, and restart
    markers that do not fall on the ends of rows: ffmpeg writes no such pictures."""
    blocks = -(-width // 8) * -(-height // 8)
    levels = [((block * 37 + phase * 11) % 255) - 127 for block in range(blocks)]
    size = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    out = b"\xff\xd8" + b"\xff\xdb\x00\x43\x00" + bytes((8,)) * 64
    out += b"\xff\xdd\x00\x04" + interval.to_bytes(2, "big")
    out += b"\xff\xc0\x00\x0b\x08" + size + b"\x01\x01\x22\x00"
    out += b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"
    for number, first in enumerate(range(0, blocks, interval)):
        out += bytes((0xFF, 0xD0 + (number - 1) % 8)) if number else b""
        out += flat_interval(levels[first : first + interval])
    return out + b"\xff\xd9"


def finish(directory: Path, clip: Clip, pictures: int = PICTURES) -> str:
    """Decodes the clip with ffmpeg; returns its line for clips.txt."""
    pixels = "gray" if clip.pixels == "400" else f"yuvj{clip.pixels}p"
    path = directory / clip.name
    # vsync passthrough: a stream without time stamps must not lose or gain pictures
    ffmpeg(
        *("-f", "mjpeg", "-i", f"{path}.mjpeg", "-vsync", "passthrough", "-pix_fmt", pixels),
        *("-f", "rawvideo", f"{path}.yuv"),
    )
    return f"{clip.name} {clip.width} {clip.height} {clip.pixels} {pictures}\n"


def main() -> None:
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    lines = []
    for clip in CLIPS:
        encode(clip, directory / f"{clip.name}.mjpeg")
        lines.append(finish(directory, clip))
    derived = {
        "no-tables": without_huffman_tables((directory / "420-default-tables.mjpeg").read_bytes()),
        "wide-quantization": with_wide_quantization((directory / "420.mjpeg").read_bytes()),
        "padded": with_padding((directory / "420.mjpeg").read_bytes()),
    }
    for name, stream in derived.items():
        (directory / f"{name}.mjpeg").write_bytes(stream)
        lines.append(finish(directory, Clip(name, 176, 144, "420", "", ())))
    grey = b"".join(grey_picture(61, 45, 5, phase) for phase in range(PICTURES))
    (directory / "grey.mjpeg").write_bytes(grey)
    lines.append(finish(directory, Clip("grey", 61, 45, "400", "", ())))
    (directory / "clips.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
