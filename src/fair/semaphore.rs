//! A semaphore whose permits organizations share.
//!
//! A permit that becomes free is given to a waiter while the state is locked: from then on it counts as used, and the
//! waiter either takes it or, when it is dropped, passes it on. So no permit is lost if a wait ends at the moment of
//! the grant.
//!
//! A test with a scheduler that tries many interleavings includes this file, so it names threads, locks and the clock
//! only through `sync`.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::sync::{Mutex, MutexGuard, PoisonError, Thread, current, monotonic, park_timeout};
use super::{RoundRobin, Tenant, Usage};

/// How often a thread that waits looks whether its result is still needed.
const CANCELLATION_CHECK: Duration = Duration::from_millis(100);

/// Whether a tenant that has `own` permits may get another one if all tenants have `used` of `permits`.
pub(crate) const fn is_fair(own: usize, used: usize, permits: usize) -> bool {
    own < permits.saturating_sub(used)
}

/// How many permits there are, and for whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) permits: usize,
    /// How many of them only the program itself gets, which may use all others too. If it is 0, the program gets as
    /// many as an organization.
    pub(crate) reserved: usize,
    /// Whether an organization may use all permits if no other waits. This is for work that soon ends.
    pub(crate) one_may_use_all: bool,
    /// How many may wait, of one tenant and in all.
    pub(crate) max_waiting_of_one: usize,
    pub(crate) max_waiting: usize,
}

impl Limits {
    pub(crate) const fn new(permits: usize) -> Self {
        Self { permits, reserved: 0, one_may_use_all: false, max_waiting_of_one: usize::MAX, max_waiting: usize::MAX }
    }

    /// Whether the tenant may have another permit.
    fn allow(&self, usage: &Usage<Tenant>, tenant: Tenant) -> bool {
        if self.one_may_use_all || (tenant.is_none() && self.reserved > 0) {
            return usage.all() < self.permits;
        }
        let reserved_in_use = usage.of(&None).min(self.reserved);
        is_fair(usage.of(&tenant), usage.all() - reserved_in_use, self.permits.saturating_sub(self.reserved))
    }
}

/// A number of permits, and those that wait for one. Tenants that wait take turns. Clones share both.
#[derive(Debug, Clone)]
pub(crate) struct Semaphore(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    usage: Usage<Tenant>,
    /// The numbers of those that wait. None of them may have a permit at the moment.
    queue: RoundRobin<Tenant, u64>,
    /// Those that wait, by number. A waiter that is not here was given a permit.
    waiting: HashMap<u64, Waiting>,
    last_number: u64,
}

#[derive(Debug)]
struct Waiting {
    tenant: Tenant,
    waker: Waker,
}

/// The right to do something until it is dropped. It is then given to one that waits.
#[derive(Debug)]
pub(crate) struct Permit {
    semaphore: Semaphore,
    tenant: Tenant,
}

/// A future whose result is a permit. If it is dropped, it leaves the queue, or passes on a permit that it was given.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// `None` once the permit was taken.
    semaphore: Option<Semaphore>,
    tenant: Tenant,
    number: u64,
}

impl Semaphore {
    /// A semaphore without reserved permits and without a limit on the number of waiters.
    pub(crate) fn new(permits: usize) -> Self {
        Self::with(Limits::new(permits))
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self(Arc::new(Shared { limits, state: Mutex::new(State::default()) }))
    }

    /// Returns a permit if the tenant may have one now.
    pub(crate) fn try_acquire(&self, tenant: Tenant) -> Option<Permit> {
        let is_granted = self.state().take_if_fair(&self.0.limits, tenant);
        is_granted.then(|| Permit { semaphore: self.clone(), tenant })
    }

    /// Waits on this thread for a permit. Returns `None` after `max_wait`, when it is cancelled, or if too many wait.
    pub(crate) fn acquire(
        &self,
        tenant: Tenant,
        max_wait: Duration,
        is_cancelled: impl Fn() -> bool,
    ) -> Option<Permit> {
        let mut waiter = self.request(tenant)?;
        let waker = Waker::from(Arc::new(ThreadWaker(current())));
        let gives_up_at = monotonic().saturating_add(max_wait);
        loop {
            if let Poll::Ready(permit) = Pin::new(&mut waiter).poll(&mut Context::from_waker(&waker)) {
                return Some(permit);
            }
            let left = gives_up_at.saturating_sub(monotonic());
            if left.is_zero() || is_cancelled() {
                return None;
            }
            park_timeout(left.min(CANCELLATION_CHECK));
        }
    }

    /// Returns a future permit, or `None` if too many wait.
    pub(crate) fn request(&self, tenant: Tenant) -> Option<Waiter> {
        let limits = &self.0.limits;
        let mut state = self.state();
        let mut number = 0;
        if !state.take_if_fair(limits, tenant) {
            let of_one = state.queue.len_of(tenant);
            if of_one >= limits.max_waiting_of_one || state.waiting.len() >= limits.max_waiting {
                return None;
            }
            state.last_number += 1;
            number = state.last_number;
            state.queue.push(tenant, number);
            state.waiting.insert(number, Waiting { tenant, waker: Waker::noop().clone() });
        }
        drop(state);
        Some(Waiter { semaphore: Some(self.clone()), tenant, number })
    }

    /// How many permits nobody has.
    pub(crate) fn free(&self) -> usize {
        self.0.limits.permits.saturating_sub(self.state().usage.all())
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a permit back, and gives what is free to those that wait.
    fn release(&self, tenant: Tenant) {
        let mut state = self.state();
        state.usage.give_back(&tenant, 1);
        let granted = state.grant(&self.0.limits);
        drop(state);
        for waker in granted {
            waker.wake();
        }
    }
}

impl State {
    /// Gives permits to those that wait, while one of them may have one. Returns how they are woken.
    fn grant(&mut self, limits: &Limits) -> Vec<Waker> {
        let mut granted = Vec::new();
        while let Some(number) = self.queue.pop_if(|tenant| limits.allow(&self.usage, tenant)) {
            if let Some(waiting) = self.waiting.remove(&number) {
                self.usage.take(waiting.tenant, 1);
                granted.push(waiting.waker);
            }
        }
        granted
    }

    fn take_if_fair(&mut self, limits: &Limits, tenant: Tenant) -> bool {
        let is_fair = limits.allow(&self.usage, tenant);
        if is_fair {
            self.usage.take(tenant, 1);
        }
        is_fair
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.semaphore.release(self.tenant);
    }
}

impl Future for Waiter {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit> {
        let (tenant, number) = (self.tenant, self.number);
        if let Some(semaphore) = &self.semaphore
            && let Some(waiting) = semaphore.state().waiting.get_mut(&number)
        {
            waiting.waker.clone_from(context.waker());
            return Poll::Pending;
        }
        self.semaphore.take().map_or(Poll::Pending, |semaphore| Poll::Ready(Permit { semaphore, tenant }))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let Some(semaphore) = self.semaphore.take() else { return };
        let mut state = semaphore.state();
        if state.waiting.remove(&self.number).is_some() {
            state.queue.remove(self.tenant, &self.number);
            return;
        }
        drop(state);
        // It was given a permit that it has not taken.
        semaphore.release(self.tenant);
    }
}

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
