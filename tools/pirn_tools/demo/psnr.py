# SPDX-License-Identifier: MIT
"""How close our decoder's pictures are to ffmpeg's: peak signal-to-noise ratio."""

from __future__ import annotations

from pathlib import Path

from pirn_tools.errors import UserError

PEAK = 255.0
LEAST_DB = 45.0


def worst_psnr(ours: Path, reference: Path, picture_bytes: int) -> float:
    """The PSNR in dB of the worst picture; infinite when all are equal."""
    import numpy as np  # here, so that commands without pictures start quickly

    a, b = (np.fromfile(path, dtype=np.uint8) for path in (ours, reference))
    if a.size != b.size or a.size == 0 or a.size % picture_bytes:
        raise UserError(
            f"{ours.name} holds {a.size} bytes, ffmpeg's {b.size}; "
            f"expected the same whole number of pictures of {picture_bytes} bytes"
        )
    shape = (-1, picture_bytes)
    difference = a.reshape(shape).astype(np.int32) - b.reshape(shape)
    error = float(np.mean(np.square(difference), axis=1).max())
    return float("inf") if error == 0 else float(10 * np.log10(PEAK**2 / error))


def check_psnr(ours: Path, reference: Path, picture_bytes: int) -> float:
    """The same, or an error when it is below what a correct decoder reaches."""
    value = worst_psnr(ours, reference, picture_bytes)
    if value < LEAST_DB:
        raise UserError(
            f"the worst picture is {value:.1f} dB from ffmpeg's decode, less than {LEAST_DB:.0f} dB"
        )
    return value
