# SPDX-License-Identifier: MIT
"""A matplotlib figure that is written to a file, without a display."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextlib.contextmanager
def figure(path: Path, width: float, height: float) -> Iterator[Axes]:
    """Axes to draw on; leaving the block writes the file: PNG, or what its suffix says."""
    if "MPLCONFIGDIR" not in os.environ:
        os.environ["MPLCONFIGDIR"] = _settings()
    # Imported here: half a second that commands without a plot need not wait.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    yield made.add_subplot()
    path.parent.mkdir(parents=True, exist_ok=True)
    made.savefig(path, dpi=150)


def _settings() -> str:
    """A folder for matplotlib's settings and cache, the user's own: in a temporary folder another
    user could make it first. Without a home directory it is a new one, for this process only."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        own = cache / "pirn" / "matplotlib"
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(own, os.W_OK):
            return str(own)
    except OSError:
        pass
    made = tempfile.mkdtemp(prefix="pirn-matplotlib-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
