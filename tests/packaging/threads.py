# SPDX-License-Identifier: MIT
"""A program of Python with 100 threads, all of which exist at the same time."""

import threading

THREADS = 100
barrier = threading.Barrier(THREADS)
lock = threading.Lock()
total = 0


def add(number: int) -> None:
    global total
    barrier.wait()
    with lock:
        total += number


threads = [threading.Thread(target=add, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(total)
