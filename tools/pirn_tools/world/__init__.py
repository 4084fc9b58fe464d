# SPDX-License-Identifier: MIT
"""`pirn world`: programs of Debian's packages, unpacked, with NPTL and with Pirn."""
