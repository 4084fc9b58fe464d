// SPDX-License-Identifier: MIT

//! The rows on Tokio's tasks, which have no stack: what they cost is not quite comparable.

use crate::output::{Arguments, WAKEUPS};
use crate::work::*;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Barrier, Mutex, Semaphore};
use tokio::task::yield_now;

/// Runs `body(index)` for every index below count, each in a task of its own.
async fn run_tasks<F: Future<Output = ()> + Send + 'static>(
    count: u64,
    body: impl Fn(u64) -> F,
) -> Duration {
    let begin = Instant::now();
    let tasks: Vec<_> = (0..count).map(|index| tokio::spawn(body(index))).collect();
    for task in tasks {
        task.await.expect("join");
    }
    begin.elapsed()
}

async fn yield_run(count: u64) -> Duration {
    run_tasks(2, |_| async move {
        for _ in 0..count / 2 {
            yield_now().await;
        }
    })
    .await
}

async fn create_join(count: u64) -> Duration {
    let begin = Instant::now();
    for _ in 0..count {
        tokio::spawn(async {}).await.expect("join");
    }
    begin.elapsed()
}

async fn batch(count: u64) -> Duration {
    let begin = Instant::now();
    for _ in 0..count / BATCH {
        run_tasks(BATCH, |_| async {}).await;
    }
    begin.elapsed()
}

/// Value and spawns.
fn fib(n: u32) -> Pin<Box<dyn Future<Output = (u64, u64)> + Send>> {
    Box::pin(async move {
        if n < 2 {
            return (n.into(), 0);
        }
        let left = tokio::spawn(fib(n - 1));
        let right = fib(n - 2).await;
        let left = left.await.expect("join");
        (left.0 + right.0, left.1 + right.1 + 1)
    })
}

async fn fib_run(count: u64) -> Duration {
    let begin = Instant::now();
    let mut spawns = 0;
    while spawns < count {
        spawns += fib(FIB_N).await.1;
    }
    scaled(begin.elapsed(), count, spawns)
}

async fn create_bench(count: u64) -> Duration {
    let begin = Instant::now();
    for _ in 0..count / (CREATORS * (CHILDREN + 1)) {
        run_tasks(CREATORS, |_| async {
            run_tasks(CHILDREN, |_| async {}).await;
        })
        .await;
    }
    begin.elapsed()
}

async fn mutex(count: u64) -> Duration {
    let mutex = Mutex::new(());
    let begin = Instant::now();
    for _ in 0..count {
        drop(std::hint::black_box(&mutex).lock().await);
    }
    begin.elapsed()
}

async fn locked(count: u64, tasks: u64, yields: bool) -> Duration {
    let counter = Arc::new(Mutex::new(0));
    let taken = run_tasks(tasks, |_| {
        let counter = counter.clone();
        async move {
            for _ in 0..count / tasks {
                let mut counter = counter.lock().await;
                *counter += 1;
                if yields {
                    yield_now().await;
                }
            }
        }
    })
    .await;
    assert_eq!(*counter.lock().await, count / tasks * tasks);
    taken
}

async fn take(semaphore: &Semaphore) {
    semaphore.acquire().await.expect("semaphore").forget();
}

type Pair = Arc<(Semaphore, Semaphore)>;

fn pair() -> Pair {
    Arc::new((Semaphore::new(0), Semaphore::new(0)))
}

async fn pingpong(count: u64) -> Duration {
    let pair = pair();
    run_tasks(2, |index| {
        let pair = pair.clone();
        async move {
            for _ in 0..count {
                if index == 0 {
                    pair.0.add_permits(1);
                    take(&pair.1).await;
                } else {
                    take(&pair.0).await;
                    pair.1.add_permits(1);
                }
            }
        }
    })
    .await
}

async fn barrier(count: u64) -> Duration {
    let barrier = Arc::new(Barrier::new(PARTIES as usize));
    run_tasks(PARTIES, |_| {
        let barrier = barrier.clone();
        async move {
            for _ in 0..count {
                barrier.wait().await;
            }
        }
    })
    .await
}

async fn malloc(count: u64) -> Duration {
    run_tasks(ALLOCATORS, |index| async move {
        let mut allocator = Allocator::new(index + 1);
        for i in 0..count / ALLOCATORS {
            allocator.step();
            if i % 256 == 255 {
                yield_now().await;
            }
        }
    })
    .await
}

async fn memory() -> f64 {
    let gate = Arc::new(Semaphore::new(0));
    let waiting = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::with_capacity(MEMORY_THREADS);
    tokio::spawn(async {}).await.expect("join");
    let before = resident_bytes();
    for _ in 0..MEMORY_THREADS {
        let (gate, waiting) = (gate.clone(), waiting.clone());
        tasks.push(tokio::spawn(async move {
            waiting.fetch_add(1, Relaxed);
            take(&gate).await;
        }));
    }
    while waiting.load(Relaxed) < MEMORY_THREADS {
        yield_now().await;
    }
    let after = resident_bytes();
    gate.add_permits(MEMORY_THREADS);
    for task in tasks {
        task.await.expect("join");
    }
    (after - before) / MEMORY_THREADS as f64
}

async fn wakeup() -> Vec<u64> {
    let (pair, posted) = (pair(), Arc::new(AtomicU64::new(0)));
    let (own_pair, own_posted, begin) = (pair.clone(), posted.clone(), Instant::now());
    let sleeper = tokio::spawn(async move {
        let mut latency = Vec::with_capacity(WAKEUPS);
        for _ in 0..WAKEUPS {
            take(&own_pair.0).await;
            latency.push(begin.elapsed().as_nanos() as u64 - own_posted.load(Relaxed));
            own_pair.1.add_permits(1);
        }
        latency
    });
    let waker = tokio::spawn(async move {
        for _ in 0..WAKEUPS {
            posted.store(begin.elapsed().as_nanos() as u64, Relaxed);
            pair.0.add_permits(1);
            take(&pair.1).await;
        }
    });
    waker.await.expect("join");
    sleeper.await.expect("join")
}

/// A row as measure() wants it: the future runs as a task, not on the thread outside the workers.
fn on<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    runtime: &Runtime,
    future: F,
) -> T {
    runtime.block_on(runtime.spawn(future)).expect("join")
}

pub fn main(args: Arguments) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(args.workers)
        .build();
    let r = &runtime.expect("runtime");
    match args.row.as_str() {
        "yield" => args.measure(2, |n| on(r, yield_run(n))),
        "create_join" => args.measure(1, |n| on(r, create_join(n))),
        "batch" => args.measure(BATCH, |n| on(r, batch(n))),
        "fib" => args.measure(1, |n| on(r, fib_run(n))),
        "create_bench" => args.measure(CREATORS * (CHILDREN + 1), |n| on(r, create_bench(n))),
        "mutex" => args.measure(1, |n| on(r, mutex(n))),
        "mutex_contended" => args.measure(CONTENDERS, |n| on(r, locked(n, CONTENDERS, false))),
        "mutex_yield" => args.measure(HOLDERS, |n| on(r, locked(n, HOLDERS, true))),
        "pingpong" => args.measure(1, |n| on(r, pingpong(n))),
        "barrier" => args.measure(1, |n| on(r, barrier(n))),
        "malloc" => args.measure(ALLOCATORS, |n| on(r, malloc(n))),
        "memory" => args.memory(on(r, memory())),
        "wakeup" => args.wakeup(|| on(r, wakeup())),
        "pinned_awake" | "pinned_asleep" => args.skip("tasks cannot be bound to workers"),
        _ => args.skip("no such row"),
    }
}
