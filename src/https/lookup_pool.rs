//! Resolves host names on a limited number of threads.
//!
//! The system's resolver blocks for as long as the DNS servers let it, and cannot be cancelled; ureq would start one
//! more thread for each lookup that hangs. Here at most [`MAX_THREADS`] lookups run at once, a caller waits no longer
//! than its timeout, and a lookup is not started if its callers have timed out.
//!
//! Names whose last lookup took more than a second, and names that have not been looked up yet, are throttled: they
//! share half of the threads. However many of their lookups hang, other names find a free thread.
//!
//! Addresses are not cached: every attempt looks the name up and checks the addresses.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::exchange;
use super::resolver::Resolver;
use crate::environment::Locked;

/// How many lookups run at once. Waiting threads are cheap; a thread whose lookup hangs is lost for that time.
pub(crate) const MAX_THREADS: usize = 64;

/// How long a thread waits for work before it ends.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// The longest lookup that counts as fast.
const FAST_LIMIT: Duration = Duration::from_secs(1);

/// How many fast names are remembered. When there are more, all are forgotten: each is throttled until its next lookup
/// is fast.
const MAX_FAST_NAMES: usize = 10_000;

/// Why a lookup found no addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupError {
    /// The name has no addresses, or its DNS servers failed.
    NotFound,
    TimedOut,
    Closed,
}

type LookupResult = Result<Vec<IpAddr>, LookupError>;

/// Threads that resolve names. When the pool is dropped, idle threads end at once, and the others after their lookup.
#[derive(Debug)]
pub(crate) struct LookupPool {
    resolver: Arc<dyn Resolver>,
    max_threads: usize,
    queue: Arc<LookupQueue>,
}

#[derive(Debug, Default)]
struct LookupQueue {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Debug)]
struct Lookup {
    id: u64,
    host: String,
    throttled: bool,
}

#[derive(Debug, Default)]
struct State {
    /// Lookups of fast names that no thread has started yet.
    fast: VecDeque<Lookup>,
    /// Lookups of all other names that no thread has started yet.
    throttled: VecDeque<Lookup>,
    /// Names whose last lookup was fast.
    fast_names: HashSet<String>,
    /// Send the results to the waiting callers, by the id of the lookup.
    result_senders: HashMap<u64, SyncSender<LookupResult>>,
    next_id: u64,
    threads: usize,
    idle_threads: usize,
    throttled_threads: usize,
    closed: bool,
}

impl State {
    /// Queues a lookup and returns its id.
    fn enqueue(&mut self, host: &str, result_sender: SyncSender<LookupResult>) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.result_senders.insert(id, result_sender);
        let throttled = !self.fast_names.contains(host);
        let queue = if throttled { &mut self.throttled } else { &mut self.fast };
        queue.push_back(Lookup { id, host: host.to_owned(), throttled });
        id
    }

    /// How many of the queued lookups may start now.
    fn startable(&self, max_threads: usize) -> usize {
        let free_for_throttled = max_threads.div_ceil(2).saturating_sub(self.throttled_threads);
        self.fast.len() + self.throttled.len().min(free_for_throttled)
    }

    /// Takes the next lookup that may start.
    fn start_next(&mut self, max_threads: usize) -> Option<Lookup> {
        if self.startable(max_threads) == 0 {
            return None;
        }
        let lookup = self.fast.pop_front().or_else(|| self.throttled.pop_front())?;
        if lookup.throttled {
            self.throttled_threads += 1;
        }
        Some(lookup)
    }

    /// Removes a lookup whose caller has timed out.
    fn cancel(&mut self, id: u64) {
        self.result_senders.remove(&id);
        self.fast.retain(|lookup| lookup.id != id);
        self.throttled.retain(|lookup| lookup.id != id);
    }

    /// Remembers whether the last lookup of a name was fast.
    fn remember(&mut self, host: &str, is_fast: bool) {
        if !is_fast {
            self.fast_names.remove(host);
        } else if !self.fast_names.contains(host) {
            if self.fast_names.len() >= MAX_FAST_NAMES {
                self.fast_names.clear();
            }
            self.fast_names.insert(host.to_owned());
        }
    }
}

impl LookupPool {
    pub(crate) fn new(resolver: Arc<dyn Resolver>, max_threads: usize) -> Self {
        Self { resolver, max_threads, queue: Arc::default() }
    }

    /// Returns the addresses of a name, at least one.
    pub(crate) fn resolve(&self, host: &str, timeout: Duration) -> LookupResult {
        let (result_sender, result_receiver) = sync_channel(1);
        let mut state = self.queue.state.locked();
        if state.closed {
            return Err(LookupError::Closed);
        }
        let id = state.enqueue(host, result_sender);
        let needs_thread = state.idle_threads < state.startable(self.max_threads);
        if needs_thread && state.threads < self.max_threads && self.start_thread() {
            state.threads += 1;
        }
        drop(state);
        self.queue.work.notify_one();
        if let Ok(result) = result_receiver.recv_timeout(timeout) {
            return result;
        }
        let mut state = self.queue.state.locked();
        state.cancel(id);
        state.remember(host, false);
        Err(LookupError::TimedOut)
    }

    /// Starts a thread. Returns `false` if the system refuses to.
    fn start_thread(&self) -> bool {
        let queue = Arc::clone(&self.queue);
        let resolver = Arc::clone(&self.resolver);
        let max_threads = self.max_threads;
        let thread = std::thread::Builder::new().name("ticketing-lookup".to_owned());
        thread.spawn(move || run(&queue, &*resolver, max_threads)).is_ok()
    }

    /// Fails all current and future lookups.
    pub(crate) fn close(&self) {
        let mut state = self.queue.state.locked();
        state.closed = true;
        state.fast.clear();
        state.throttled.clear();
        for (_, result_sender) in state.result_senders.drain() {
            let _ = result_sender.try_send(Err(LookupError::Closed));
        }
        self.queue.work.notify_all();
    }
}

impl Drop for LookupPool {
    fn drop(&mut self) {
        self.close();
    }
}

/// A thread of the pool: runs one lookup after another, until it is idle for too long or the pool is closed.
fn run(queue: &LookupQueue, resolver: &dyn Resolver, max_threads: usize) {
    let mut state = queue.state.locked();
    loop {
        state.idle_threads += 1;
        let idle = |state: &mut State| state.startable(max_threads) == 0 && !state.closed;
        let waited = queue.work.wait_timeout_while(state, IDLE_TIMEOUT, idle);
        (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.idle_threads -= 1;
        let Some(lookup) = state.start_next(max_threads) else {
            state.threads -= 1;
            return;
        };
        drop(state);
        let started = exchange::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| resolver.resolve(&lookup.host)));
        let result = match outcome {
            Ok(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
            _ => Err(LookupError::NotFound),
        };
        let is_fast = exchange::now().saturating_sub(started) <= FAST_LIMIT;
        state = queue.state.locked();
        if lookup.throttled {
            state.throttled_threads -= 1;
        }
        // After a timeout, `resolve` has removed the sender and has remembered the name as slow.
        if let Some(result_sender) = state.result_senders.remove(&lookup.id) {
            state.remember(&lookup.host, is_fast);
            let _ = result_sender.try_send(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::Ipv4Addr;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::scope;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);
    const SHORT: Duration = Duration::from_millis(50);

    /// Resolves every name, except `hang`, which blocks until it is released, and `none`, `error` and `panic`.
    #[derive(Debug, Default)]
    struct FakeResolver {
        calls: AtomicUsize,
        running: AtomicUsize,
        most_running: AtomicUsize,
        released: Mutex<bool>,
        changed: Condvar,
    }

    impl Resolver for FakeResolver {
        fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
            self.calls.fetch_add(1, Ordering::SeqCst);
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_running.fetch_max(running, Ordering::SeqCst);
            if host == "hang" {
                drop(self.changed.wait_while(self.released.lock().unwrap(), |released| !*released).unwrap());
            }
            self.running.fetch_sub(1, Ordering::SeqCst);
            match host {
                "panic" => panic!("a resolver that panics"),
                "none" => Ok(Vec::new()),
                "error" => Err(io::ErrorKind::NotFound.into()),
                _ => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
            }
        }
    }

    impl FakeResolver {
        /// Lets lookups of `hang` return.
        fn release(&self) {
            *self.released.lock().unwrap() = true;
            self.changed.notify_all();
        }
    }

    fn pool(max_threads: usize) -> (Arc<FakeResolver>, LookupPool) {
        let resolver = Arc::new(FakeResolver::default());
        (Arc::clone(&resolver), LookupPool::new(resolver, max_threads))
    }

    #[test]
    fn successive_lookups_share_one_thread() {
        let (resolver, pool) = pool(8);
        for _ in 0..100 {
            assert_eq!(pool.resolve("good", LONG), Ok(vec![Ipv4Addr::LOCALHOST.into()]));
            // The thread is idle a moment after it has answered.
            while pool.queue.state.locked().idle_threads == 0 {
                std::thread::yield_now();
            }
        }
        assert_eq!(resolver.calls.load(Ordering::SeqCst), 100);
        assert_eq!(pool.queue.state.locked().threads, 1);
    }

    #[test]
    fn a_name_without_addresses_is_not_found_and_a_panic_does_not_end_the_thread() {
        let (_, pool) = pool(1);
        for host in ["none", "error", "panic", "panic"] {
            assert_eq!(pool.resolve(host, LONG), Err(LookupError::NotFound), "{host}");
        }
        assert!(pool.resolve("good", LONG).is_ok());
    }

    #[test]
    fn lookups_that_hang_occupy_only_half_of_the_threads() {
        let (resolver, pool) = pool(4);
        assert!(pool.resolve("good", LONG).is_ok());
        while resolver.running.load(Ordering::SeqCst) < 2 {
            assert_eq!(pool.resolve("hang", SHORT), Err(LookupError::TimedOut));
        }
        assert_eq!(pool.resolve("hang", SHORT), Err(LookupError::TimedOut));
        // Two of four threads hang. The lookup of a new name times out, but that of a fast name does not.
        assert_eq!(pool.resolve("new", SHORT), Err(LookupError::TimedOut));
        assert!(pool.resolve("good", LONG).is_ok());
        {
            let state = pool.queue.state.locked();
            assert!(state.result_senders.is_empty() && state.fast.is_empty() && state.throttled.is_empty());
        }
        assert_eq!(resolver.calls.load(Ordering::SeqCst), 4);
        assert_eq!(resolver.most_running.load(Ordering::SeqCst), 3);
        // When the hanging lookups return, the waiting ones start.
        scope(|scope| {
            let lookup = scope.spawn(|| pool.resolve("new", LONG));
            while pool.queue.state.locked().throttled.is_empty() {
                std::thread::yield_now();
            }
            resolver.release();
            assert!(lookup.join().unwrap().is_ok());
        });
    }

    #[test]
    fn a_fast_name_whose_lookup_hangs_is_throttled_again() {
        let (resolver, pool) = pool(4);
        resolver.release();
        assert!(pool.resolve("hang", LONG).is_ok());
        assert_eq!(pool.queue.state.locked().fast_names, HashSet::from(["hang".to_owned()]));
        *resolver.released.lock().unwrap() = false;
        assert_eq!(pool.resolve("hang", SHORT), Err(LookupError::TimedOut));
        assert_eq!(pool.queue.state.locked().fast_names, HashSet::new());
        resolver.release();
    }

    #[test]
    fn closing_fails_all_lookups() {
        let (resolver, pool) = pool(1);
        scope(|scope| {
            let lookups = [(); 3].map(|()| scope.spawn(|| pool.resolve("hang", Duration::from_mins(10))));
            while pool.queue.state.locked().result_senders.len() < 3 {
                std::thread::yield_now();
            }
            pool.close();
            for lookup in lookups {
                assert_eq!(lookup.join().unwrap(), Err(LookupError::Closed));
            }
        });
        assert_eq!(pool.resolve("good", LONG), Err(LookupError::Closed));
        resolver.release();
        while pool.queue.state.locked().threads > 0 {
            std::thread::yield_now();
        }
    }
}
