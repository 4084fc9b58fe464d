# SPDX-License-Identifier: MIT
"""Builds the wheels of the pirn command, with the libraries in them, in build/packages/wheel.

usage: wheel.py --libraries DIR --machine x86_64|aarch64 --output DIR

The wheel of tools/ is for any machine, and has no library. Here it gets those of a build with the C
library of Debian bullseye (glibc 2.31), and the tag that says so; a library that needs a newer
glibc is an error.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

TOOLS = Path(__file__).resolve().parent.parent / "tools"
LIBRARIES = ("libpirn.so.0", "libpirn-pthread.so.0")
MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
GLIBC = (2, 31)


class WheelError(Exception):
    """The wheel cannot be built."""


def check_library(path: Path, machine: str) -> None:
    """An error unless the library is of the machine, and runs with the glibc of the tag."""
    if not path.exists():
        raise WheelError(f"{path} is missing: build the libraries first (make wheel does)")
    with path.open("rb") as file:
        elf = ELFFile(file)
        if elf["e_machine"] != MACHINES[machine]:
            raise WheelError(f"{path} is for {elf['e_machine']}, not for {machine}")
        needed = elf.get_section_by_name(".gnu.version_r")
        if not isinstance(needed, GNUVerNeedSection):
            raise WheelError(f"{path} needs no versions of the C library: is it one of Pirn's?")
        for library, versions in needed.iter_versions():
            for version in versions:
                number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version.name)
                if number and (int(number[1]), int(number[2])) > GLIBC:
                    raise WheelError(
                        f"{path} needs {version.name} of {library.name}, newer than "
                        f"{GLIBC[0]}.{GLIBC[1]}: build it with the compilers of tools/setup-glibc"
                    )


def set_tag(folder: Path, tag: str) -> None:
    """Says in the wheel's own description that it is for one machine."""
    (description,) = folder.glob("*.dist-info/WHEEL")
    text = description.read_text()
    text, pure = re.subn(r"(?m)^Root-Is-Purelib: .*$", "Root-Is-Purelib: false", text)
    text, tags = re.subn(r"(?m)^Tag: .*$", f"Tag: {tag}", text)
    if (pure, tags) != (1, 1):
        raise WheelError(f"flit has written another description than expected: {text!r}")
    description.write_text(text)


def run_wheel(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "wheel", *words], check=True, stdout=subprocess.DEVNULL)


def build(libraries: Path, machine: str, output: Path) -> Path:
    for name in LIBRARIES:
        check_library(libraries / name, machine)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        # flit takes the files below the current folder.
        script = (
            "import sys; from flit_core import buildapi; print(buildapi.build_wheel(sys.argv[1]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, work],
            cwd=TOOLS,
            check=True,
            capture_output=True,
            text=True,
        )
        pure = Path(work) / done.stdout.split()[-1]
        run_wheel("unpack", "--dest", f"{work}/open", str(pure))
        (folder,) = (Path(work) / "open").iterdir()
        place = folder / "pirn_tools" / "lib"
        place.mkdir()
        for name in LIBRARIES:
            shutil.copy(libraries / name, place / name)
        set_tag(folder, f"py3-none-manylinux_{GLIBC[0]}_{GLIBC[1]}_{machine}")
        run_wheel("pack", "--dest-dir", str(output), str(folder))
    (made,) = output.glob(f"*_{machine}.whl")
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--libraries", type=Path, required=True, metavar="DIR")
    parser.add_argument("--machine", choices=sorted(MACHINES), required=True)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    try:
        print(f"wheel: {build(options.libraries, options.machine, options.output)}")
    except (WheelError, OSError, subprocess.CalledProcessError) as error:
        print(f"wheel.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
