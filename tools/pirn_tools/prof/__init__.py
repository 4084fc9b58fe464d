# SPDX-License-Identifier: MIT
"""`pirn prof`: where a program spends its time, by call trees and samples."""
