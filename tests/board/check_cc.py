# SPDX-License-Identifier: MIT
"""The compiler for build systems of others: compiles and links at once and in two steps, and finds
what is missing.

usage: check_cc.py PIRN-CC COMMAND...

COMMAND: what runs a program on the board.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """\
#include <math.h>
#include <pthread.h>
#include <stdio.h>
static void *body(void *arg) { *(double *)arg = sqrt(*(double *)arg); return NULL; }
int main(int argc, char **argv)
{
    double number = 1764 * argc / 2.0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, &number) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    printf("%s %.1f\\n", argv[1], number);
    return 7;
}
"""


def run(*command: object) -> tuple[int, str]:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def main() -> None:
    compiler, *board = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, thing, once, twice = (folder / n for n in ("a.c", "a.o", "once", "twice"))
        source.write_text(PROGRAM)
        for command in (
            (compiler, "-O2", source, "-o", once, "-lm"),
            (compiler, "-O2", "-c", source, "-o", thing),
            (compiler, thing, "-o", twice, "-lm"),
        ):
            status, said = run(*command)
            if status != 0:
                sys.exit(f"{command}: status {status}\n{said}")
        for program in (once, twice):
            status, said = run(*board, program, "root")
            if status != 7 or "root 42.0" not in said:
                sys.exit(f"{program.name}: status {status}, 7 and 'root 42.0' expected\n{said}")
        source.write_text("int absent(void); int main(void) { return absent(); }\n")
        status, said = run(compiler, source, "-o", folder / "none")
        if status == 0 or "absent" not in said:
            sys.exit(f"a program whose function is missing is linked: {status}\n{said}")


if __name__ == "__main__":
    main()
