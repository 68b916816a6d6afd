//! Lookups of names, on a limited number of threads: the system's resolver may hang for long, and nothing can end it.
//! Names whose latest lookup was not answered promptly, and new ones, share half of the threads: however many of them
//! hang, the others find a thread that is free.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::attempt;
use super::resolver::Resolver;

/// How many lookups run at once. A thread that waits costs little, and one that hangs is missing.
pub(super) const AT_ONCE: usize = 64;

/// How long a thread waits for more to do.
const IDLE: Duration = Duration::from_mins(1);

/// The longest that a prompt lookup takes.
const PROMPT: Duration = Duration::from_secs(1);

/// How many names are known at most. When there are more, all are forgotten, and soon known again.
const KNOWN: usize = 10_000;

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
    /// What no thread has begun yet, of names that are known and of all others.
    queues: [VecDeque<(u64, String)>; 2],
    /// Names whose latest lookup was answered promptly.
    known: HashSet<String>,
    /// How many threads look up names that are not known.
    on_unknown: usize,
    /// Those who wait, for what is in a queue or being looked up.
    waiting: HashMap<u64, SyncSender<Found>>,
    next: u64,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// The queues.
const OF_KNOWN: usize = 0;
const OF_UNKNOWN: usize = 1;

impl State {
    fn enqueue(&mut self, number: u64, host: &str) {
        let queue = if self.known.contains(host) { OF_KNOWN } else { OF_UNKNOWN };
        self.queues[queue].push_back((number, host.to_owned()));
    }

    /// How much of what is queued may begin, where there are `at_once` threads at most.
    fn ready(&self, at_once: usize) -> usize {
        let share = at_once.div_ceil(2).saturating_sub(self.on_unknown);
        self.queues[OF_KNOWN].len() + self.queues[OF_UNKNOWN].len().min(share)
    }

    /// What begins next, and of which queue it is.
    fn take(&mut self, at_once: usize) -> Option<(usize, u64, String)> {
        let queue = match self.ready(at_once) {
            0 => return None,
            _ if self.queues[OF_KNOWN].is_empty() => OF_UNKNOWN,
            _ => OF_KNOWN,
        };
        let (number, host) = self.queues[queue].pop_front()?;
        self.on_unknown += usize::from(queue == OF_UNKNOWN);
        Some((queue, number, host))
    }

    /// Notes whether the lookup of a name was answered promptly.
    fn answered(&mut self, host: &str, promptly: bool) {
        if !promptly {
            self.known.remove(host);
        } else if !self.known.contains(host) {
            if self.known.len() >= KNOWN {
                self.known.clear();
            }
            self.known.insert(host.to_owned());
        }
    }
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
            state.enqueue(number, host);
            state.waiting.insert(number, found);
            if state.idle < state.ready(self.at_once) && state.threads < self.at_once && self.start_thread() {
                state.threads += 1;
            }
            number
        };
        self.shared.work.notify_one();
        answer.recv_timeout(timeout).unwrap_or_else(|_| {
            // What nobody waits for is not begun.
            let mut state = self.shared.lock();
            state.waiting.remove(&number);
            state.queues.iter_mut().for_each(|queue| queue.retain(|(queued, _)| *queued != number));
            state.answered(host, false);
            Err(NoAddress::TimedOut)
        })
    }

    fn start_thread(&self) -> bool {
        let (shared, resolver, at_once) = (Arc::clone(&self.shared), Arc::clone(&self.resolver), self.at_once);
        let run = move || work(&shared, &*resolver, at_once);
        std::thread::Builder::new().name("ticketing-lookup".to_owned()).spawn(run).is_ok()
    }

    /// Lets nobody wait any longer.
    pub(super) fn close(&self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.queues.iter_mut().for_each(VecDeque::clear);
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
fn work(shared: &Shared, resolver: &dyn Resolver, at_once: usize) {
    let mut state = shared.lock();
    loop {
        state.idle += 1;
        let nothing = |state: &mut State| state.ready(at_once) == 0 && !state.closed;
        state = shared.work.wait_timeout_while(state, IDLE, nothing).unwrap_or_else(PoisonError::into_inner).0;
        state.idle -= 1;
        let Some((queue, number, host)) = state.take(at_once) else {
            state.threads -= 1;
            return;
        };
        drop(state);
        let began = attempt::now();
        let answer = catch_unwind(AssertUnwindSafe(|| resolver.resolve(&host)));
        let addresses = answer.ok().and_then(Result::ok).filter(|addresses| !addresses.is_empty());
        state = shared.lock();
        state.on_unknown -= usize::from(queue == OF_UNKNOWN);
        if let Some(waiting) = state.waiting.remove(&number) {
            state.answered(&host, attempt::now().saturating_sub(began) <= PROMPT);
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
    fn lookups_that_hang_hold_half_of_the_threads_and_leave_nothing_behind() {
        let (resolver, lookups) = lookups(4);
        assert!(lookups.find("good", LONG).is_ok());
        while resolver.running.load(Ordering::SeqCst) < 2 {
            assert_eq!(lookups.find("hang", SHORT), Err(NoAddress::TimedOut));
        }
        assert_eq!(lookups.find("hang", SHORT), Err(NoAddress::TimedOut));
        // Two of four threads hang. Who is new waits, in vain; who was answered before does not.
        assert_eq!(lookups.find("new", SHORT), Err(NoAddress::TimedOut));
        assert!(lookups.find("good", LONG).is_ok());
        {
            let state = lookups.shared.lock();
            assert_eq!((state.waiting.len(), state.queues.iter().map(VecDeque::len).sum::<usize>()), (0, 0));
        }
        assert_eq!((resolver.asked.load(Ordering::SeqCst), resolver.most.load(Ordering::SeqCst)), (4, 3));
        // What waits when they go on is looked up.
        scope(|scope| {
            let found = scope.spawn(|| lookups.find("new", LONG));
            while lookups.shared.lock().queues[OF_UNKNOWN].is_empty() {
                std::thread::yield_now();
            }
            resolver.go_on();
            assert!(found.join().unwrap().is_ok());
        });
    }

    #[test]
    fn a_name_whose_lookup_hung_is_new_again() {
        let (resolver, lookups) = lookups(4);
        resolver.go_on();
        assert!(lookups.find("hang", LONG).is_ok());
        assert_eq!(lookups.shared.lock().known, HashSet::from(["hang".to_owned()]));
        *resolver.go_on.lock().unwrap() = false;
        assert_eq!(lookups.find("hang", SHORT), Err(NoAddress::TimedOut));
        assert_eq!(lookups.shared.lock().known, HashSet::new());
        resolver.go_on();
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
