# SPDX-License-Identifier: MIT
"""Threads of Python: queues, a lock, hashes of buffers that are computed side by side."""

from __future__ import annotations

import hashlib
import queue
import threading

COUNT = 6
JOBS = 400


def work(jobs: queue.Queue[int], results: dict[int, str], lock: threading.Lock) -> None:
    while (job := jobs.get()) >= 0:
        data = (str(job).encode() * 16384)[:65536]
        digest = hashlib.sha256(data * 4).hexdigest()
        with lock:
            results[job] = digest


def main() -> None:
    jobs: queue.Queue[int] = queue.Queue(8)
    results: dict[int, str] = {}
    lock = threading.Lock()
    threads = [threading.Thread(target=work, args=(jobs, results, lock)) for _ in range(COUNT)]
    for thread in threads:
        thread.start()
    for job in [*range(JOBS), *[-1] * COUNT]:
        jobs.put(job)
    for thread in threads:
        thread.join()
    print(hashlib.sha256("".join(results[job] for job in range(JOBS)).encode()).hexdigest())


main()
