# SPDX-License-Identifier: MIT
"""Programs that the tools have started."""

from __future__ import annotations

import os
import select
import subprocess


def ends(child: subprocess.Popen[bytes], limit: float) -> bool:
    """Whether it ends within so many seconds; it is not reaped.

    Popen.wait with a limit looks again at growing intervals of up to 50 ms: too coarse to time it.
    """
    ended = os.pidfd_open(child.pid)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        return bool(poll.poll(limit * 1000))
    finally:
        os.close(ended)
