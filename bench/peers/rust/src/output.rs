// SPDX-License-Identifier: MIT

//! Command line and output: those of bench/micro/output.h, and `--system may|tokio`.

use std::time::Duration;

const STATUS_SKIP: i32 = 77;
const SAMPLE: Duration = Duration::from_millis(30);
const QUICK: Duration = Duration::from_millis(1);
pub const WAKEUPS: usize = 20_000;

pub struct Arguments {
    pub system: String,
    pub row: String,
    pub workers: usize,
    pub samples: usize,
    least: Duration,
}

fn usage() -> ! {
    eprintln!(
        "usage: micro-rust --system may|tokio --row ROW [--workers W] [--samples N] [--quick]"
    );
    std::process::exit(2)
}

fn number(text: Option<String>) -> usize {
    match text.and_then(|text| text.parse().ok()) {
        Some(value) if value >= 1 => value,
        _ => usage(),
    }
}

impl Arguments {
    pub fn parse() -> Self {
        let mut args = Arguments {
            system: String::new(),
            row: String::new(),
            workers: 1,
            samples: 1,
            least: SAMPLE,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--system" => args.system = words.next().unwrap_or_else(|| usage()),
                "--row" => args.row = words.next().unwrap_or_else(|| usage()),
                "--workers" => args.workers = number(words.next()),
                "--samples" => args.samples = number(words.next()),
                "--quick" => args.least = QUICK,
                _ => usage(),
            }
        }
        if args.row.is_empty() || !["may", "tokio"].contains(&args.system.as_str()) {
            usage();
        }
        args
    }

    pub fn skip(&self, why: &str) -> ! {
        println!(
            "# skipped: {} {} with {}: {why}",
            self.system, self.row, self.workers
        );
        std::process::exit(STATUS_SKIP)
    }

    fn print(&self, row: &str, sample: usize, ns: f64) {
        println!("{},{row},{},{sample},{ns:.3},", self.system, self.workers);
    }

    /// Samples of a row that is a time per operation; `count` is a multiple of `unit`.
    pub fn measure(&self, unit: u64, run: impl Fn(u64) -> Duration) {
        let count = self.calibrate(unit, &run);
        print_header();
        let mut values = Vec::new();
        for sample in 0..self.samples {
            values.push(run(count).as_nanos() as f64 / count as f64);
            self.print(&self.row, sample, values[sample]);
        }
        print_median("ns_per_op", values);
    }

    /// The count with which a run takes long enough.
    fn calibrate(&self, unit: u64, run: &impl Fn(u64) -> Duration) -> u64 {
        let mut count = unit;
        loop {
            let taken = run(count);
            if taken >= self.least {
                return count;
            }
            let wanted = 1.2 * self.least.as_secs_f64() / (taken.as_secs_f64() + 1e-9);
            count = (count as f64 * wanted.clamp(1.5, 16.0)) as u64 + unit;
            count -= count % unit;
        }
    }

    pub fn memory(&self, bytes: f64) {
        print_header();
        println!(
            "{},{},{},0,,{bytes:.3}",
            self.system, self.row, self.workers
        );
        print_median("bytes", vec![bytes]);
    }

    /// Percentiles of the latencies that `run` returns.
    pub fn wakeup(&self, run: impl Fn() -> Vec<u64>) {
        const PLACES: [(&str, usize); 3] = [
            ("p50", WAKEUPS / 2),
            ("p99", WAKEUPS / 100 * 99),
            ("p999", WAKEUPS / 1000 * 999),
        ];
        let mut values = [const { Vec::new() }; 3];
        print_header();
        for sample in 0..self.samples {
            let mut latency = run();
            latency.sort_unstable();
            for ((key, place), values) in PLACES.iter().zip(&mut values) {
                values.push(latency[*place] as f64);
                self.print(&format!("wakeup_{key}"), sample, latency[*place] as f64);
            }
        }
        for ((key, _), values) in PLACES.iter().zip(values) {
            print_median(key, values);
        }
    }
}

fn print_header() {
    println!("system,row,workers,sample,ns_per_op,bytes");
}

fn print_median(key: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    println!("# {key}={:.3}", (values[(n - 1) / 2] + values[n / 2]) / 2.0);
}
