# SPDX-License-Identifier: MIT
"""Programs with threads that a machine may have. Each prints the same with any threads."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "docs"

PYTHON = """
import hashlib, queue, subprocess, threading, time
q = queue.Queue()
def work(n):
    for i in range(100):
        q.put(hashlib.sha256(bytes([n]) * 100000).digest()[0])
        time.sleep(0.0005)
threads = [threading.Thread(target=work, args=(n,)) for n in range(20)]
[t.start() for t in threads]
[t.join() for t in threads]
print(q.qsize(), sum(q.get() for _ in range(2000)), subprocess.check_output(["echo", "child"]))
"""

NODE = """
const crypto = require('crypto'), fs = require('fs');
let left = 40;
const done = () => { if (--left == 0) console.log('done'); };
for (let i = 0; i < 20; i++) {
    crypto.pbkdf2('word', 'salt', 5000, 64, 'sha512', done);
    fs.readFile(process.execPath, { flag: 'r', length: 10 }, done);
}
"""


@dataclass(frozen=True)
class Program:
    name: str
    needs: str  # its executable
    arguments: tuple[str, ...]

    def command(self) -> list[str] | None:
        """None: it is not installed."""
        path = sys.executable if self.needs == "python3" else shutil.which(self.needs)
        return None if path is None else [path, *self.arguments]


PROGRAMS = [
    Program("Python", "python3", ("-c", PYTHON)),
    Program("Java", "java", (str(HERE / "Counts.java"),)),
    Program("Node.js", "node", ("-e", NODE)),
    Program(
        "git", "git", ("grep", "--no-index", "--threads", "8", "-c", "thread", "--", str(DATA))
    ),
    Program(
        "xz", "sh", ("-c", f"cat {DATA}/*/*.md | xz -T4 --block-size=65536 -c | xz -dc -T4 | cksum")
    ),
    Program("zstd", "zstd", ("-q", "-T4", "--stdout", str(DATA / "STATUS.md"))),
    Program("pigz", "pigz", ("-n", "-p", "4", "-b", "32", "-c", str(DATA / "STATUS.md"))),
]
