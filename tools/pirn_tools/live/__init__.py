# SPDX-License-Identifier: MIT
"""Running programs, looked at from outside: `pirn ps`, `pirn dump`, `pirn top`."""
