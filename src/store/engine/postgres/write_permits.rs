//! Permits for connections that write: organizations share them, and take turns when they wait.

use std::collections::HashMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::fair_permits::{Holder, is_fair};
use crate::round_robin::RoundRobin;

/// How long a write waits for a connection: longer than a lock is waited for.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// The permits. An organization gets another one only while it has fewer than are free, so some are always left for the
/// others.
#[derive(Debug)]
pub(super) struct WritePermits {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    by_holder: HashMap<Holder, usize>,
    waiting: RoundRobin<Holder, SyncSender<()>>,
}

/// The right to use a connection, until it is dropped.
#[derive(Debug)]
pub(super) struct WritePermit<'p> {
    permits: &'p WritePermits,
    holder: Holder,
}

impl WritePermits {
    pub(super) fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// Waits for a permit.
    pub(super) fn acquire(&self, holder: Holder) -> Result<WritePermit<'_>> {
        let granted = {
            let mut state = self.state();
            if state.take_if_fair(holder, self.most) {
                return Ok(WritePermit { permits: self, holder });
            }
            let (grant, granted) = sync_channel(1);
            state.waiting.push(holder, grant);
            granted
        };
        if granted.recv_timeout(MAX_WAIT).is_ok() {
            return Ok(WritePermit { permits: self, holder });
        }
        // While the state is locked, nothing is granted: from here on, sending fails.
        let state = self.state();
        let granted = granted.try_recv().is_ok();
        drop(state);
        match granted {
            true => Ok(WritePermit { permits: self, holder }),
            false => Err(Error::Unavailable("the store is busy")),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn own(&self, holder: Holder) -> usize {
        self.by_holder.get(&holder).copied().unwrap_or_default()
    }

    fn take_if_fair(&mut self, holder: Holder, most: usize) -> bool {
        let is_granted = is_fair(self.own(holder), self.used, most);
        if is_granted {
            self.used += 1;
            *self.by_holder.entry(holder).or_default() += 1;
        }
        is_granted
    }

    fn give_back(&mut self, holder: Holder) {
        self.used -= 1;
        if let Some(own) = self.by_holder.get_mut(&holder) {
            *own -= 1;
            if *own == 0 {
                self.by_holder.remove(&holder);
            }
        }
    }

    /// Grants permits to those that wait, as long as one of them may have another one.
    fn grant(&mut self, most: usize) {
        loop {
            let mut next = None;
            let (by_holder, used) = (&self.by_holder, self.used);
            let is_next = |holder: Holder| {
                let is_next = is_fair(by_holder.get(&holder).copied().unwrap_or_default(), used, most);
                next = is_next.then_some(holder);
                is_next
            };
            let Some(grant) = self.waiting.pop_if(is_next) else { return };
            // It fails if the write has given up.
            if let Some(holder) = next
                && grant.send(()).is_ok()
            {
                self.take_if_fair(holder, most);
            }
        }
    }
}

impl Drop for WritePermit<'_> {
    fn drop(&mut self) {
        let mut state = self.permits.state();
        state.give_back(self.holder);
        state.grant(self.permits.most);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::model::id::OrganizationId;

    const FIRST: Holder = Some(OrganizationId::from_raw(1));
    const SECOND: Holder = Some(OrganizationId::from_raw(2));

    #[test]
    fn an_organization_with_many_writes_leaves_connections_to_the_others() {
        let permits = WritePermits::new(16);
        let held: Vec<_> = (0..8).map(|_| permits.acquire(FIRST).unwrap()).collect();
        assert!(!permits.state().take_if_fair(FIRST, 16), "half of all");
        let others: Vec<_> = (0..4).map(|_| permits.acquire(SECOND).unwrap()).collect();
        let program = permits.acquire(None).unwrap();
        drop((held, others, program));
        assert_eq!(permits.state().used, 0);
        assert!(permits.state().by_holder.is_empty());
    }

    #[test]
    fn organizations_that_wait_take_turns() {
        let permits = WritePermits::new(1);
        let (sender, order) = mpsc::channel();
        let first = permits.acquire(None).unwrap();
        std::thread::scope(|scope| {
            for (waiting, holder) in [FIRST, FIRST, SECOND].into_iter().enumerate() {
                let (permits, sender) = (&permits, sender.clone());
                scope.spawn(move || {
                    let _permit = permits.acquire(holder).unwrap();
                    sender.send(holder).unwrap();
                });
                while permits.state().waiting.iter().count() <= waiting {
                    std::thread::yield_now();
                }
            }
            drop(first);
            let order: Vec<_> = (0..3).map(|_| order.recv().unwrap()).collect();
            assert_eq!(order, [FIRST, SECOND, FIRST]);
        });
    }
}
