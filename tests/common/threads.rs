//! Runs work on several threads that start at the same moment.

use std::sync::Barrier;

/// Runs `work` on `threads` threads that start together. Each gets its number, from 0. Returns the results in that
/// order.
pub fn run_at_once<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(threads);
    std::thread::scope(|scope| {
        let run = |number| {
            let start = &start;
            let work = &work;
            scope.spawn(move || {
                start.wait();
                work(number)
            })
        };
        let running: Vec<_> = (0..threads).map(run).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Runs two pieces of work on threads that start together.
pub fn run_both<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            start.wait();
            first()
        });
        start.wait();
        let second = second();
        (first.join().unwrap(), second)
    })
}
