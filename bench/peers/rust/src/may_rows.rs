// SPDX-License-Identifier: MIT

//! The rows on may's coroutines. Stacks of 64 KiB: its default of 4 KiB words has no room for
//! fib's threads.

use crate::output::{Arguments, WAKEUPS};
use crate::work::*;
use may::coroutine::{self, Builder, JoinHandle};
use may::sync::{Barrier, Mutex, Semphore};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

const STACK_WORDS: usize = 8192;

fn start<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // Unsafe since a coroutine must not block its kernel thread or overflow its stack.
    unsafe { Builder::new().spawn(body) }.expect("coroutine")
}

fn run_threads(count: u64, body: impl Fn(u64) + Send + Sync + 'static) -> Duration {
    let body = Arc::new(body);
    let begin = Instant::now();
    let threads: Vec<_> = (0..count)
        .map(|index| {
            let body = body.clone();
            start(move || body(index))
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("join"));
    begin.elapsed()
}

fn yield_run(count: u64) -> Duration {
    run_threads(2, move |_| {
        (0..count / 2).for_each(|_| coroutine::yield_now())
    })
}

fn create_join(count: u64) -> Duration {
    let begin = Instant::now();
    (0..count).for_each(|_| start(|| ()).join().expect("join"));
    begin.elapsed()
}

fn batch(count: u64) -> Duration {
    let begin = Instant::now();
    for _ in 0..count / BATCH {
        let threads: Vec<_> = (0..BATCH).map(|_| start(|| ())).collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("join"));
    }
    begin.elapsed()
}

/// Value and spawns.
fn fib(n: u32) -> (u64, u64) {
    if n < 2 {
        return (n.into(), 0);
    }
    let left = start(move || fib(n - 1));
    let right = fib(n - 2);
    let left = left.join().expect("join");
    (left.0 + right.0, left.1 + right.1 + 1)
}

fn fib_run(count: u64) -> Duration {
    let begin = Instant::now();
    let mut spawns = 0;
    while spawns < count {
        spawns += fib(FIB_N).1;
    }
    scaled(begin.elapsed(), count, spawns)
}

fn create_bench(count: u64) -> Duration {
    let begin = Instant::now();
    for _ in 0..count / (CREATORS * (CHILDREN + 1)) {
        run_threads(CREATORS, |_| {
            run_threads(CHILDREN, |_| ());
        });
    }
    begin.elapsed()
}

fn mutex(count: u64) -> Duration {
    let mutex = Mutex::new(());
    let begin = Instant::now();
    for _ in 0..count {
        drop(std::hint::black_box(&mutex).lock().expect("lock"));
    }
    begin.elapsed()
}

fn locked(count: u64, threads: u64, inside: fn()) -> Duration {
    let counter = Arc::new(Mutex::new(0));
    let own = counter.clone();
    let taken = run_threads(threads, move |_| {
        for _ in 0..count / threads {
            let mut counter = own.lock().expect("lock");
            *counter += 1;
            inside();
        }
    });
    assert_eq!(*counter.lock().expect("lock"), count / threads * threads);
    taken
}

type Pair = Arc<(Semphore, Semphore)>;

fn pair() -> Pair {
    Arc::new((Semphore::new(0), Semphore::new(0)))
}

fn pingpong(count: u64) -> Duration {
    let pair = pair();
    run_threads(2, move |index| {
        for _ in 0..count {
            if index == 0 {
                pair.0.post();
                pair.1.wait();
            } else {
                pair.0.wait();
                pair.1.post();
            }
        }
    })
}

fn barrier(count: u64) -> Duration {
    let barrier = Barrier::new(PARTIES as usize);
    run_threads(PARTIES, move |_| {
        for _ in 0..count {
            barrier.wait();
        }
    })
}

fn malloc(count: u64) -> Duration {
    run_threads(ALLOCATORS, move |index| {
        let mut allocator = Allocator::new(index + 1);
        for i in 0..count / ALLOCATORS {
            allocator.step();
            if i % 256 == 255 {
                coroutine::yield_now();
            }
        }
    })
}

fn memory() -> f64 {
    let gate = Arc::new(Semphore::new(0));
    // Waited for by semaphore: a yield comes back before threads that have not run yet.
    let arrived = Arc::new(Semphore::new(0));
    let mut threads = Vec::with_capacity(MEMORY_THREADS);
    start(|| ()).join().expect("join");
    let before = resident_bytes();
    for _ in 0..MEMORY_THREADS {
        let (gate, arrived) = (gate.clone(), arrived.clone());
        threads.push(start(move || {
            arrived.post();
            gate.wait();
        }));
    }
    (0..MEMORY_THREADS).for_each(|_| arrived.wait());
    let after = resident_bytes();
    (0..MEMORY_THREADS).for_each(|_| gate.post());
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("join"));
    (after - before) / MEMORY_THREADS as f64
}

fn wakeup() -> Vec<u64> {
    let (pair, posted) = (pair(), Arc::new(AtomicU64::new(0)));
    let (own_pair, own_posted, begin) = (pair.clone(), posted.clone(), Instant::now());
    let sleeper = start(move || {
        let wake = |_| {
            own_pair.0.wait();
            let latency = begin.elapsed().as_nanos() as u64 - own_posted.load(Relaxed);
            own_pair.1.post();
            latency
        };
        (0..WAKEUPS).map(wake).collect()
    });
    let waker = start(move || {
        for _ in 0..WAKEUPS {
            posted.store(begin.elapsed().as_nanos() as u64, Relaxed);
            pair.0.post();
            pair.1.wait();
        }
    });
    waker.join().expect("join");
    sleeper.join().expect("join")
}

fn run(args: &Arguments) {
    match args.row.as_str() {
        "yield" => args.measure(2, yield_run),
        "create_join" => args.measure(1, create_join),
        "batch" => args.measure(BATCH, batch),
        "fib" => args.measure(1, fib_run),
        "create_bench" => args.measure(CREATORS * (CHILDREN + 1), create_bench),
        "mutex" => args.measure(1, mutex),
        "mutex_contended" => args.measure(CONTENDERS, |n| locked(n, CONTENDERS, || ())),
        "mutex_yield" => args.measure(HOLDERS, |n| locked(n, HOLDERS, coroutine::yield_now)),
        "pingpong" => args.measure(1, pingpong),
        "barrier" => args.measure(1, barrier),
        "malloc" => args.measure(ALLOCATORS, malloc),
        "memory" => args.memory(memory()),
        "wakeup" => args.wakeup(wakeup),
        "pinned_awake" | "pinned_asleep" => args.skip("coroutines cannot be bound to workers"),
        _ => args.skip("no such row"),
    }
}

pub fn main(args: Arguments) {
    may::config()
        .set_workers(args.workers)
        .set_stack_size(STACK_WORDS);
    start(move || run(&args)).join().expect("join");
}
