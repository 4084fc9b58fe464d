// SPDX-License-Identifier: MIT

//! micro-rust: the micro benchmarks' rows on may and on Tokio.

mod may_rows;
mod output;
mod tokio_rows;
mod work;

fn main() {
    let args = output::Arguments::parse();
    if args.system == "may" {
        may_rows::main(args);
    } else {
        tokio_rows::main(args);
    }
}
