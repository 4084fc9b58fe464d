# SPDX-License-Identifier: MIT
"""Inputs for dedup, and its archive's format, read without the program."""

from __future__ import annotations

import hashlib
import random
import struct
import zlib


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def text(size: int, seed: int = 2) -> bytes:
    """Words of a vocabulary: zlib makes it smaller, and no part of it comes twice."""
    randomly = random.Random(seed)
    words = [randomly.randbytes(randomly.randrange(1, 5)).hex() for _ in range(500)]
    return " ".join(randomly.choices(words, k=size // 4)).encode()[:size]


def inputs() -> dict[str, bytes]:
    once = text(40000)
    return {
        "empty": b"",
        "byte": b"x",
        "zeros": bytes(70000),
        "noise": noise(40000),
        "text": once,
        "twice": once + once,
        "moved": once + b"a few bytes in between" + once,
        "mixed": once[:9000] + noise(9000) + once[:9000] + bytes(9000) + noise(9000),
    }


def sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()


def decode(archive: bytes) -> tuple[bytes, int]:
    """The restored input, and the number of records with contents."""
    assert archive[:4] == b"PDD1"
    at, chunks, out = 4, [], []

    def take(form: str) -> tuple[int, ...]:
        nonlocal at
        at += struct.calcsize(form)
        return struct.unpack_from(form, archive, at - struct.calcsize(form))

    def take_bytes(size: int) -> bytes:
        nonlocal at
        at += size
        assert at <= len(archive)
        return archive[at - size : at]

    while True:
        kind = take_bytes(1)
        if kind == b"E":
            break
        if kind == b"R":
            out.append(chunks[take("<Q")[0]])
            continue
        raw, stored = take("<II") if kind == b"Z" else 2 * take("<I")
        digest, data = take_bytes(20), take_bytes(stored)
        chunks.append(zlib.decompress(data) if kind == b"Z" else data)
        assert len(chunks[-1]) == raw
        assert sha1(chunks[-1]) == digest
        out.append(chunks[-1])
    whole = b"".join(out)
    assert take("<QQ") == (len(whole), len(out))
    digests = b"".join(sha1(chunk) for chunk in out)
    assert take_bytes(20) == sha1(digests)
    assert at == len(archive)
    return whole, len(chunks)
