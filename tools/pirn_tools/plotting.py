# SPDX-License-Identifier: MIT
"""A matplotlib figure that is written to a file, without a display."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextlib.contextmanager
def figure(path: Path, width: float, height: float) -> Iterator[Axes]:
    """Axes to draw on; leaving the block writes the file: PNG, or what its suffix says."""
    # Its cache goes where it can be written even without a home directory.
    os.environ.setdefault("MPLCONFIGDIR", str(Path(tempfile.gettempdir()) / "pirn-matplotlib"))
    # Imported here: half a second that commands without a plot need not wait.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    yield made.add_subplot()
    path.parent.mkdir(parents=True, exist_ok=True)
    made.savefig(path, dpi=150)
