# SPDX-License-Identifier: MIT
"""Inputs of the programs, made here: the same bytes every time."""

from __future__ import annotations

import math
import random
import struct
import wave
from pathlib import Path

TEXT = 6 << 20  # bytes
WIDTH, HEIGHT, FRAMES = 352, 288, 30
SOUND_RATE, SOUND_SECONDS = 44100, 20
SOURCES = 40


def make(folder: Path) -> Path:
    """Makes what is missing."""
    makers = {"text": text, "video.y4m": video, "sound.wav": sound, "picture.ppm": picture}
    folder.mkdir(parents=True, exist_ok=True)
    for name, maker in makers.items():
        path = folder / name
        if not path.exists():
            part = folder / f"{name}.part"
            maker(part)
            part.rename(path)
    sources(folder / "sources")
    return folder


def text(path: Path) -> None:
    """Lines of words, some much more frequent than others."""
    chance = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(3000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    size = 0
    with path.open("w") as out:
        while size < TEXT:
            line = " ".join(chance.choices(words, weights, k=12)) + "\n"
            size += out.write(line)


def video(path: Path) -> None:
    """A pattern that moves, with noise."""
    chance = random.Random(2)
    noise = chance.randbytes(WIDTH * HEIGHT)
    rows = [bytes((x * 2 + y) & 255 for x in range(WIDTH * 2)) for y in range(HEIGHT)]
    with path.open("wb") as out:
        out.write(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip A1:1 C420jpeg\n".encode())
        for frame in range(FRAMES):
            moved = b"".join(rows[y][frame * 3 : frame * 3 + WIDTH] for y in range(HEIGHT))
            luma = bytes((a & 0xF8) + (b & 7) for a, b in zip(moved, noise, strict=True))
            chroma = bytes(range(128, 128 + 44)) * (WIDTH * HEIGHT // 4 // 44)
            out.write(b"FRAME\n" + luma + chroma + chroma)


def sound(path: Path) -> None:
    """Two tones and noise."""
    chance = random.Random(3)
    samples = bytearray()
    for at in range(SOUND_RATE * SOUND_SECONDS):
        tone = math.sin(at * 0.05) + math.sin(at * 0.0811 * (1 + at / 1e6))
        samples += struct.pack("<h", int(6000 * tone) + chance.randint(-300, 300))
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(SOUND_RATE)
        out.writeframes(bytes(samples))


def picture(path: Path) -> None:
    side = 1024
    noise = random.Random(4).randbytes(side * side * 3)
    rows = bytearray()
    for y in range(side):
        for x in range(side):
            rows += bytes(((x * y) >> 10 & 255, (x + y) >> 3 & 255, (x ^ y) & 255))
    mixed = bytes((a & 0xF0) | (b & 15) for a, b in zip(rows, noise, strict=True))
    path.write_bytes(f"P6 {side} {side} 255\n".encode() + mixed)


def sources(folder: Path) -> None:
    """A tree of sources in C, for compilers, for searches, for git."""
    folder.mkdir(exist_ok=True)
    for number in range(SOURCES):
        lines = [f"/* part {number} */", "static unsigned long state = 1;"]
        for each in range(60):
            lines += [
                f"unsigned long part_{number}_{each}(unsigned long x)",
                "{",
                f"    for (unsigned i = 0; i < {each + 3}; i++)",
                f"        x = x * {6364136223 + number * 97 + each} + (state ^= x >> {each % 31});",
                "    return x;",
                "}",
            ]
        path = folder / f"part{number}.c"
        written = "\n".join(lines) + "\n"
        if not path.exists() or path.read_text() != written:
            path.write_text(written)
