# SPDX-License-Identifier: MIT
"""x264 from Debian's source package, to be profiled: as it is, in C only, and instrumented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pirn_tools.demo.clip import ClipShape, make_clip, reference_frames
from pirn_tools.errors import UserError
from pirn_tools.programs.build import build
from pirn_tools.programs.plan import choose, load
from pirn_tools.programs.sources import fetch, machine_apts

from harness.profiling import Case

KIND = "pirn"  # linked with libpirn-pthread, where the functions are that count calls
# Further options for configure. The assembly has no calls that a compiler could instrument.
BUILDS = {
    "x264": "",
    "x264-c": " --disable-asm",
    "x264-instrumented": " --disable-asm --extra-cflags=-finstrument-functions",
}
ARGUMENTS = ("--quiet", "--no-progress", "--preset", "slow", "--threads", "4")
ROOM = {"PIRN_PROFNODES": "128K"}  # the default is too little for all ways to its functions
WITHOUT = "not instrumented"
IN_C = "x264 in C"
CALLS = f"{IN_C}: instrumented, calls"


def make(root: Path, libraries: Path) -> dict[str, Path]:
    """The binaries; builds those that are missing."""
    folder = root / "build/programs"
    (recipe,) = choose(load(root / "apps/programs/programs.toml"), ["x264"])
    source = fetch(recipe.package, machine_apts(folder / "apt"), folder / "sources")
    configure, *others = recipe.build
    return {
        name: build(
            replace(recipe, name=name, build=(configure + more, *others)),
            source,
            KIND,
            folder,
            libraries,
        )
        for name, more in BUILDS.items()
    }


def version(root: Path) -> str:
    """The version of the source package."""
    stamp = root / "build/programs/sources/x264/version"
    return stamp.read_text().split("\n")[0]


def built(root: Path) -> dict[str, Path]:
    """The binaries, without building them; a missing one is an error."""
    found = {name: root / "build/programs" / KIND / name / "x264" for name in BUILDS}
    for name, binary in found.items():
        if not binary.exists():
            raise UserError(f"{name} is not built; run without --no-build (make profiling-cost)")
    return found


def cases(
    part: str, binaries: Mapping[str, Path], root: Path, profile: Mapping[str, str]
) -> list[Case]:
    """On the pictures of the demo's clip, uncompressed, on one worker."""
    shape = ClipShape()
    raw = reference_frames(make_clip(root / "build/demo", shape), root / "build/demo")
    work = (*ARGUMENTS, "--input-res", f"{shape.width}x{shape.height}", "-o", "/dev/null", str(raw))

    def case(name: str, binary: str, env: Mapping[str, str]) -> Case:
        return Case(part, name, (str(binaries[binary]), *work), {"PIRN_CPUS": "1", **env})

    return [
        case(f"{IN_C}: {WITHOUT}", "x264-c", {}),
        case(f"{IN_C}: no samples", "x264-c", {**profile, "PIRN_PROFRATE": "0"}),
        case(f"{IN_C}: samples only", "x264-c", profile),
        case(f"{IN_C}: instrumented, no profile", "x264-instrumented", {}),
        case(CALLS, "x264-instrumented", {**profile, "PIRN_PROFRATE": "0", **ROOM}),
        case(f"x264 with assembly: {WITHOUT}", "x264", {}),
        case("x264 with assembly: samples only", "x264", profile),
    ]
