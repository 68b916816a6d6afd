//! Resolves host names on a limited number of threads.
//!
//! The system's resolver blocks for as long as the DNS servers let it, and cannot be cancelled; ureq would start one
//! more thread for each lookup that hangs. Here at most [`MAX_THREADS`] lookups run at once, a caller waits no longer
//! than its timeout, and a lookup is not started if its caller has timed out.
//!
//! Organizations share the threads by the rule of [`fair`](crate::fair): one gets at most half of them, also if all its
//! lookups hang.
//!
//! Addresses are not cached: every attempt looks the name up and checks the addresses.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::exchange;
use super::resolver::Resolver;
use crate::fair::{Permit, Semaphore, Tenant};

/// How many lookups run at once. Waiting threads are cheap; a thread whose lookup hangs is lost for that time.
pub(crate) const MAX_THREADS: usize = 64;

/// How often a caller that waits looks whether the pool was closed.
const CLOSING_CHECK: Duration = Duration::from_millis(100);

/// Why a lookup found no addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupError {
    /// The name has no addresses, or its DNS servers failed.
    NotFound,
    TimedOut,
    Closed,
}

type LookupResult = Result<Vec<IpAddr>, LookupError>;

/// Threads that resolve names.
pub(crate) struct LookupPool {
    resolver: Arc<dyn Resolver>,
    permits: Semaphore,
    is_closed: AtomicBool,
}

impl LookupPool {
    pub(crate) fn new(resolver: Arc<dyn Resolver>, max_threads: usize) -> Self {
        Self { resolver, permits: Semaphore::new(max_threads), is_closed: AtomicBool::new(false) }
    }

    /// Returns the addresses of a name, at least one.
    pub(crate) fn resolve(&self, tenant: Tenant, host: &str, timeout: Duration) -> LookupResult {
        let gives_up_at = exchange::now().saturating_add(timeout);
        let permit = self.permit(tenant, gives_up_at)?;
        let (sender, receiver) = sync_channel(1);
        let (resolver, name) = (Arc::clone(&self.resolver), host.to_owned());
        let look_up = move || {
            let _permit = permit;
            // Fails after the timeout: the receiver has been dropped.
            let _ = sender.send(resolver.resolve(&name));
        };
        let thread = std::thread::Builder::new().name("ticketing-lookup".to_owned()).spawn(look_up);
        thread.map_err(|_| LookupError::NotFound)?;
        loop {
            let left = self.time_left(gives_up_at)?;
            match receiver.recv_timeout(left.min(CLOSING_CHECK)) {
                Ok(found) => {
                    return found.ok().filter(|addresses| !addresses.is_empty()).ok_or(LookupError::NotFound);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The resolver has panicked.
                Err(RecvTimeoutError::Disconnected) => return Err(LookupError::NotFound),
            }
        }
    }

    fn permit(&self, tenant: Tenant, gives_up_at: Duration) -> Result<Permit, LookupError> {
        let left = self.time_left(gives_up_at)?;
        let permit = self.permits.acquire(tenant, left, || self.is_closed.load(Ordering::Relaxed));
        permit.ok_or_else(|| self.time_left(gives_up_at).err().unwrap_or(LookupError::TimedOut))
    }

    fn time_left(&self, gives_up_at: Duration) -> Result<Duration, LookupError> {
        let left = gives_up_at.saturating_sub(exchange::now());
        if self.is_closed.load(Ordering::Relaxed) {
            Err(LookupError::Closed)
        } else if left.is_zero() {
            Err(LookupError::TimedOut)
        } else {
            Ok(left)
        }
    }

    /// Fails all current and future lookups.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::Ipv4Addr;
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Condvar, Mutex};
    use std::thread::scope;

    use super::*;
    use crate::fair::tenant;

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

    fn resolve(pool: &LookupPool, organization: i64, host: &str, timeout: Duration) -> LookupResult {
        pool.resolve(tenant(organization), host, timeout)
    }

    #[track_caller]
    fn wait_until(is_so: impl Fn() -> bool) {
        for _ in 0..6000 {
            if is_so() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it did not happen");
    }

    #[test]
    fn a_name_without_addresses_is_not_found_and_a_panic_returns_its_permit() {
        let (_, pool) = pool(1);
        for host in ["none", "error", "panic", "panic"] {
            assert_eq!(resolve(&pool, 1, host, LONG), Err(LookupError::NotFound), "{host}");
        }
        assert!(resolve(&pool, 1, "good", LONG).is_ok());
    }

    #[test]
    fn lookups_of_an_organization_that_hang_occupy_half_of_the_threads_and_those_of_others_go_on() {
        let (resolver, pool) = pool(8);
        while resolver.running.load(Ordering::SeqCst) < 4 {
            assert_eq!(resolve(&pool, 1, "hang", SHORT), Err(LookupError::TimedOut));
        }
        assert_eq!(resolve(&pool, 1, "good", SHORT), Err(LookupError::TimedOut));
        for organization in 2..6 {
            assert!(resolve(&pool, organization, "good", LONG).is_ok());
        }
        assert_eq!(pool.permits.waiting(), 0);
        assert_eq!(resolver.calls.load(Ordering::SeqCst), 8, "none for a caller that had timed out");
        assert_eq!(resolver.most_running.load(Ordering::SeqCst), 5);
        // When the hanging lookups return, the waiting ones start.
        scope(|scope| {
            let lookup = scope.spawn(|| resolve(&pool, 1, "good", LONG));
            wait_until(|| pool.permits.waiting() == 1);
            resolver.release();
            assert!(lookup.join().unwrap().is_ok());
        });
    }

    #[test]
    fn closing_fails_all_lookups() {
        let (resolver, pool) = pool(1);
        scope(|scope| {
            let lookups = [(); 3].map(|()| scope.spawn(|| resolve(&pool, 1, "hang", Duration::from_mins(10))));
            wait_until(|| resolver.running.load(Ordering::SeqCst) + pool.permits.waiting() == 3);
            pool.close();
            for lookup in lookups {
                assert_eq!(lookup.join().unwrap(), Err(LookupError::Closed));
            }
        });
        assert_eq!(resolve(&pool, 1, "good", LONG), Err(LookupError::Closed));
        resolver.release();
    }
}
