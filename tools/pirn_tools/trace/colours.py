# SPDX-License-Identifier: MIT
"""Colours of threads: few threads get hues that differ, many get a scale along their numbers.

With hundreds of threads no eye tells hues apart; on a scale one sees at least which part of them
runs where, in which order.
"""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
MOST_HUES = 32


def hue(index: int) -> tuple[float, float, float]:
    """The n-th colour of a sequence whose neighbours differ, in three shades."""
    where = index * 0.61803398875 % 1.0
    light = (0.55, 0.70, 0.42)[index % 3]
    return colorsys.hls_to_rgb(where, light, 0.62)


class Colours:
    """The colours of the threads of a picture."""

    def __init__(self, keys: Array) -> None:
        self.keys = np.unique(keys)
        self.scaled = len(self.keys) > MOST_HUES
        if self.scaled:
            from matplotlib import colormaps

            scale = colormaps["turbo"](np.linspace(0.03, 0.97, len(self.keys)))
            self._rgb = np.asarray(scale)[:, :3]
        else:
            self._rgb = np.array([hue(place) for place in range(len(self.keys))]).reshape(-1, 3)

    def of(self, keys: Array) -> Array:
        """A row of red, green, blue for each key; grey for what is none of them."""
        if not len(self.keys):
            return np.full((len(keys), 3), 0.45)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        found = self.keys[place] == keys
        return np.where(found[:, None], self._rgb[place], 0.45)

    def dark(self, key: int) -> bool:
        """Whether light text is readable on it."""
        red, green, blue = self.of(np.array([key]))[0]
        return bool(0.3 * red + 0.59 * green + 0.11 * blue < 0.55)
