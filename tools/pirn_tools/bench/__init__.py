# SPDX-License-Identifier: MIT
"""`pirn bench`: suites of benchmark rows, run for several peers in paired rounds."""
