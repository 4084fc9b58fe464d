// SPDX-License-Identifier: MIT
module pirn/bench/peers/go

go 1.19
