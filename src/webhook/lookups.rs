//! Lookups of names, on a limited number of threads: the system's resolver may hang for long, and nothing can end it.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::resolver::Resolver;

/// How many lookups run at once. A thread that waits costs little, and one that hangs is missing.
pub(super) const AT_ONCE: usize = 64;

/// How long a thread waits for more to do.
const IDLE: Duration = Duration::from_mins(1);

/// Why there are no addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoAddress {
    Unknown,
    TimedOut,
    /// No more lookups are made.
    Closed,
}

type Found = Result<Vec<IpAddr>, NoAddress>;

/// Looks names up. Its threads end when it goes, those that hang as soon as they can.
#[derive(Debug)]
pub(super) struct Lookups {
    resolver: Arc<dyn Resolver>,
    at_once: usize,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What no thread has begun yet.
    queue: VecDeque<(u64, String)>,
    /// Those who wait, for what is in the queue or being looked up.
    waiting: HashMap<u64, SyncSender<Found>>,
    next: u64,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lookups {
    pub(super) fn new(resolver: Arc<dyn Resolver>, at_once: usize) -> Self {
        Self { resolver, at_once, shared: Arc::default() }
    }

    /// The addresses of a name: at least one.
    pub(super) fn find(&self, host: &str, timeout: Duration) -> Found {
        let (found, answer) = sync_channel(1);
        let number = {
            let mut state = self.shared.lock();
            if state.closed {
                return Err(NoAddress::Closed);
            }
            let number = state.next;
            state.next += 1;
            state.queue.push_back((number, host.to_owned()));
            state.waiting.insert(number, found);
            if state.idle < state.queue.len() && state.threads < self.at_once && self.start_thread() {
                state.threads += 1;
            }
            number
        };
        self.shared.work.notify_one();
        answer.recv_timeout(timeout).unwrap_or_else(|_| {
            // What nobody waits for is not begun.
            let mut state = self.shared.lock();
            state.waiting.remove(&number);
            state.queue.retain(|(queued, _)| *queued != number);
            Err(NoAddress::TimedOut)
        })
    }

    fn start_thread(&self) -> bool {
        let (shared, resolver) = (Arc::clone(&self.shared), Arc::clone(&self.resolver));
        let run = move || work(&shared, &*resolver);
        std::thread::Builder::new().name("ticketing-lookup".to_owned()).spawn(run).is_ok()
    }

    /// Lets nobody wait any longer.
    pub(super) fn close(&self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.queue.clear();
        for (_, waiting) in state.waiting.drain() {
            let _ = waiting.try_send(Err(NoAddress::Closed));
        }
        self.shared.work.notify_all();
    }
}

impl Drop for Lookups {
    fn drop(&mut self) {
        self.close();
    }
}

/// What a thread does: one lookup after the other.
fn work(shared: &Shared, resolver: &dyn Resolver) {
    let mut state = shared.lock();
    loop {
        state.idle += 1;
        let nothing = |state: &mut State| state.queue.is_empty() && !state.closed;
        state = shared.work.wait_timeout_while(state, IDLE, nothing).unwrap_or_else(PoisonError::into_inner).0;
        state.idle -= 1;
        let Some((number, host)) = state.queue.pop_front() else {
            state.threads -= 1;
            return;
        };
        drop(state);
        let resolved = catch_unwind(AssertUnwindSafe(|| resolver.resolve(&host)));
        let addresses = resolved.ok().and_then(Result::ok).filter(|addresses| !addresses.is_empty());
        state = shared.lock();
        if let Some(waiting) = state.waiting.remove(&number) {
            let _ = waiting.try_send(addresses.ok_or(NoAddress::Unknown));
        }
    }
}
