//! A limit on requests in progress that organizations share: each leaves some of the permits to the others, and those that
//! wait for one take turns.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot::{self, Receiver, Sender};

use super::problem::Problem;
use crate::fair_permits::{FairPermit, FairPermits, Holder};
use crate::round_robin::RoundRobin;

/// How long a request waits for a permit before it is refused with 503.
pub(super) const MAX_WAIT: Duration = Duration::from_millis(250);

/// Permits, and the requests that wait for one. Clones share both.
#[derive(Debug, Clone)]
pub(super) struct FairQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    permits: Arc<FairPermits>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: RoundRobin<Holder, WaitingRequest>,
    last_number: u64,
}

#[derive(Debug)]
struct WaitingRequest {
    number: u64,
    sender: Sender<QueuePermit>,
}

/// The right to be in progress until it is dropped. It is then passed on to a request that waits.
#[derive(Debug)]
pub(super) struct QueuePermit {
    permit: Option<FairPermit>,
    shared: Arc<Shared>,
}

impl FairQueue {
    pub(super) fn new(permits: usize) -> Self {
        Self(Arc::new(Shared { permits: FairPermits::new(permits), waiting: Mutex::default() }))
    }

    /// Returns a permit if a request of the organization need not wait for it.
    pub(super) fn try_acquire(&self, holder: Holder) -> Option<QueuePermit> {
        self.0.try_acquire(&self.0.waiting(), holder)
    }

    /// Waits for a permit.
    pub(super) async fn acquire(&self, holder: Holder) -> Result<QueuePermit, Problem> {
        let mut place = match self.join(holder) {
            Ok(permit) => return Ok(permit),
            Err(place) => place,
        };
        match tokio::time::timeout(MAX_WAIT, &mut place.receiver).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Problem::unavailable("too many requests are in progress; try again later")),
        }
    }

    /// Returns a permit, or else a place in the queue.
    fn join(&self, holder: Holder) -> Result<QueuePermit, Place> {
        let mut waiting = self.0.waiting();
        if let Some(permit) = self.0.try_acquire(&waiting, holder) {
            return Ok(permit);
        }
        let (sender, receiver) = oneshot::channel();
        waiting.last_number += 1;
        let number = waiting.last_number;
        waiting.requests.push(holder, WaitingRequest { number, sender });
        Err(Place { shared: Arc::clone(&self.0), holder, number, receiver })
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that wait already come first.
    fn try_acquire(self: &Arc<Self>, waiting: &Waiting, holder: Holder) -> Option<QueuePermit> {
        if waiting.requests.contains(holder) {
            return None;
        }
        self.permits.try_acquire(holder).map(|permit| self.permit(permit))
    }

    fn permit(self: &Arc<Self>, permit: FairPermit) -> QueuePermit {
        QueuePermit { permit: Some(permit), shared: Arc::clone(self) }
    }

    /// Gives the permits that are free to requests that wait.
    fn serve(self: &Arc<Self>) {
        let mut waiting = self.waiting();
        loop {
            let mut permit = None;
            let next = waiting.requests.pop_if(|holder| {
                permit = self.permits.try_acquire(holder);
                permit.is_some()
            });
            let (Some(request), Some(permit)) = (next, permit) else { return };
            if let Err(mut unused) = request.sender.send(self.permit(permit)) {
                // It has given up. Dropping the permit as it is would lock the queue again.
                drop(unused.permit.take());
            }
        }
    }
}

impl Drop for QueuePermit {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            drop(permit);
            self.shared.serve();
        }
    }
}

/// The place of a request in the queue. It is left when it is dropped, also because the client has gone away.
#[derive(Debug)]
struct Place {
    shared: Arc<Shared>,
    holder: Holder,
    number: u64,
    receiver: Receiver<QueuePermit>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.waiting().requests.remove_if(self.holder, |request| request.number == self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::id::OrganizationId;

    fn organization(number: i64) -> OrganizationId {
        OrganizationId::from_raw(number)
    }

    /// A request that has to wait.
    fn wait(queue: &FairQueue, number: i64) -> Place {
        queue.join(Some(organization(number))).expect_err("no permit is left for it")
    }

    /// All permits that an organization gets.
    fn take_all(queue: &FairQueue, number: i64) -> Vec<QueuePermit> {
        std::iter::from_fn(|| queue.try_acquire(Some(organization(number)))).collect()
    }

    #[test]
    fn a_request_of_another_organization_need_not_wait_behind_a_thousand_of_one() {
        let queue = FairQueue::new(4);
        let held = take_all(&queue, 1);
        assert_eq!(held.len(), 2);
        let mut heavy: Vec<_> = (0..1000).map(|_| wait(&queue, 1)).collect();
        let light = queue.join(Some(organization(2))).expect("two are left");
        let mut second = wait(&queue, 2);
        drop(light);
        assert!(second.receiver.try_recv().is_ok(), "it comes before those that wait longer");
        // The control: within one organization it is first come, first served.
        let mut own = wait(&queue, 1);
        drop(held);
        assert!(heavy[0].receiver.try_recv().is_ok());
        assert!(own.receiver.try_recv().is_err());
    }

    #[test]
    fn organizations_that_wait_take_turns() {
        let queue = FairQueue::new(3);
        let held = [1, 2, 3].map(|number| queue.try_acquire(Some(organization(number))).expect("a permit"));
        let mut places: Vec<_> = [4, 4, 4, 5, 6].into_iter().map(|number| wait(&queue, number)).collect();
        let mut served = Vec::new();
        for permit in held {
            drop(permit);
            for (index, place) in places.iter_mut().enumerate() {
                served.extend(place.receiver.try_recv().map(|permit| (index, permit)));
            }
        }
        assert_eq!(served.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 3, 4]);
    }

    #[test]
    fn a_request_whose_client_goes_away_leaves_the_queue_and_passes_its_permit_on() {
        let queue = FairQueue::new(1);
        let held = take_all(&queue, 1);
        drop(wait(&queue, 2));
        assert!(queue.0.waiting().requests.is_empty());
        let (sent, mut next) = (wait(&queue, 3), wait(&queue, 4));
        drop(held);
        assert!(next.receiver.try_recv().is_err(), "the permit was sent to the other one");
        drop(sent);
        assert!(next.receiver.try_recv().is_ok());
        assert!(queue.0.waiting().requests.is_empty());
        assert_eq!(queue.0.permits.free(), 1);
    }

    #[tokio::test]
    async fn a_request_that_has_waited_too_long_is_refused_with_503_and_leaves_the_queue() {
        let queue = FairQueue::new(1);
        let _held = take_all(&queue, 1);
        assert_eq!(queue.acquire(Some(organization(2))).await.unwrap_err().status(), 503);
        assert!(queue.0.waiting().requests.is_empty());
    }
}
