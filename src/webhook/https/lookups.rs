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
        let answer = catch_unwind(AssertUnwindSafe(|| resolver.resolve(&host)));
        let addresses = answer.ok().and_then(Result::ok).filter(|addresses| !addresses.is_empty());
        state = shared.lock();
        if let Some(waiting) = state.waiting.remove(&number) {
            let _ = waiting.try_send(addresses.ok_or(NoAddress::Unknown));
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

    /// Answers for `good`, hangs for `hang` until it may go on, and panics for `panic`.
    #[derive(Debug, Default)]
    struct Moody {
        asked: AtomicUsize,
        running: AtomicUsize,
        most: AtomicUsize,
        go_on: Mutex<bool>,
        changed: Condvar,
    }

    impl Resolver for Moody {
        fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(running, Ordering::SeqCst);
            if host == "hang" {
                drop(self.changed.wait_while(self.go_on.lock().unwrap(), |go_on| !*go_on).unwrap());
            }
            self.running.fetch_sub(1, Ordering::SeqCst);
            match host {
                "panic" => panic!("as it was asked to"),
                "none" => Ok(Vec::new()),
                "error" => Err(io::ErrorKind::NotFound.into()),
                _ => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
            }
        }
    }

    impl Moody {
        fn go_on(&self) {
            *self.go_on.lock().unwrap() = true;
            self.changed.notify_all();
        }
    }

    fn lookups(at_once: usize) -> (Arc<Moody>, Lookups) {
        let resolver = Arc::new(Moody::default());
        (Arc::clone(&resolver), Lookups::new(resolver, at_once))
    }

    #[test]
    fn one_thread_looks_up_one_name_after_the_other() {
        let (resolver, lookups) = lookups(8);
        for _ in 0..100 {
            assert_eq!(lookups.find("good", LONG), Ok(vec![Ipv4Addr::LOCALHOST.into()]));
            // It waits again a moment after it has answered.
            while lookups.shared.lock().idle == 0 {
                std::thread::yield_now();
            }
        }
        assert_eq!((resolver.asked.load(Ordering::SeqCst), lookups.shared.lock().threads), (100, 1));
    }

    #[test]
    fn a_name_without_addresses_is_unknown_and_a_panic_ends_no_thread() {
        let (_, lookups) = lookups(1);
        for host in ["none", "error", "panic", "panic"] {
            assert_eq!(lookups.find(host, LONG), Err(NoAddress::Unknown), "{host}");
        }
        assert!(lookups.find("good", LONG).is_ok());
    }

    #[test]
    fn lookups_that_hang_hold_a_limited_number_of_threads_and_leave_nothing_behind() {
        let (resolver, lookups) = lookups(2);
        while resolver.running.load(Ordering::SeqCst) < 2 {
            assert_eq!(lookups.find("hang", SHORT), Err(NoAddress::TimedOut));
        }
        assert_eq!(lookups.find("hang", SHORT), Err(NoAddress::TimedOut));
        // Both threads hang: what is good waits, in vain.
        assert_eq!(lookups.find("good", SHORT), Err(NoAddress::TimedOut));
        {
            let state = lookups.shared.lock();
            assert_eq!((state.threads, state.queue.len(), state.waiting.len()), (2, 0, 0));
        }
        assert_eq!((resolver.asked.load(Ordering::SeqCst), resolver.most.load(Ordering::SeqCst)), (2, 2));
        // What waits when they go on is looked up.
        scope(|scope| {
            let found = scope.spawn(|| lookups.find("good", LONG));
            while lookups.shared.lock().queue.is_empty() {
                std::thread::yield_now();
            }
            resolver.go_on();
            assert!(found.join().unwrap().is_ok());
        });
    }

    #[test]
    fn closing_lets_nobody_wait() {
        let (resolver, lookups) = lookups(1);
        scope(|scope| {
            let waiting = [(); 3].map(|()| scope.spawn(|| lookups.find("hang", Duration::from_mins(10))));
            while lookups.shared.lock().waiting.len() < 3 {
                std::thread::yield_now();
            }
            lookups.close();
            for waiting in waiting {
                assert_eq!(waiting.join().unwrap(), Err(NoAddress::Closed));
            }
        });
        assert_eq!(lookups.find("good", LONG), Err(NoAddress::Closed));
        resolver.go_on();
        while lookups.shared.lock().threads > 0 {
            std::thread::yield_now();
        }
    }
}
