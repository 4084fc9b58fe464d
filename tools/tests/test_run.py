# SPDX-License-Identifier: MIT
"""`pirn run` with whatever it may be given, and what the programs' children get."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pirn_tools.binary import target
from pirn_tools.binary.target import Entry, Kind
from pirn_tools.errors import UserError

BUILT = bool(os.environ.get("PIRN_LIBRARY"))
pytestmark = pytest.mark.skipif(
    not BUILT or shutil.which("cc") is None, reason="no built library, or no C compiler"
)
WHICH = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static void *thread(void *arg) { return arg; }
int main(int argc, char **argv)
{
    char line[4096];
    int pirn = 0;
    pthread_t t;
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        pirn |= strstr(line, "libpirn-pthread") != NULL;
    printf("%s %d\n", pirn ? "pirn" : "system", argc);
    return 3;
}
"""
SYSTEM = "on the system's threads\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs that say on what they run, and end with status 3."""
    made = tmp_path_factory.mktemp("run")
    (made / "which.c").write_text(WHICH)
    for name, flags in (("dynamic", ()), ("static", ("-static",)), ("pie", ("-static-pie",))):
        compile_c(made, "which.c", name, *flags, "-pthread")
    (made / "exit.c").write_text("int main(void) { return 0; }")
    linker = made / "ld-musl-x86_64.so.1"
    linker.symlink_to(linker_of(made / "dynamic"))
    compile_c(made, "which.c", "musl", "-pthread", f"-Wl,--dynamic-linker={linker}")
    compile_c(made, "which.c", "nolinker", "-pthread", "-Wl,--dynamic-linker=/nonexistent/ld.so")
    raw = bytearray((made / "dynamic").read_bytes())
    raw[18:20] = (243 if os.uname().machine != "riscv64" else 183).to_bytes(2, "little")
    program(made / "foreign", bytes(raw))
    program(made / "broken", bytes(raw[:100]))
    program(made / "junk", b"\x00\x01junk")
    shutil.copy(made / "dynamic", made / "with space:and colon")
    return made


def compile_c(folder: Path, source: str, name: str, *flags: str) -> None:
    subprocess.run(["cc", "-o", folder / name, folder / source, *flags], check=True)


def linker_of(path: Path) -> str:
    found = target.find(str(path)).binary
    assert found is not None
    return found.interpreter


def program(path: Path, contents: bytes | str) -> Path:
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    path.chmod(0o755)
    return path


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`pirn run WORDS` in that folder."""
    names = {"PIRN_CPUS", *environment}
    rest = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.run(
        [sys.executable, "-m", "pirn_tools", "run", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**rest, "PYTHONPATH": str(Path(__file__).parents[1]), **environment},
    )


@pytest.mark.parametrize(
    ("name", "said", "remark"),
    [
        ("./dynamic", "pirn", ""),
        ("./with space:and colon", "pirn", ""),
        ("./static", "system", f"pirn: ./static: static program: it runs {SYSTEM}"),
        ("./pie", "system", f"pirn: ./pie: static program: it runs {SYSTEM}"),
        (
            "./musl",
            "system",
            "pirn: ./musl: program of musl, not of glibc: it and the programs that it starts run "
            + SYSTEM,
        ),
    ],
)
def test_program_gets_the_library_where_it_can(
    folder: Path, name: str, said: str, remark: str
) -> None:
    result = run(folder, "--", name, "x")
    assert (result.stdout, result.returncode, result.stderr) == (f"{said} 2\n", 3, remark)


def test_32_bit_program_runs_without_a_word_of_the_linker(folder: Path) -> None:
    source = 'void _start(void) { __asm__("mov $1,%eax; mov $5,%ebx; int $0x80"); }'
    (folder / "exit32.c").write_text(source)
    made = subprocess.run(
        ["cc", "-m32", "-nostdlib", "-static", "-o", folder / "exit32", folder / "exit32.c"],
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("the compiler makes no 32-bit programs")
    if subprocess.run([folder / "exit32"], check=False).returncode != 5:
        pytest.skip("the kernel runs no 32-bit programs")
    result = run(folder, "./exit32")
    line = f"pirn: ./exit32: 32-bit program: it and the programs that it starts run {SYSTEM}"
    assert (result.returncode, result.stderr) == (5, line)
    assert run(folder, "sh", "-c", "./exit32; ./dynamic").stdout == "pirn 1\n"


@pytest.mark.parametrize(
    ("text", "said", "remark"),
    [
        ("#!{0}/dynamic\n", "pirn 2", ""),
        ("#! \t{0}/dynamic  an argument \n", "pirn 3", ""),
        ("#!{0}/static\n", "system 2", f"({{0}}/static): static program: it runs {SYSTEM}"),
        ("#!{0}/chain\n", "pirn 3", ""),
        ("#!/usr/bin/env -S {0}/dynamic -x 'a b'\n", "pirn 4", ""),
        ("#!/usr/bin/env -S FOO=1 {0}/static\n", "system 2", f"it runs {SYSTEM}"),
        ("#!/usr/bin/env -S -i {0}/dynamic\n", "system 2", f"it starts run {SYSTEM}"),
        ("{0}/dynamic $1\n", "pirn 1", ""),  # no first line: for the shell
        ("#!/bin/sh\n{0}/static; {0}/dynamic\n", "system 1\npirn 1", ""),
    ],
)
def test_script_is_judged_by_its_interpreter(
    folder: Path, text: str, said: str, remark: str
) -> None:
    program(folder / "chain", f"#!{folder}/dynamic\n")
    program(folder / "script", text.format(folder))
    result = run(folder, "./script")
    assert (result.stdout, result.returncode) == (f"{said}\n", 3), result.stderr
    assert result.stderr.endswith(remark.format(folder))
    assert bool(result.stderr) == bool(remark)


@pytest.mark.parametrize(
    ("name", "contents", "status", "message"),
    [
        ("none", None, 127, "no such program"),
        ("folder", None, 126, "is a folder"),
        ("which.c", None, 126, "is not executable"),
        ("foreign", None, 126, "no emulator for it is registered"),
        ("broken", None, 126, "is a damaged ELF file"),
        ("junk", None, 126, "it is of no format that this system can run"),
        ("nolinker", None, 126, "needs the dynamic linker /nonexistent/ld.so"),
        ("bad", "#!/nonexistent/x\n", 126, "its interpreter /nonexistent/x does not exist"),
        ("bad", "#!/bin/sh\r\n", 126, "(a line that ends with a carriage return?)"),
        ("bad", "#!\n", 126, "names no interpreter"),
        ("bad", "#!/\n", 126, "its interpreter / is not executable"),
        ("bad", "#!/usr/bin/env nothing-of-that-name\n", 127, "which env is to start"),
        ("bad", "#!{0}/bad\n", 126, "more than 5 scripts interpret each other"),
        ("bad", "#!/" + "x" * 300, 126, "the first line is longer than 256 bytes"),
    ],
)
def test_what_cannot_run_is_an_error(
    folder: Path, name: str, contents: str | None, status: int, message: str
) -> None:
    (folder / "folder").mkdir(exist_ok=True)
    if contents is not None:
        program(folder / name, contents.format(folder))
    result = run(folder, f"./{name}")
    assert result.returncode == status
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_status_and_signal_are_those_of_the_program(folder: Path) -> None:
    assert run(folder, "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    assert run(folder, "./static").returncode == 3
    assert run(folder, "python3", "-c", "raise SystemExit(7)").returncode == 7


def test_preload_is_refused_when_nothing_can_be_loaded(folder: Path) -> None:
    result = run(folder, "--preload", "./static")
    assert result.returncode == 1
    assert "./static: static program: nothing can be preloaded into it" in result.stderr


CHILDREN = "import os, subprocess as s; p = './dynamic'\n"
WAYS = {
    "exec": "s.call([p])",
    "environment": "s.call([p], env=dict(os.environ))",
    "system": "os.system(p)",
    "posix_spawn": "os.waitpid(os.posix_spawn(p, [p], os.environ), 0)",
    "posix_spawnp": "os.waitpid(os.posix_spawnp(p, [p], dict(os.environ)), 0)",
    "grandchild": "s.call(['sh', '-c', p + '; true'])",
}


@pytest.mark.parametrize("way", WAYS)
def test_children_get_the_library_unless_told_otherwise(folder: Path, way: str) -> None:
    code = CHILDREN + WAYS[way]
    assert run(folder, "python3", "-c", code).stdout == "pirn 1\n"
    assert run(folder, "--no-children", "python3", "-c", code).stdout == "system 1\n"


def test_no_children_means_the_process_and_what_it_becomes(folder: Path) -> None:
    text = "./dynamic; (exec ./dynamic); exec ./dynamic"
    said = run(folder, "--no-children", "sh", "-c", text).stdout
    assert said == "system 1\nsystem 1\npirn 1\n"
    program(folder / "script", "#!/usr/bin/env -S sh -e\n./dynamic || true; exec ./dynamic\n")
    assert run(folder, "--no-children", "./script").stdout == "system 1\npirn 1\n"
    code = "import os; os.execve('./dynamic', ['x'], {})"
    assert run(folder, "--no-children", "python3", "-c", code).stdout == "system 1\n"


def test_other_preloads_of_the_user_stay(folder: Path) -> None:
    (folder / "other.c").write_text("int other;\n")
    compile_c(folder, "other.c", "other.so", "-shared", "-fPIC")
    other = str(folder / "other.so")
    said = run(folder, "--no-children", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=other)
    assert said.stdout == f"{other}\n"
    said = run(folder, "--no-children", "sh", "-c", "exec ./dynamic", LD_PRELOAD=other)
    assert said.stdout == "pirn 1\n"
    first, second = run(folder, "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=other).stdout.split(":")
    assert "libpirn-pthread" in first
    assert second == f"{other}\n"


def test_program_of_another_c_library_is_started_without_ours_by_a_child(folder: Path) -> None:
    assert run(folder, "sh", "-c", "./musl; ./dynamic").stdout == "system 1\npirn 1\n"


def test_misspelt_variables_are_warnings_and_wrong_options_errors(folder: Path) -> None:
    result = run(folder, "./dynamic", PIRN_CPSU="1", PIRN_DEADLOCK="of")
    assert result.returncode == 3
    assert "pirn: PIRN_CPSU is ignored: there is no such option; did you mean PIRN_CPUS?\n" in (
        result.stderr
    )
    assert (
        'option deadlock="of" is not valid; valid: report, abort or off; did you mean "off"?'
        in (result.stderr)
    )
    assert result.stderr.count("\n") == 2
    result = run(folder, "--cpus", "two", "./dynamic")
    assert (result.returncode, result.stdout) == (2, "")
    assert 'option cpus="two" is not valid; valid: 1 to 256, auto or all' in result.stderr


@pytest.mark.parametrize(
    ("mode", "others_user", "why"),
    [
        (stat.S_ISUID | 0o755, True, "set-user-ID program"),
        (stat.S_ISUID | 0o755, False, None),
        (stat.S_ISGID | 0o755, True, "set-group-ID program"),
        (stat.S_ISGID | 0o745, True, None),  # the mark of mandatory locks
        (0o755, True, None),
    ],
)
def test_rights_are_gained_when_the_file_is_somebody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, others_user: bool, why: str | None
) -> None:
    file = program(tmp_path / "x", "")
    file.chmod(mode)
    found = file.stat()
    monkeypatch.setattr(os, "getuid", lambda: found.st_uid + others_user)
    monkeypatch.setattr(os, "getgid", lambda: found.st_gid + others_user)
    monkeypatch.setattr(target, "no_new_rights", lambda: False)
    if os.statvfs(file).f_flag & os.ST_NOSUID:
        pytest.skip("programs of this file system give no rights")
    assert target.gains_rights(file) == why
    monkeypatch.setattr(target, "no_new_rights", lambda: True)
    assert target.gains_rights(file) is None


def test_set_user_id_program_is_started_with_one_line(folder: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root, for a program of another user")
    file = folder / "other-user"
    shutil.copy(folder / "dynamic", file)
    os.chown(file, 1, -1)
    file.chmod(0o4755)
    if target.gains_rights(file) is None:
        pytest.skip("programs of this file system give no rights")
    result = run(folder, "./other-user")
    line = f"set-user-ID program: it and the programs that it starts run {SYSTEM}"
    assert (result.stdout, result.stderr) == ("system 1\n", f"pirn: ./other-user: {line}")


@pytest.mark.parametrize(
    ("words", "program_", "args", "cleared"),
    [
        (["x", "-i"], "x", ("-i",), False),
        (["A=1", "-u", "HOME", "x"], "x", (), False),
        (["-i", "x"], "x", (), True),
        (["-u", "LD_PRELOAD", "x"], "x", (), True),
        (["-i", "LD_PRELOAD=y", "x"], "x", (), False),
        (["-S", "x 'a b' c", "d"], "x", ("a b", "c", "d"), False),
        (["-Sx -y", "d"], "x", ("-y", "d"), False),
        (["-iS", "x"], "x", (), True),
        (["--split-string=x y"], "x", ("y",), False),
        (["--", "x"], "x", (), False),
    ],
)
def test_env_starts_the_first_word_that_is_no_option(
    words: list[str], program_: str, args: tuple[str, ...], cleared: bool
) -> None:
    found = target.env_starts(words)
    assert found is not None
    assert (found.program, found.args, found.cleared) == (program_, args, cleared)


@pytest.mark.parametrize("words", [[], ["-i"], ["A=1"], ["-S", "x '"], ["-S"]])
def test_env_starts_nothing_without_a_program(words: list[str]) -> None:
    assert target.env_starts(words) is None


def test_emulator_is_known_by_magic_and_mask() -> None:
    entry = "enabled\ninterpreter /x\nflags: \noffset 1\nmagic 4546\nmask ff0f\n"
    assert target._matches(entry, b"_\x45\x56")
    assert not target._matches(entry, b"_\x45\x57")
    assert not target._matches(entry, b"_\x45")
    assert not target._matches(entry.replace("enabled", "disabled"), b"_\x45\x56")
    assert not target._matches("enabled\nextension .x\n", b"_\x45\x56")


def test_linked_program_and_kinds_are_told_apart(folder: Path) -> None:
    library = Path(os.environ["PIRN_LIBRARY"]).with_name("libpirn-pthread.so")
    compile_c(folder, "which.c", "linked", str(library))
    assert target.find(str(folder / "linked")).entry is Entry.LINKED
    assert run(folder, "./linked").stdout == "pirn 1\n"
    result = run(folder, "./linked", PIRN_CPSU="1")
    assert (result.returncode, result.stdout) == (2, "")
    assert target.find(str(folder / "static")).kind is Kind.STATIC
    with pytest.raises(UserError):
        target.find(str(folder / "foreign"))
