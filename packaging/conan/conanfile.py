# SPDX-License-Identifier: MIT
"""The recipe of Conan 2 for the libraries: conan create packaging/conan, in Pirn's source tree."""

from pathlib import Path

from conan import ConanFile
from conan.errors import ConanException, ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

# Of the source tree, what the libraries are built from.
SOURCES = (
    "CMakeLists.txt",
    "LICENSE",
    "cmake/*",
    "include/*",
    "port/*",
    "src/*",
    "tools/debuggers/*",
)
ARCHITECTURES = ("x86_64", "armv8", "riscv64")


class Pirn(ConanFile):
    name = "pirn"
    description = (
        "user-level threads under the POSIX threads interface, many of them on few kernel threads"
    )
    license = "MIT"
    topics = ("threads", "pthread", "scheduler", "coroutines")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def set_version(self) -> None:
        text = load(self, Path(self.recipe_folder, "..", "..", "CMakeLists.txt"))
        _, found, after = text.partition("project(pirn VERSION ")
        if not found:
            raise ConanException("CMakeLists.txt has no line project(pirn VERSION ...)")
        self.version = after.split()[0]

    def export_sources(self) -> None:
        for pattern in SOURCES:
            copy(self, pattern, Path(self.recipe_folder, "..", ".."), self.export_sources_folder)

    def configure(self) -> None:
        # The libraries are written in C.
        self.settings.rm_safe("compiler.libcxx")
        self.settings.rm_safe("compiler.cppstd")

    def validate(self) -> None:
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(
                f"os={self.settings.os}: Pirn's libraries are for Linux"
            )
        if self.settings.arch not in ARCHITECTURES:
            raise ConanInvalidConfiguration(
                f"arch={self.settings.arch}: Pirn's libraries are for {', '.join(ARCHITECTURES)}"
            )
        if self.settings.compiler not in ("gcc", "clang"):
            raise ConanInvalidConfiguration(
                f"compiler={self.settings.compiler}: Pirn is built with gcc or clang"
            )

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        for option in ("PIRN_DEVELOP", "PIRN_METERED", "PIRN_MPI", "PIRN_WERROR"):
            toolchain.cache_variables[option] = False
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))
        # Conan writes such files itself, from what follows.
        for folder in ("cmake", "pkgconfig"):
            rmdir(self, Path(self.package_folder, "lib", folder))

    def package_info(self) -> None:
        self.cpp_info.set_property("cmake_file_name", "pirn")
        native = self.cpp_info.components["pirn"]
        native.libs = ["pirn"]
        native.set_property("cmake_target_name", "pirn::pirn")
        native.set_property("pkg_config_name", "pirn")
        threads = self.cpp_info.components["pthread"]
        threads.libs = ["pirn-pthread"]
        # Without this the linker may leave the library out, because the C library has the same
        # functions.
        threads.sharedlinkflags = threads.exelinkflags = ["-Wl,--no-as-needed"]
        threads.cflags = threads.cxxflags = ["-pthread"]
        threads.set_property("cmake_target_name", "pirn::pthread")
        threads.set_property("pkg_config_name", "pirn-pthread")
