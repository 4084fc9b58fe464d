# SPDX-License-Identifier: MIT
"""`pirn soak`: three servers under load at once, for a long time, with NPTL and with Pirn."""
