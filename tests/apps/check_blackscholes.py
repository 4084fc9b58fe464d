# SPDX-License-Identifier: MIT
"""Runs blackscholes on made and on damaged files.

usage: check_blackscholes.py prices|faults MAKE_OPTIONS PROGRAM...

PROGRAM: the command in front of the program's own arguments.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

OPTION = "42.00 40.00 0.1000 0.00 0.20 0.50 C 0.00 4.759422392871535"
PRINTED = ("4.76", "0.81", "2.1334")  # textbooks' prices: the first options of the made file

# Contents of the file, and the message for it.
FAULTS = (
    ("", "line 1: the file is empty; the number of options is wanted"),
    ("x\n", "line 1: 'x': the number of options is wanted, 1 to 100000000"),
    ("0\n", "line 1: '0': the number of options is wanted"),
    (f"2\n{OPTION}\n", "line 3: the file ends after 1 of 2 options"),
    (f"1\n{OPTION}\n{OPTION}\n", "line 3: more than the 1 options that line 1 announces"),
    ("1\n42 40 0.1 0 0.2 0.5 C 0\n", "line 2: fewer than 9 values; S K r divq v T P"),
    (f"1\n{OPTION} 1\n", "line 2: more than 9 values"),
    (f"1\n{OPTION.replace('42.00', '-42')}\n", "line 2: S '-42': a number above 0 is wanted"),
    (f"1\n{OPTION.replace('0.50', 'nan')}\n", "line 2: T 'nan': a number is wanted"),
    (f"1\n{OPTION.replace('0.20', '1e99')}\n", "line 2: v '1e99': a number is wanted"),
    (f"1\n{OPTION.replace('0.1000', '5%')}\n", "line 2: r '5%': a number is wanted"),
    (f"1\n{OPTION.replace('C', 'X')}\n", r"line 2: kind 'X': P \(put\) or C \(call\)"),
    (f"1\n{OPTION.replace('0.00 0.20', '0.03 0.20')}\n", "line 2: divq '0.03': shares with"),
    (f"1\n{OPTION.replace('C 0.00', 'C 1.5')}\n", "line 2: divs '1.5': shares with dividends"),
    ("1\n" + 300 * "4" + "\n", "line 2: longer than 254 bytes"),
    (f"1\n{OPTION.replace('4.759', '4.760')}\n", r"option 1: the price is 4.759\d+, its reference"),
)


def run(*command: str) -> tuple[int, str]:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def check(good: bool, what: str, said: str = "") -> None:
    if not good:
        sys.exit(f"{what}\n{said}")


def check_prices(program: list[str], options: Path, prices: Path) -> None:
    wanted = [float(line.split()[-1]) for line in options.read_text().splitlines()[1:]]
    first = ""
    for threads in (1, 3, 4):
        status, said = run(*program, "--runs=3", str(threads), str(options), str(prices))
        check(status == 0, f"status {status} with {threads} threads", said)
        line = re.search(r"options=(\d+) threads=(\d+) runs=3 seconds=\S+ errors=0 max_error", said)
        check(line is not None and line[1] == str(len(wanted)) and line[2] == str(threads), said)
        first = first or prices.read_text()
        check(prices.read_text() == first, f"other prices with {threads} threads")
    count, *found = first.split()
    check(int(count) == len(wanted) == len(found), f"{count} prices, {len(found)} lines")
    worst = max(abs(float(a) - b) for a, b in zip(found, wanted, strict=True))
    check(worst < 1e-4, f"a price is wrong by {worst}")
    for price, printed in zip(found, PRINTED, strict=False):
        digits = len(printed.partition(".")[2])
        check(f"{float(price):.{digits}f}" == printed, f"{price}, and textbooks say {printed}")


def check_faults(program: list[str], options: Path, prices: Path) -> None:
    for text, message in FAULTS:
        options.write_text(text)
        status, said = run(*program, "1", str(options), str(prices))
        check(status == 1 and re.search(message, said), f"wanted: {message}", said)
    for count, words, message in (
        (2, ["0", "a", "b"], "THREADS '0': not a whole number from 1 to 100000"),
        (2, ["1", "a"], "OUTPUT is missing"),
        (2, ["1", "a", "b", "c"], "'c': one operand too many"),
        (1, ["1", "a", "a"], "'a' is INPUT and OUTPUT"),
        (1, ["1", "no-such-file", "b"], "cannot open 'no-such-file': No such file"),
        (2, ["--runs=0", "1", "a", "b"], "--runs=0: not a whole number"),
    ):
        status, said = run(*program, *words)
        check(status == count and message in said, f"{words}: wanted: {message}", said)


def main() -> None:
    mode, maker, *program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        options, prices = Path(folder) / "options", Path(folder) / "prices"
        if mode == "faults":
            check_faults(program, options, prices)
            return
        made, said = run(sys.executable, maker, "200", str(options))
        check(made == 0, "no options", said)
        check_prices(program, options, prices)


if __name__ == "__main__":
    main()
