# SPDX-License-Identifier: MIT
"""Programs of others, from Debian's source packages: built with Pirn and without, and compared."""
