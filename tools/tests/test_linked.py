# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from pirn_tools.binary import linked
from pirn_tools.errors import UserError

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def compile_c(folder: Path, name: str, text: str, *flags: str) -> Path:
    (folder / "source.c").write_text(text)
    output = folder / name
    subprocess.run(["cc", "-o", str(output), str(folder / "source.c"), *flags], check=True)
    return output


def shared(folder: Path, name: str, *flags: str) -> Path:
    text = f"int {name.split('.')[0].replace('-', '_')}(void) {{ return 0; }}\n"
    soname = f"-Wl,-soname,{name},--no-as-needed"
    return compile_c(folder, name, text, "-shared", "-fPIC", soname, *flags)


def uses(path: Path) -> bool:
    binary = linked.read(path)
    assert binary is not None
    return linked.uses_pirn(binary)


@needs_cc
def test_uses_pirn_when_linked_directly_or_through_a_library(tmp_path: Path) -> None:
    keep = "-Wl,--no-as-needed"
    origin = "-Wl,-rpath,$ORIGIN"
    pirn = shared(tmp_path, "libpirn-pthread.so.0")
    middle = shared(tmp_path, "libmiddle.so.1", str(pirn), origin)
    main = "int main(void) { return 0; }\n"
    plain = compile_c(tmp_path, "plain", main)
    direct = compile_c(tmp_path, "direct", main, keep, str(pirn), origin)
    nested = compile_c(tmp_path, "nested", main, keep, str(middle), origin, "-Wl,-rpath-link=.")
    assert not uses(plain)
    assert uses(direct)
    assert uses(nested)
    binary = linked.read(direct)
    assert binary is not None
    assert linked.unresolved_pirn(binary) == []
    pirn.unlink()
    assert linked.unresolved_pirn(binary) == ["libpirn-pthread.so.0"]


@needs_cc
def test_uses_pirn_when_linked_statically(tmp_path: Path) -> None:
    text = "const char *pirn_describe(void) { return 0; }\nint main(void) { return 0; }\n"
    assert uses(compile_c(tmp_path, "static", text))


def test_read_tells_scripts_and_damaged_files_apart(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert linked.read(tmp_path / "script") is None
    (tmp_path / "damaged").write_bytes(b"\x7fELF" + bytes(3))
    with pytest.raises(UserError, match="damaged"):
        linked.read(tmp_path / "damaged")
    with pytest.raises(UserError, match="cannot read"):
        linked.read(tmp_path / "absent")


def brings(path: Path) -> bool:
    binary = linked.read(path)
    assert binary is not None
    return linked.brings_policies(binary)


@needs_cc
def test_brings_policies_when_the_program_or_its_library_registers(tmp_path: Path) -> None:
    origin = "-Wl,-rpath,$ORIGIN,--no-as-needed"
    offer = "int pirn_sched_register(const void *p) { return p == 0; }\n"
    call = "int pirn_sched_register(const void *);\n"
    main = "int main(void) { return 0; }\n"
    flags = ("-shared", "-fPIC")
    pirn = compile_c(tmp_path, "libpirn.so.0", offer, *flags, "-Wl,-soname,libpirn.so.0")
    home = compile_c(
        tmp_path,
        "libhome.so.1",
        call + "int home(void) { return pirn_sched_register(0); }\n",
        *flags,
        "-Wl,-soname,libhome.so.1",
        str(pirn),
        origin,
    )
    plain = compile_c(tmp_path, "plain", main, origin, str(pirn))
    direct = compile_c(
        tmp_path,
        "direct",
        call + "int main(void) { return pirn_sched_register(0); }\n",
        str(pirn),
        origin,
    )
    nested = compile_c(tmp_path, "nested", main, origin, str(home), "-Wl,-rpath-link=.")
    assert not brings(plain)
    assert brings(direct)
    assert brings(nested)


@needs_cc
def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    """Three hundred of them: never a traceback."""
    data = compile_c(tmp_path, "whole", "int main(void) { return 0; }\n").read_bytes()
    damaged, chance, refused = tmp_path / "damaged", random.Random(1), 0
    for _ in range(300):
        raw = bytearray(data)
        for _ in range(chance.choice((1, 3, 10, 100))):
            at = chance.choice((chance.randrange(64), chance.randrange(len(raw)), len(raw) - 9))
            raw[at] = chance.choice((0, 1, 127, 128, 255))
        damaged.write_bytes(raw[: chance.randrange(len(raw))] if chance.random() < 0.2 else raw)
        try:
            linked.read(damaged)
        except UserError as error:
            assert "is a damaged ELF file: " in error.message  # noqa: PT017
            assert error.exit_code == 126  # noqa: PT017
            refused += 1
    assert 10 < refused < 290


def test_fifo_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UserError, match="is a FIFO, not an ordinary file"):
        linked.read(tmp_path / "fifo")
