// SPDX-License-Identifier: MIT
// channels.rs - 32 threads send what they have computed; each allocates.
use std::sync::mpsc;
use std::thread;

fn main() {
    let (send, receive) = mpsc::channel();
    let start = |i: u64| {
        let send = send.clone();
        thread::spawn(move || {
            let all: Vec<u64> = (0..10_000).map(|x| x * i).collect();
            send.send(all.iter().sum::<u64>()).unwrap();
        })
    };
    let threads: Vec<_> = (0..32).map(start).collect();
    for t in threads {
        t.join().unwrap();
    }
    drop(send);
    assert_eq!(receive.iter().sum::<u64>(), 49_995_000 * (31 * 32 / 2));
    println!("done");
}
