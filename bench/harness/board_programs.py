# SPDX-License-Identifier: MIT
"""Programs on boards, their inputs, and a run that counts instructions."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pirn_tools import paths
from pirn_tools.board import machine
from pirn_tools.board.boards import Board
from pirn_tools.errors import UserError
from pirn_tools.programs import boards, inputs
from pirn_tools.programs.plan import choose, load
from pirn_tools.programs.sources import Source, fetch, machine_apts

THREADS = 4
TIMEOUT = 300  # seconds, of a run
TEXT_BYTES = 512 << 10
VIDEO_SIZE, PICTURES = (160, 120), 16
OPTIONS = 24


@dataclass(frozen=True)
class Work:
    """A program's run. {input} and {output} in arguments are files."""

    name: str
    what: str
    input: Path
    arguments: tuple[str, ...]

    def words(self, output: Path) -> list[str]:
        return [word.format(input=self.input, output=output) for word in self.arguments]


def works(root: Path, sources: Path, folder: Path) -> list[Work]:
    """All programs; makes their inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    options, text = folder / "options.txt", folder / "input.txt"
    maker = root / "apps/blackscholes/make_options.py"
    subprocess.run([sys.executable, maker, str(OPTIONS), str(options)], check=True)
    if not text.exists():
        whole = inputs.text([sources], folder / "whole.txt")
        text.write_bytes(whole.read_bytes()[:TEXT_BYTES])
    clip = inputs.video(root / "build/demo", folder / "clip.y4m", VIDEO_SIZE, PICTURES)
    n = str(THREADS)
    sizes = ("--fragment=16384", "--average=1024")
    x264 = ("--quiet", "--no-progress", "--threads", n, "-o", "{output}.264", "{input}")
    return [
        Work(
            "blackscholes",
            f"{OPTIONS} options, 10,000 runs",
            options,
            ("--runs=10000", n, "{input}", "{output}"),
        ),
        Work(
            "dedup",
            f"{TEXT_BYTES >> 10} KiB of text in chunks of about 1 KiB",
            text,
            (f"--threads={n}", *sizes, "{input}", "{output}"),
        ),
        Work("x264", f"{PICTURES} pictures of {VIDEO_SIZE[0]} x {VIDEO_SIZE[1]}", clip, x264),
    ]


class Programs:
    """The binaries, for boards and for this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "build" / "programs"
        plan = load(root / "apps/programs/programs.toml")
        self.x264 = choose(plan, ["x264"])[0]
        self.source: Source = fetch(
            self.x264.package, machine_apts(self.folder / "apt"), self.folder / "sources"
        )

    def host(self, work: Work) -> Path:
        if work.name == "x264":
            return boards.build_host(self.x264, self.source, self.folder)
        return _existing(self.root / "build/release/apps" / f"{work.name}-nptl", "make apps")

    def on(self, board: Board, work: Work) -> Path:
        build = self.root / "build" / board.name
        if work.name == "x264":
            return boards.build_board(self.x264, self.source, board.target, build, self.folder)
        return _existing(build / "apps" / f"{work.name}.elf", "make boards")


def _existing(path: Path, how: str) -> Path:
    if not path.exists():
        raise UserError(f"there is no {paths.short(path)}; `{how}` builds it")
    return path


def make_plugin(root: Path, folder: Path) -> Path:
    """QEMU's plugin that counts instructions."""
    folder.mkdir(parents=True, exist_ok=True)
    plugin = folder / "cores.so"
    source = root / "bench/board/plugin/cores.c"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(plugin), str(source)]
    subprocess.run(command, check=True)
    return plugin


def output_of(folder: Path) -> bytes:
    """The output of a run: one file, whose name the program may have extended."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("output*")))


def run_host(binary: Path, work: Work) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        command = [str(binary), *work.words(Path(name) / "output")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UserError(f"{work.name}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return output_of(Path(name))


def run_board(
    board: Board, cores: int, binary: Path, work: Work, plugin: Path
) -> tuple[list[int], bytes]:
    """The instructions of each core, and the output of the program."""
    machine.check_program(board, str(binary))
    machine.check_qemu(board)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Cores that wait for work count as idle.
        words = machine.words({"PIRN_SPIN": "0"}, str(binary), work.words(folder / "output"))
        command = machine.command(board, str(binary), words, machine.Options(cpus=cores))
        command += ["-plugin", f"{plugin},out={folder / 'counts'}"]
        said = _finish(command, f"{work.name} on {board.name} with {cores} cores")
        counts = [int(line) for line in (folder / "counts").read_text().split()]
        if len(counts) != cores:
            raise UserError(f"{work.name} on {board.name}: {len(counts)} of {cores} ran\n{said}")
        return counts, output_of(folder)


def _finish(command: Sequence[str], what: str) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{what}: not done after {TIMEOUT} s") from None
    if done.returncode != 0:
        raise UserError(f"{what}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr
