# SPDX-License-Identifier: MIT
"""A guest: QEMU's command, and the first file system.

The root file system is a disk whose changes are lost. Folders of this machine are seen at the same
places in the guest: what the guest writes there it alone sees, but for the folder of results.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.guest.image import Image
from pirn_tools.guest.kinds import Files, Kind

HERE = Path(__file__).resolve().parent
MOUNTED = ("/proc", "/sys", "/dev", "/new")
# A kernel that fails ends the machine. A busy host makes the guest's CPUs look stuck.
KERNEL_OPTIONS = "quiet panic=-1 oops=panic nowatchdog"


@dataclass(frozen=True)
class Folder:
    path: Path
    writable: bool = False


@dataclass(frozen=True)
class System:
    kind: Kind
    files: Files
    out: Path  # results, and what is made for the guest
    folders: tuple[Folder, ...]
    cpus: int = 2
    memory: int = 2048  # MiB
    shell: bool = False  # instead of the plan, on the standard input and output

    @property
    def console(self) -> Path:
        return self.out / "console.txt"

    @property
    def initrd(self) -> Path:
        return self.out / "initrd"

    def shares(self) -> dict[str, Folder]:
        """With the tags of the shares."""
        return {f"share{number}": one for number, one in enumerate(self.folders)}

    def command(self) -> list[str]:
        own = self.kind
        words = [own.qemu, "-machine", own.machine, "-cpu", own.cpu]
        words += ["-accel", "tcg,thread=multi", "-smp", str(self.cpus), "-m", str(self.memory)]
        words += ["-kernel", str(self.files.kernel), "-initrd", str(self.initrd)]
        words += ["-append", f"console={own.console} {KERNEL_OPTIONS}"]
        words += ["-drive", f"file={_escaped(self.files.image)},format=raw,if=virtio,snapshot=on"]
        for tag, folder in self.shares().items():
            only = "off" if folder.writable else "on"
            words += ["-virtfs", f"local,path={_escaped(folder.path)},mount_tag={tag},"]
            words[-1] += f"security_model=none,multidevs=remap,readonly={only}"
        words += ["-display", "none", "-monitor", "none", "-nic", "none", "-no-reboot"]
        return [*words, "-serial", "stdio" if self.shell else f"file:{self.console}"]

    def image(self, tools: Path) -> Image:
        """The first file system; tools: the folder of this package, for Python."""
        image = Image()
        for name in MOUNTED:
            image.add_folder(name)
        image.add_bytes("/bin/busybox", self.files.busybox.read_bytes())
        for name in self.files.load:
            image.add_bytes(f"/guest/modules/{name}", (self.files.modules / name).read_bytes())
        image.add_bytes("/guest/load", "".join(f"{name}\n" for name in self.files.load).encode())
        image.add_bytes("/guest/folders", self._folders().encode())
        values = {"TOOLS": str(tools), "OUT": str(self.out)}
        values["SHELL"] = self.kind.console if self.shell else ""
        start = (HERE / "start.sh").read_text()
        for key, value in values.items():
            start = start.replace(f"@{key}@", value)
        image.add_bytes("/guest/start.sh", start.encode())
        image.add_bytes("/init", (HERE / "init.sh").read_bytes())
        return image

    def _folders(self) -> str:
        lines = []
        for tag, folder in self.shares().items():
            path = str(folder.path)
            if any(character in path for character in ' \t\n\\"$`'):
                raise UserError(f"the path {path!r} has characters that the guest cannot mount")
            lines.append(f"{tag} {'rw' if folder.writable else 'ro'} {path}\n")
        return "".join(lines)


def _escaped(path: Path) -> str:
    """Of a value in an option of QEMU."""
    return str(path).replace(",", ",,")


def outermost(folders: list[Path]) -> list[Path]:
    """Without those that lie in another one."""
    distinct = sorted(set(folders))
    return [one for one in distinct if not any(other in one.parents for other in distinct)]
