//! Permits for reads that may scan many rows: how many run at the same time, and for whom.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::environment::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::model::cancellation::CancellationToken;
use crate::model::id::OrganizationId;

/// How long a read waits for its permit.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// How many reads may wait, of one organization and in all. Each of them keeps a thread.
const MAX_WAITING_OF_ONE: usize = 16;
const MAX_WAITING: usize = 64;

/// How often a waiting read looks whether its result is still needed.
const CANCELLATION_CHECK: Duration = Duration::from_millis(100);

/// For whom a read is: an organization, or the program itself (`None`).
type Holder = Option<OrganizationId>;

/// The permits. Only a part of them serves one organization, and one is reserved for the program itself, so that an
/// organization with many large reads delays neither others nor the monitoring.
#[derive(Debug)]
pub(super) struct ScanPermits {
    state: Mutex<State>,
    granted: Condvar,
    total: usize,
}

#[derive(Debug, Default)]
struct State {
    in_use: usize,
    by_holder: HashMap<Holder, usize>,
    /// The reads that wait, the longest first. None of them fits at the moment.
    waiting: Vec<Waiting>,
    next_number: u64,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    holder: Holder,
    is_granted: bool,
}

impl ScanPermits {
    pub(super) fn new(total: usize) -> Self {
        Self { state: Mutex::default(), granted: Condvar::new(), total }
    }

    /// Waits for a permit. If several organizations wait, the one with the fewest permits is next.
    pub(super) fn acquire(&self, holder: Holder) -> Result<ScanPermit<'_>> {
        let mut state = self.state();
        if self.fits(&state, holder) {
            state.take(holder);
            return Ok(ScanPermit { permits: self, holder });
        }
        let number = state.enqueue(holder)?;
        let token = CancellationToken::current();
        let give_up_at = SystemClock.monotonic() + MAX_WAIT;
        loop {
            state = self.granted.wait_timeout(state, CANCELLATION_CHECK).unwrap_or_else(PoisonError::into_inner).0;
            if state.remove_if_granted(number) {
                return Ok(ScanPermit { permits: self, holder });
            }
            let is_cancelled = token.as_ref().is_some_and(CancellationToken::is_cancelled);
            if is_cancelled || SystemClock.monotonic() >= give_up_at {
                state.waiting.retain(|waiting| waiting.number != number);
                return Err(Error::Unavailable(
                    "too many searches and filtered lists are in progress; try again later",
                ));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fits(&self, state: &State, holder: Holder) -> bool {
        let reserved = usize::from(self.total > 1);
        match holder {
            None => state.in_use < self.total,
            Some(_) => state.in_use < self.total - reserved && state.used_by(holder) < self.total.div_ceil(2),
        }
    }

    fn release(&self, holder: Holder) {
        let mut state = self.state();
        state.in_use -= 1;
        if let Some(used) = state.by_holder.get_mut(&holder) {
            *used -= 1;
            if *used == 0 {
                state.by_holder.remove(&holder);
            }
        }
        let waiting = state.waiting.iter().enumerate().filter(|(_, next)| !next.is_granted);
        let fitting = waiting.filter(|(_, next)| self.fits(&state, next.holder));
        let next = fitting.min_by_key(|(_, next)| (state.used_by(next.holder), next.number));
        if let Some((index, holder)) = next.map(|(index, next)| (index, next.holder)) {
            state.take(holder);
            state.waiting[index].is_granted = true;
            self.granted.notify_all();
        }
    }
}

impl State {
    fn used_by(&self, holder: Holder) -> usize {
        self.by_holder.get(&holder).copied().unwrap_or_default()
    }

    fn take(&mut self, holder: Holder) {
        self.in_use += 1;
        *self.by_holder.entry(holder).or_default() += 1;
    }

    /// Adds a read to those that wait, and returns its number.
    fn enqueue(&mut self, holder: Holder) -> Result<u64> {
        let of_holder = self.waiting.iter().filter(|waiting| waiting.holder == holder).count();
        if of_holder >= MAX_WAITING_OF_ONE || self.waiting.len() >= MAX_WAITING {
            return Err(Error::Unavailable("too many searches and filtered lists are waiting; try again later"));
        }
        self.next_number += 1;
        self.waiting.push(Waiting { number: self.next_number, holder, is_granted: false });
        Ok(self.next_number)
    }

    fn remove_if_granted(&mut self, number: u64) -> bool {
        let granted = self.waiting.iter().position(|waiting| waiting.number == number && waiting.is_granted);
        granted.map(|index| self.waiting.remove(index)).is_some()
    }
}

/// Permission for one read. It is returned when it is dropped.
#[derive(Debug)]
pub(super) struct ScanPermit<'p> {
    permits: &'p ScanPermits,
    holder: Holder,
}

impl Drop for ScanPermit<'_> {
    fn drop(&mut self) {
        self.permits.release(self.holder);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const FIRST: Holder = Some(OrganizationId::from_raw(1));
    const SECOND: Holder = Some(OrganizationId::from_raw(2));
    const THIRD: Holder = Some(OrganizationId::from_raw(3));

    /// Waits for a permit until there is one: a read gives up after some seconds, which a slow machine may take for other
    /// things.
    fn acquire_at_last(permits: &ScanPermits, holder: Holder) -> ScanPermit<'_> {
        std::iter::repeat_with(|| permits.acquire(holder)).find_map(Result::ok).unwrap()
    }

    /// Waits until this number of reads waits.
    fn wait_for(permits: &ScanPermits, waiting: usize) {
        while permits.state().waiting.len() != waiting {
            std::thread::yield_now();
        }
    }

    #[test]
    fn an_organization_gets_half_of_the_permits_and_one_is_reserved_for_the_program() {
        let permits = ScanPermits::new(4);
        let _first = [permits.acquire(FIRST).unwrap(), permits.acquire(FIRST).unwrap()];
        assert!(!permits.fits(&permits.state(), FIRST));
        let other = permits.acquire(SECOND).unwrap();
        assert!(!permits.fits(&permits.state(), THIRD));
        let _program = permits.acquire(None).unwrap();
        assert!(!permits.fits(&permits.state(), None));
        drop(other);
        assert!(!permits.fits(&permits.state(), FIRST));
        assert!(!permits.fits(&permits.state(), THIRD), "three of four are in use");
        assert!(permits.fits(&permits.state(), None));
    }

    #[test]
    fn a_single_permit_serves_organizations_too() {
        let permits = ScanPermits::new(1);
        let permit = permits.acquire(FIRST).unwrap();
        assert!(!permits.fits(&permits.state(), None));
        drop(permit);
        assert!(permits.acquire(SECOND).is_ok());
    }

    #[test]
    fn the_waiting_organization_with_the_fewest_permits_is_next() {
        let permits = ScanPermits::new(4);
        let busy = permits.acquire(FIRST).unwrap();
        let _busy = permits.acquire(FIRST).unwrap();
        let third = permits.acquire(THIRD).unwrap();
        let (sender, granted) = mpsc::channel();
        std::thread::scope(|scope| {
            for (holder, waiting) in [(FIRST, 1), (FIRST, 2), (SECOND, 3)] {
                let (permits, sender) = (&permits, sender.clone());
                scope.spawn(move || {
                    let permit = acquire_at_last(permits, holder);
                    sender.send(holder).unwrap();
                    drop(permit);
                });
                wait_for(permits, waiting);
            }
            // The first organization has waited longer, but has a permit.
            drop(third);
            assert_eq!(granted.recv(), Ok(SECOND));
            drop(busy);
            assert_eq!([granted.recv(), granted.recv()], [Ok(FIRST), Ok(FIRST)]);
        });
        assert!(permits.state().waiting.is_empty());
    }

    #[test]
    fn reads_past_the_limit_on_waiting_ones_fail_at_once() {
        let permits = ScanPermits::new(2);
        let permit = permits.acquire(FIRST).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..MAX_WAITING_OF_ONE {
                scope.spawn(|| drop(acquire_at_last(&permits, FIRST)));
            }
            wait_for(&permits, MAX_WAITING_OF_ONE);
            assert!(matches!(permits.acquire(FIRST), Err(Error::Unavailable(_))));
            drop(permit);
        });
    }

    #[test]
    fn a_read_whose_result_is_not_needed_any_more_stops_waiting() {
        let permits = ScanPermits::new(1);
        let _permit = permits.acquire(FIRST).unwrap();
        let token = CancellationToken::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| token.run(|| permits.acquire(SECOND).map(drop)));
            wait_for(&permits, 1);
            token.cancel();
            assert!(waiting.join().unwrap().is_err());
        });
        assert!(permits.state().waiting.is_empty());
    }
}
