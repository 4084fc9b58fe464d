// SPDX-License-Identifier: MIT

//! Shared by the rows of both systems: sizes (those of bench/micro/rows.c), memory, allocation.

use std::time::Duration;

pub const BATCH: u64 = 1024;
pub const FIB_N: u32 = 20;
pub const CREATORS: u64 = 160;
pub const CHILDREN: u64 = 128;
pub const CONTENDERS: u64 = 64;
pub const HOLDERS: u64 = 8;
pub const PARTIES: u64 = 64;
pub const ALLOCATORS: u64 = 64;
pub const MEMORY_THREADS: usize = 10_000;
const SLOTS: usize = 64;
const PAGE: f64 = 4096.0;

pub fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc/self/statm");
    let pages = text
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse::<f64>().ok());
    pages.expect("/proc/self/statm") * PAGE
}

/// fib's value is that of other rows' `count`: nanoseconds for so many spawns.
pub fn scaled(taken: Duration, count: u64, spawns: u64) -> Duration {
    taken.mul_f64(count as f64 / spawns as f64)
}

/// The state of a thread that lives on the allocator.
pub struct Allocator {
    random: u64,
    slots: Vec<Vec<u8>>,
}

impl Allocator {
    pub fn new(seed: u64) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(SLOTS, Vec::new);
        Allocator {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            slots,
        }
    }

    /// Frees one block and allocates another.
    pub fn step(&mut self) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let slot = (self.random % SLOTS as u64) as usize;
        self.slots[slot] = Vec::new();
        let mut block = Vec::with_capacity(16 + (self.random >> 32) as usize % 2048);
        block.push(1);
        self.slots[slot] = std::hint::black_box(block);
    }
}
