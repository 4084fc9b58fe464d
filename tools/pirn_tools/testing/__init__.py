# SPDX-License-Identifier: MIT
"""`pirn test`: projects with tests, built for a board and run on it."""
