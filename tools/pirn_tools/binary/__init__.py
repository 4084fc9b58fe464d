# SPDX-License-Identifier: MIT
"""ELF files, their symbols, lines and unwind tables, and the layout of the runtime's data.

elf.py opens a file, once, within the limits of time and memory, and is the only one to do so; the
other modules read parts of what it has opened. pyelftools decodes the formats. Nothing here knows
of processes or profiles.
"""
