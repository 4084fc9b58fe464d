# SPDX-License-Identifier: MIT
"""How late the machine itself is: python -m pirn_tools.soak.control SECONDS WARM_UP

A process that asks nobody anything: it sleeps for 10 ms, again and again. What it is late by, the
machine has taken (other work, the hypervisor), not a server. It writes what client.py writes.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from array import array
from pathlib import Path
from types import FrameType

from pirn_tools.soak.client import LATENCIES, RESULT

NAP = 0.01  # seconds


def main(seconds: float, warm_up: float) -> None:
    stopped: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        stopped.append(number)

    signal.signal(signal.SIGTERM, stop)
    start = now = time.monotonic()
    times = array("I")
    worst, worst_at = 0, 0.0
    while now - start < seconds and not stopped:
        time.sleep(NAP)
        before, now = now, time.monotonic()
        late = max(0, round((now - before - NAP) * 1e6))
        if now - start >= warm_up:
            times.append(late)
            if late > worst:
                worst, worst_at = late, now - start
    with Path(LATENCIES).open("wb") as out:
        times.tofile(out)
    result = {"done": len(times), "failed": 0, "errors": [], "worst_at": worst_at}
    Path(RESULT).write_text(json.dumps(result))


if __name__ == "__main__":
    main(float(sys.argv[1]), float(sys.argv[2]))
