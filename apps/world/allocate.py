# SPDX-License-Identifier: MIT
"""Threads that allocate and free small and large objects, begin threads, and compress."""

import threading
import zlib

THREADS = 8
ROUNDS = 60
totals = [0] * THREADS


def work(number: int) -> None:
    kept = []
    for i in range(ROUNDS):
        kept.append([bytes(j % 300) for j in range(i, i + 400)])
        data = b"".join(kept[-1]) * 3  # zlib lets other threads run meanwhile
        totals[number] += len(zlib.compress(data, 1)) + len(data)
        if i % 3 == 0:
            del kept[: len(kept) // 2]
        if i % 10 == 0:
            short = threading.Thread(target=lambda: bytearray(100_000))
            short.start()
            short.join()


def main() -> None:
    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    print(*totals)


main()
