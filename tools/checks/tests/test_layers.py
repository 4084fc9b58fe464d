# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import layers
import pytest
from conftest import Tree

SCRIPT = Path(layers.__file__)


def objects(**symbols: str) -> list[layers.Object]:
    """Of `src__core__run="+rt_run -rt_wake"`: what src/core/run.c defines and needs."""
    made = []
    for name, text in symbols.items():
        words = text.split()
        defined = {w[1:] for w in words if w[0] == "+"}
        needed = {w[1:] for w in words if w[0] == "-"}
        made.append(layers.Object(name.replace("__", "/") + ".c", defined, needed))
    return made


UPWARD = [
    ("src__core__run", "src__posix__mutex", "core may not need made_up (posix)"),
    ("src__core__run", "src__native__pirn", "core may not need made_up (native)"),
    ("src__core__run", "src__sync__mutex", "core may not need made_up (sync)"),
    ("src__sched__steal", "src__sync__mutex", "sched may not need made_up (sync)"),
    ("src__sync__mutex", "src__posix__mutex", "sync may not need made_up (posix)"),
    ("src__sync__mutex", "src__sched__steal", "sync may not need made_up (sched)"),
    ("src__trace__ring", "src__posix__mutex", "trace may not need made_up (posix)"),
    ("src__prof__tree", "src__sync__mutex", "prof may not need made_up (sync)"),
    ("src__native__pirn", "src__posix__mutex", "native may not need made_up (posix)"),
    ("src__posix__mutex", "src__sched__steal", "posix may not need made_up (sched)"),
    ("port__env__linux__cpu", "src__core__run", "port may not need made_up (core)"),
    ("port__arch__arm__bare__trap", "src__core__run", "port may not need made_up (core)"),
]
DOWNWARD = [
    ("src__core__run", "port__env__linux__cpu"),
    ("src__core__run", "port__env__sim__port"),
    ("src__core__run", "src__sched__policies"),
    ("src__sched__steal", "src__core__run"),
    ("src__sync__mutex", "src__core__run"),
    ("src__posix__mutex", "src__sync__mutex"),
    ("src__posix__bare__exit", "src__posix__mutex"),
    ("port__env__sim__sim", "src__sync__mutex"),
    ("port__board__cxx__guard", "src__native__pirn"),
]


@pytest.mark.parametrize(("needs", "defines", "text"), UPWARD)
def test_layers_complains_when_upward(needs: str, defines: str, text: str) -> None:
    problems = layers.check(objects(**{needs: "-made_up", defines: "+made_up"}), layers.Declared())
    assert [p.text for p in problems] == [text]
    assert problems[0].path == needs.replace("__", "/") + ".c"


@pytest.mark.parametrize(("needs", "defines"), DOWNWARD)
def test_layers_is_silent_when_downward(needs: str, defines: str) -> None:
    assert (
        layers.check(objects(**{needs: "-made_up", defines: "+made_up"}), layers.Declared()) == []
    )


def test_layers_is_silent_when_the_port_needs_a_declared_upcall(tree: Tree) -> None:
    root, _ = tree(
        {
            "port/port.h": "/* not rt_hidden() */\nvoid rt_tick(void);\nextern int rt_seen;\n",
            "port/env/linux/linux.h": "void rt_own(void);\n",
        }
    )
    declared = layers.Declared(upcalls=layers.upcalls(root))
    assert declared.upcalls == {"rt_tick", "rt_seen"}
    made = objects(port__env__linux__cpu="-rt_tick -rt_own", src__core__run="+rt_tick +rt_own")
    assert [p.text for p in layers.check(made, declared)] == ["port may not need rt_own (core)"]


TABLE = "HIDDEN extern const struct rt_above rt_above;\n"


def test_layers_is_silent_when_core_needs_a_declared_table(tree: Tree) -> None:
    root, _ = tree({"src/core/above.h": TABLE, "src/sync/sync.h": TABLE.replace("above", "sync")})
    declared = layers.Declared(tables=layers.tables(root))
    assert declared.tables == {"rt_above"}
    made = objects(
        src__core__run="-rt_above", src__sched__steal="-rt_above", src__sync__a="+rt_above"
    )
    assert layers.check(made, declared) == []


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("src/core/above.h", "void rt_above(void);\n"),
        ("src/core/above.h", "extern struct rt_above rt_above;\n"),
        ("src/core/above.h", "/* " + TABLE.strip() + " */\n"),
        ("src/sync/above.h", TABLE),
    ],
)
def test_layers_complains_when_core_needs_what_is_no_table(
    tree: Tree, header: str, text: str
) -> None:
    root, _ = tree({header: text})
    made = objects(src__core__run="-rt_above", src__sync__a="+rt_above")
    problems = layers.check(made, layers.Declared(tables=layers.tables(root)))
    assert [p.text for p in problems] == ["core may not need rt_above (sync)"]


def test_layers_complains_when_a_port_needs_a_table() -> None:
    made = objects(port__env__linux__cpu="-rt_above", src__sync__a="+rt_above")
    problems = layers.check(made, layers.Declared(tables={"rt_above"}))
    assert [p.text for p in problems] == ["port may not need rt_above (sync)"]


def test_layers_is_silent_when_a_layer_that_it_may_need_defines_the_symbol_too() -> None:
    made = objects(src__sync__mutex="-rt_wake", src__core__run="+rt_wake", src__posix__a="+rt_wake")
    assert layers.check(made, layers.Declared()) == []


def test_layers_is_silent_when_a_port_calls_the_c_library() -> None:
    made = objects(port__env__linux__files="-fclose", src__posix__glibc__abi="+fclose")
    assert layers.check(made, layers.Declared()) == []
    made = objects(src__core__run="-fclose", src__posix__glibc__abi="+fclose")
    problems = layers.check(made, layers.Declared())
    assert [p.text for p in problems] == ["core may not need fclose (posix)"]


def test_layers_complains_when_objects_of_a_build_leak(tree: Tree) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None
    sources = {
        "src/core/run.c": "void posix_made_up(void);\nvoid rt_run(void) { posix_made_up(); }\n",
        "src/posix/mutex.c": "void posix_made_up(void) {}\n",
    }
    root, files = tree(sources)
    build = root / "build"
    build.mkdir()
    entries = []
    for file in files:
        command = [compiler, "-o", f"{file.stem}.o", "-c", str(root / file)]
        subprocess.run(command, check=True, cwd=build)
        entry = {"directory": str(build), "command": " ".join(command), "file": str(root / file)}
        entries.append(entry)
    (build / "compile_commands.json").write_text(json.dumps(entries))
    result = subprocess.run(
        [sys.executable, SCRIPT, "--root", root, build], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "src/core/run.c:1: core may not need posix_made_up (posix)" in result.stderr
