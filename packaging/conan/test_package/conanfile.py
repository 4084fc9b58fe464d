# SPDX-License-Identifier: MIT
"""A consumer of the package: two programs, which run their threads on Pirn."""

from pathlib import Path

from conan import ConanFile
from conan.errors import ConanException
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class Consumer(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain", "VirtualRunEnv"

    def requirements(self) -> None:
        self.requires(self.tested_reference_str)

    def layout(self) -> None:
        cmake_layout(self)

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self) -> None:
        if not can_run(self):
            self.output.warning("built for another machine: the programs do not run here")
            return
        for name in ("sum", "native"):
            program = Path(self.build_folder, self.cpp.build.bindir, name)
            said = Path(self.build_folder, f"{name}.said")
            self.run(f'PIRN_STATS=text "{program}" >"{said}" 2>&1', env="conanrun")
            lines = said.read_text().splitlines()
            # Main and 100 threads.
            if "4950" not in lines or "pirn: threads 101" not in lines:
                raise ConanException(f"{name} did not run its threads on Pirn: {lines}")
