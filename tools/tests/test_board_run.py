# SPDX-License-Identifier: MIT
"""`pirn board`: what it says of wrong calls, and a program of a few instructions under QEMU."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pirn_tools import paths
from pirn_tools.board import boards, gdb, machine, stuck
from pirn_tools.board.boards import Board
from pirn_tools.board.cli import _with_port
from pirn_tools.board.machine import Options
from pirn_tools.board.places import Filter, Places
from pirn_tools.errors import UserError

BOARD = "riscv64-virt"
COMPILER = "riscv64-unknown-elf-gcc"
QEMU = "qemu-system-riscv64"

needs_compiler = pytest.mark.skipif(
    shutil.which(COMPILER) is None, reason=f"no {COMPILER} (tools/setup-boards --target riscv)"
)
needs_board = pytest.mark.skipif(
    shutil.which(COMPILER) is None or shutil.which(QEMU) is None,
    reason=f"no {COMPILER} or no {QEMU} (tools/setup-boards --target riscv)",
)

# The first CPU waits until all have come, prints their number and its command line, then a line
# with the address of a function, and ends with STATUS, or not (HANG).
SOURCE = r"""
    .option norvc
    .section .text.start, "ax"
    .globl _start
_start:
    la      t0, arrived
    li      t1, 1
    amoadd.w zero, t1, (t0)
    csrr    t0, mhartid
    beqz    t0, first
others:
    wfi
    j       others

first:
    la      t0, arrived
    li      t2, CPUS
1:  lw      t1, 0(t0)
    bne     t1, t2, 1b
    li      a0, 0x15                # SYS_GET_CMDLINE
    la      a1, block
    .balign 16
    slli    zero, zero, 0x1f
    ebreak
    srai    zero, zero, 7
    la      a1, line
    call    print
    la      a1, place
    call    print
    j       end

print:
    li      t0, 0x10000000
1:  lbu     t1, 0(a1)
    beqz    t1, 2f
    sb      t1, 0(t0)
    addi    a1, a1, 1
    j       1b
2:  ret

end:
#ifdef HANG
    j       end
#endif
    li      t0, 0x100000
    li      t1, (STATUS << 16) | 0x3333
    sw      t1, 0(t0)
    j       .

    .data
    .balign 8
block:   .dword line, 200
arrived: .word 0
line:    .fill 200
place:   .asciz "\npirn: at 0x80001000\r\npirn: from 0x80001008\nrest"

    .section .text.marked, "ax"
    .globl marked
    .type marked, @function
marked:
    nop
    nop
    nop
    .size marked, . - marked
"""
LAYOUT = """
ENTRY(_start)
SECTIONS {
  .text 0x80000000 : { *(.text.start) }
  .text.marked 0x80001000 : { *(.text.marked) }
  .data 0x80002000 : { *(.data) }
}
"""


def program(folder: Path, *defines: str, cpus: int = 1) -> str:
    (folder / "tiny.S").write_text(SOURCE)
    (folder / "tiny.ld").write_text(LAYOUT)
    path = folder / "tiny.elf"
    flags = ["-march=rv64gc", "-mabi=lp64d", "-g", "-nostdlib", "-static", "-T", "tiny.ld"]
    names = [f"-D{define}" for define in (f"CPUS={cpus}", *defines)]
    command = [COMPILER, *flags, *names, "-o", str(path), "tiny.S"]
    subprocess.run(command, cwd=folder, check=True)
    return str(path)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pirn_tools", "board", *arguments]


def pirn(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIRN_")}
    return subprocess.run(
        command(*arguments),
        env={**own, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_board
def test_run_passes_on_words_output_and_status(tmp_path: Path) -> None:
    path = program(tmp_path, "STATUS=42", cpus=3)
    done = pirn(
        *("run", "--cpus", "3", "--env", "NAME=a b", BOARD, path, "one,two", "--icount"),
        PIRN_SCHED="steal:victim=max",
        PIRN_BUILD="elsewhere",
    )
    assert done.returncode == 42, done.stderr
    words = rf"PIRN_SCHED=steal:victim=max NAME=a\ b {path} one,two --icount"
    source = f"{tmp_path}/tiny.S"
    marked = SOURCE.splitlines().index("marked:") + 2
    assert done.stdout == (
        f"{words}\npirn: at 0x80001000  marked, {source}:{marked}\n"
        f"pirn: from 0x80001008  marked, {source}:{marked + 1}\nrest"
    )


@needs_board
@pytest.mark.parametrize("status", [0, 1, 255])
def test_run_repeats_with_icount(tmp_path: Path, status: int) -> None:
    path = program(tmp_path, f"STATUS={status}", cpus=2)
    first = pirn("run", "--icount", "--cpus", "2", BOARD, path)
    assert pirn("run", "--icount", "--cpus", "2", BOARD, path).stdout == first.stdout
    assert first.returncode == status


@needs_board
def test_run_ends_a_program_that_does_not(tmp_path: Path) -> None:
    done = pirn(
        "run", "--cpus", "1", "--timeout", "3", BOARD, program(tmp_path, "HANG", "STATUS=0")
    )
    assert done.returncode == 124
    said = done.stderr.splitlines()
    end = said.index(f"pirn: no end after 3 s: {QEMU} was stopped")
    # On a busy machine it may not have left the emulator's reset vector, which has no name.
    assert re.fullmatch(r"pirn: core 0 is at 0x[0-9a-f]+(  \w+, .*\.S:\d+)?", said[end + 1])


RISCV = "CPU#{}\n V      =   0\n pc       0000000080001000\n x0/zero  0 x1/ra    0000000080001{}\n"


@needs_compiler
def test_report_names_core_and_caller_of_registers(tmp_path: Path) -> None:
    places = Places(Path(program(tmp_path, "STATUS=0")))
    with stuck.monitored(places, 64) as monitor:
        other = socket.socket(fileno=os.dup(monitor.descriptor))
        answers = ['{"QMP": {}}', '{"return": {}}', '{"event": "STOP"}', '{"return": {}}']
        registers = RISCV.format(0, "000") + RISCV.format(13, "bad")
        answers.append(json.dumps({"return": registers}))
        other.sendall("".join(f"{line}\n" for line in answers).encode())
        lines = monitor.report()
        other.close()
    assert [line.partition("  ")[0] for line in lines if " is at " in line] == [
        "pirn: core 0 is at 0x80001000",
        "pirn: core 13 is at 0x80001000",
    ]
    assert "  marked, " in lines[0]


def test_report_is_empty_when_the_machine_has_ended(tmp_path: Path) -> None:
    with stuck.monitored(Places(tmp_path / "none"), 32) as monitor:
        monitor.started()
        assert monitor.report() == []


@pytest.mark.parametrize(
    ("text", "counter", "link"),
    [
        (" pc       80001000\n x1/ra    80001008", "80001000", "80001008"),
        ("R12=00000000 R13=20000000 R14=000080d1 R15=00008010\nXPSR=", "00008010", "000080d1"),
        (" PC=0000000040080010 X00=0000000000000000\nX30=0000000040080020", None, None),
        ("pc=0xffffffff80100000 HI=0x00000000\nGPR28: gp 00000000 ra 80100010", None, "80100010"),
    ],
)
def test_registers_are_those_of_all_processors(
    text: str, counter: str | None, link: str | None
) -> None:
    at, caller = stuck.COUNTER.search(text), stuck.LINK.search(text)
    assert at is not None
    assert caller is not None
    assert at[1] == (counter or at[1])
    assert caller[1] == (link or caller[1])
    assert int(at[1], 16) != int(caller[1], 16)


def wait_until_gone(pid: int) -> None:
    """Without a limit but the test's own: the machine may be slow."""
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.05)


@needs_board
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_qemu_does_not_outlive_us(tmp_path: Path, number: signal.Signals, status: int) -> None:
    path = program(tmp_path, "HANG", "STATUS=0")
    started = subprocess.Popen(
        command("run", "--cpus", "1", BOARD, path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert started.stdout is not None
    assert started.stdout.readline()  # QEMU runs
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    started.send_signal(number)
    assert started.wait(60) == status
    started.stdout.close()
    assert len(children) == 1
    wait_until_gone(int(children[0]))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@needs_board
@pytest.mark.skipif(shutil.which("gdb-multiarch") is None, reason="no gdb-multiarch")
def test_gdb_is_waited_for(tmp_path: Path) -> None:
    path = program(tmp_path, "STATUS=42")
    started = subprocess.Popen(
        command("run", "--gdb", str(free_port()), "--cpus", "1", BOARD, path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr is not None
    line = started.stderr.readline().strip()
    assert line.startswith(f"pirn: waiting for gdb-multiarch {path} ")
    # QEMU listens a moment after that line.
    line = line.removeprefix("pirn: waiting for ")
    steps = ["-batch", "-iex", "set tcp connect-timeout 60"]
    for step in ("hbreak end", "continue", "detach"):
        steps += ["-ex", step]
    done = subprocess.run([*shlex.split(line), *steps], capture_output=True, text=True, check=False)
    assert "Breakpoint 1, end ()" in done.stdout, done.stderr
    output, _ = started.communicate(timeout=60)
    assert started.returncode == 42
    assert output.endswith("rest")


@needs_compiler
def test_a_port_that_is_taken_is_refused_and_not_chosen(tmp_path: Path) -> None:
    path = program(tmp_path, "STATUS=0")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = pirn("run", "--gdb", str(port), "--dry-run", BOARD, path)
        assert done.returncode == 2
        assert f"--gdb {port}: address already in use; without a number" in done.stderr
    assert (
        f"tcp:127.0.0.1:{port} " in pirn("run", "--gdb", str(port), "--dry-run", BOARD, path).stdout
    )


def test_a_free_port_is_chosen_where_none_is_given() -> None:
    port = gdb.free(0)
    assert 0 < port < 65536
    assert gdb.free(port) == port


def test_the_command_for_gdb_has_the_script() -> None:
    script = Path(__file__).resolve().parents[1] / "debuggers" / "pirn-gdb.py"
    assert script.is_file()
    assert shlex.split(gdb.command("a.elf", 7)) == [
        *("gdb-multiarch", "a.elf", "-ex", f"source {script}"),
        *("-ex", "target remote 127.0.0.1:7"),
    ]


@needs_compiler
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nope-virt"], 'no board "nope-virt"'),
        (["riscv64-vir"], f'did you mean "{BOARD}"?'),
        (["--cpus", "0", BOARD], f"--cpus 0: {BOARD} has 1 to"),
        (["--cpus", "999", BOARD], f"--cpus 999: {BOARD} has 1 to"),
        (["--cpus", "many", BOARD], "'many' is not a valid integer"),
        (["--timeout", "-1", BOARD], "-1.0 is not in the range"),
        (["--gdb", "70000", BOARD], "'70000' is no port: 1 to 65535, or nothing for a free one"),
        (["--gdb", "-1", BOARD], "'-1' is no port: 1 to 65535"),
        (["--gdb=near", BOARD], "'near' is no port: 1 to 65535"),
        (["--env", "1A=x", BOARD], '--env "1A=x": NAME=VALUE is valid'),
        (["--env", "A", BOARD], '--env "A": NAME=VALUE is valid'),
        (["riscv32-virt"], "is for RISCV, 64 bits; riscv32-virt runs RISCV, 32 bits"),
    ],
)
def test_run_says_what_is_wrong(tmp_path: Path, arguments: list[str], text: str) -> None:
    done = pirn("run", *arguments, program(tmp_path, "STATUS=0"))
    assert done.returncode == 2
    assert text in done.stderr


def test_run_needs_a_program_for_the_board(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program\n")
    (tmp_path / "cut").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9))
    for name, text in [
        ("absent", "No such file"),
        ("text", "is not an ELF file"),
        ("cut", "is not an ELF file"),
        (".", "is a folder, not an ordinary file"),
    ]:
        done = pirn("run", BOARD, str(tmp_path / name))
        assert done.returncode == 2, done.stderr
        assert text in done.stderr
    done = pirn("run", BOARD, sys.executable)
    assert done.returncode == 2
    assert f"{BOARD} runs RISCV, 64 bits" in done.stderr


@needs_compiler
def test_run_says_what_installs_qemu(tmp_path: Path) -> None:
    path = program(tmp_path, "STATUS=0")
    done = pirn("run", BOARD, path, PATH=str(tmp_path))
    assert done.returncode == 2
    assert f"{QEMU} is missing: tools/setup-boards --target riscv" in done.stderr
    assert pirn("run", "--dry-run", BOARD, path, PATH=str(tmp_path)).returncode == 0


@pytest.fixture
def virt() -> Board:
    return boards.find(boards.folders(), BOARD)


def test_the_command_has_cpus_words_and_port(virt: Board) -> None:
    line = machine.command(virt, "a.elf", ["A=1,2", "a.elf"], Options(2, icount=True, gdb=99))
    text = " ".join(line)
    assert line[0] == QEMU
    assert " -smp 2 " in text
    assert " enable=on,target=native,arg=A=1,,2,arg=a.elf " in text
    assert " -icount shift=3,sleep=off -rtc clock=vm -gdb tcp:127.0.0.1:99 -S -kernel a.elf" in text
    assert f" -smp {virt.cpus_default} " in " ".join(machine.command(virt, "a", [], Options()))


def test_words_keep_their_ends() -> None:
    assert machine.words({"A": "x y"}, "B=1", ['"q"', "a\\b", "\t"]) == [
        "A=x\\ y",
        "./B=1",
        '\\"q\\"',
        "a\\\\b",
        "\\\t",
    ]
    with pytest.raises(UserError, match="empty argument"):
        machine.words({}, "p", [""])


def test_the_port_of_gdb_may_be_left_out() -> None:
    others = frozenset({"--cpus", "--env"})
    assert _with_port(["--gdb", "77", "b", "p"], others) == ["--gdb=77", "b", "p"]
    assert _with_port(["--gdb", "--cpus", "2", "b"], others) == ["--gdb=0", "--cpus", "2", "b"]
    assert _with_port(["--env", "--gdb", "b", "--gdb"], others) == ["--env", "--gdb", "b", "--gdb"]


def test_every_board_can_be_shown() -> None:
    listed = pirn("list", COLUMNS="200")
    assert listed.returncode == 0
    for board in boards.load_all(boards.folders()):
        assert board.name in listed.stdout
        shown = pirn("info", board.name)
        assert shown.returncode == 0
        for text in (board.description, board.qemu, board.exit, *board.target.flags):
            assert text in shown.stdout


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('target = "rv64"', 'target = "rv65"', 'no target "rv65" (valid: rv64, '),
        ("default = 4", "default = 9", "default is to be between 1 and most"),
        ("most = 8", "", "'most' is missing"),
        ("[cpus]", "[cpu]", "unknown: cpu (valid: "),
        ("0x80000000 =", "here =", 'memory: "here" is to be an address'),
    ],
)
def test_a_wrong_description_is_named(tmp_path: Path, old: str, new: str, text: str) -> None:
    right = (boards.folder(paths.project()) / BOARD / boards.FILE).read_text()
    assert old in right
    path = tmp_path / boards.FILE
    path.write_text(right.replace(old, new))
    with pytest.raises(UserError) as caught:
        boards.read(path)
    assert str(path) in caught.value.message
    assert text in caught.value.message


class Known(Places):
    """Places without a program."""

    def __init__(self) -> None:
        super().__init__(Path())

    def of(self, address: int) -> str | None:
        return f"f, a.c:{address}" if address < 100 else None


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_lines_are_added_to_however_they_come(step: int) -> None:
    text = (
        b"pirn: at 0x10\n\xff\x00pirn: at 0x11\r\n  pirn: from 0x11\nx pirn: at 0x12\n"
        b"pirn: at 0x70\npirn: at 0x12 and more\n" + b"y" * 500 + b"pirn: at 0x10\npirn: at 0x10\r"
    )
    text = text.replace(b"\xff\x00pirn", b"\t pirn")
    filtered = Filter(Known())
    out = b"".join(filtered(text[i : i + step]) for i in range(0, len(text), step)) + filtered(b"")
    wanted = text.replace(b"at 0x10\n\t", b"at 0x10  f, a.c:16\n\t")
    wanted = wanted.replace(b"at 0x11\r\n", b"at 0x11  f, a.c:17\r\n", 1)
    wanted = wanted.replace(b"from 0x11\n", b"from 0x11  f, a.c:16\n")
    assert out == wanted
