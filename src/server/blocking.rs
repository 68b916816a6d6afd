//! Calls into the facade, which wait for the disk: on threads that may wait, and never more of them than a bound.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;
use crate::service::TicketingService;

/// How long a request waits for its turn before it is told to come back.
const PATIENCE: Duration = Duration::from_millis(250);

/// The service, and how many requests may be inside it at once.
#[derive(Debug, Clone)]
pub(super) struct Facade {
    service: TicketingService,
    places: Arc<Semaphore>,
    /// Half of the places: what a payment gateway may keep waiting leaves the other half to the door.
    gateway_places: Arc<Semaphore>,
}

/// Whether a call may have to wait for the payment gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// It waits for the store alone.
    Store,
    /// It may ask the payment gateway, which answers when it likes.
    Gateway,
}

impl Facade {
    pub(super) fn new(service: TicketingService, at_once: usize) -> Self {
        let at_once = at_once.clamp(2, Semaphore::MAX_PERMITS);
        let (places, gateway_places) = (Semaphore::new(at_once), Semaphore::new(at_once / 2));
        Self { service, places: Arc::new(places), gateway_places: Arc::new(gateway_places) }
    }

    /// Whether a call that may have to wait for the gateway would have to wait for its turn.
    pub(super) fn gateway_is_crowded(&self) -> bool {
        self.gateway_places.available_permits() == 0
    }

    /// Does `work` on a thread that may wait. Once begun it is finished, also where nobody waits for its answer any more.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        wait: Wait,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let gateway_place = match wait {
            Wait::Gateway => Some(place(&self.gateway_places).await?),
            Wait::Store => None,
        };
        let place = place(&self.places).await?;
        let service = self.service.clone();
        let run = move || {
            let _places = (place, gateway_place);
            work(&service)
        };
        tokio::task::spawn_blocking(run).await.unwrap_or_else(|panic| Err(Problem::internal(panic)))
    }
}

async fn place(places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
    if let Ok(place) = Arc::clone(places).try_acquire_owned() {
        return Ok(place);
    }
    match tokio::time::timeout(PATIENCE, Arc::clone(places).acquire_owned()).await {
        Ok(Ok(place)) => Ok(place),
        _ => Err(Problem::unavailable("too many requests are under way")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn service() -> (tempfile::TempDir, TicketingService) {
        let folder = tempfile::tempdir().unwrap();
        let service = TicketingService::open(folder.path().join("ticketing.db")).unwrap();
        (folder, service)
    }

    #[tokio::test]
    async fn calls_past_the_bound_are_told_to_come_back() {
        let (_folder, service) = service();
        let facade = Facade::new(service, 2);
        let (release, released) = channel::<()>();
        let released = Arc::new(std::sync::Mutex::new(released));
        let busy = [0, 1].map(|_| {
            let (facade, released) = (facade.clone(), Arc::clone(&released));
            tokio::spawn(async move {
                let wait = move |_: &TicketingService| Ok(released.lock().unwrap().recv().is_err());
                facade.call(Wait::Store, wait).await.is_ok()
            })
        });
        while facade.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = facade.call(Wait::Store, |_| Ok(())).await.unwrap_err();
        assert_eq!(refused.status(), 503);
        drop(release);
        for call in busy {
            assert!(call.await.unwrap());
        }
        assert!(facade.call(Wait::Store, |_| Ok(())).await.is_ok());
    }

    #[tokio::test]
    async fn calls_that_may_wait_for_the_gateway_leave_half_of_the_places_to_others() {
        let (_folder, service) = service();
        let facade = Facade::new(service, 2);
        let (release, released) = channel::<()>();
        let slow = tokio::spawn({
            let facade = facade.clone();
            async move { facade.call(Wait::Gateway, move |_| Ok(released.recv().is_err())).await.is_ok() }
        });
        while facade.gateway_places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(facade.call(Wait::Gateway, |_| Ok(())).await.unwrap_err().status(), 503);
        assert!(facade.call(Wait::Store, |_| Ok(())).await.is_ok());
        drop(release);
        assert!(slow.await.unwrap());
    }

    #[tokio::test]
    async fn a_panic_inside_is_an_internal_problem_and_gives_its_place_back() {
        let (_folder, service) = service();
        let facade = Facade::new(service, 2);
        for _ in 0..3 {
            let panicked = facade.call(Wait::Store, |_| -> Result<(), Problem> { panic!("on purpose") }).await;
            assert_eq!(panicked.unwrap_err().status(), 500);
        }
    }
}
