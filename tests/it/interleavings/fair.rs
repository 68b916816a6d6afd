//! A model of the semaphore that organizations share: shuttle runs it under many interleavings of its threads, and
//! reports a waiter that nobody wakes as a deadlock.
//!
//! The code of the semaphore is the crate's own, with shuttle's threads and locks. Its clock is random, so that a wait
//! may end at any moment.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

#[path = "../../../src/fair/round_robin.rs"]
mod round_robin;
#[path = "../../../src/fair/semaphore.rs"]
mod semaphore;
#[path = "../../../src/fair/usage.rs"]
mod usage;

mod sync {
    use std::time::Duration;

    pub(super) use shuttle::sync::{Mutex, MutexGuard};
    pub(super) use shuttle::thread::{Thread, current, park_timeout};
    pub(super) use std::sync::PoisonError;

    /// Whether a wait is over is random.
    pub(super) fn monotonic() -> Duration {
        Duration::from_secs(u64::from(super::is_random()))
    }
}

type Tenant = Option<u64>;

use round_robin::RoundRobin;
use semaphore::{Limits, Semaphore, Waiter};
use usage::Usage;

const PERMITS: usize = 2;
const TENANTS: u64 = 2;
const THREADS_OF_EACH: usize = 2;
const ROUNDS: usize = 2;

fn is_random() -> bool {
    thread_rng().gen_ratio(1, 4)
}

/// Waits for a permit on this thread, and holds it for a moment.
fn hold(semaphore: &Semaphore, tenant: u64, max_wait: Duration) {
    let permit = semaphore
        .try_acquire(Some(tenant))
        .or_else(|| semaphore.acquire(Some(tenant), max_wait, || max_wait < Duration::MAX && is_random()));
    thread::yield_now();
    drop(permit);
}

/// A request whose client may go away, after which it is not polled again.
struct MayGiveUp(Waiter);

impl Future for MayGiveUp {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match Pin::new(&mut self.0).poll(context) {
            Poll::Pending if !is_random() => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }
}

fn run(max_wait: Duration, request: impl Fn(Waiter) + Copy + Send + 'static) {
    let semaphore = if is_random() {
        Semaphore::with(Limits { one_may_use_all: true, ..Limits::new(PERMITS) })
    } else {
        Semaphore::new(PERMITS)
    };
    let mut threads = Vec::new();
    for tenant in 0..TENANTS {
        for _ in 0..THREADS_OF_EACH {
            let semaphore = semaphore.clone();
            threads.push(thread::spawn(move || {
                for _ in 0..ROUNDS {
                    hold(&semaphore, tenant, max_wait);
                }
            }));
        }
        let semaphore = semaphore.clone();
        threads.push(thread::spawn(move || {
            for _ in 0..ROUNDS {
                request(semaphore.request(Some(tenant)).expect("any number may wait"));
            }
        }));
    }
    for thread in threads {
        thread.join().expect("no panic");
    }
    assert_eq!((semaphore.free(), semaphore.waiting()), (PERMITS, 0));
}

#[test]
fn each_that_waits_gets_a_permit() {
    shuttle::check_random(|| run(Duration::MAX, |waiter| drop(block_on(waiter))), 5_000);
}

#[test]
fn no_permit_is_lost_by_those_that_give_up_at_any_moment() {
    shuttle::check_random(|| run(Duration::from_secs(1), |waiter| block_on(MayGiveUp(waiter))), 5_000);
}

#[test]
fn those_that_give_up_leave_nobody_waiting_for_ever() {
    shuttle::check_random(|| run(Duration::MAX, |waiter| block_on(MayGiveUp(waiter))), 5_000);
}

#[test]
#[should_panic(expected = "deadlock")]
fn control_a_waiter_that_gives_up_without_passing_its_permit_on_blocks_the_others() {
    shuttle::check_random(|| run(Duration::MAX, std::mem::forget), 5_000);
}
