//! The store under bad conditions: what is no database of ours, a disk that is full, a value that is corrupt, an operation
//! that panics. Each error says which, and nothing that was acknowledged is missing afterwards.

#[path = "common/load.rs"]
mod load;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use load::{NOON, Shop, assert_sound, at_once, event, order_of, sql};
use ticketing::{
    Amount, Clock, CreateTicketType, Entropy, Error, ManualClock, SeededEntropy, TicketingService, Timestamp,
};

/// A clock and a source of randomness that panic on the thread that writes, once they are told to.
#[derive(Debug, Clone)]
struct Faulty {
    clock: ManualClock,
    entropy: Arc<SeededEntropy>,
    clock_breaks: Arc<AtomicBool>,
    entropy_breaks: Arc<AtomicBool>,
}

impl Faulty {
    fn new() -> Self {
        Self {
            clock: ManualClock::at(NOON),
            entropy: Arc::new(SeededEntropy::new(1)),
            clock_breaks: Arc::default(),
            entropy_breaks: Arc::default(),
        }
    }

    fn check(breaks: &AtomicBool) {
        if std::thread::current().name() == Some("ticketing-writer") && breaks.swap(false, Ordering::SeqCst) {
            panic!("on purpose");
        }
    }
}

impl Clock for Faulty {
    fn now(&self) -> Timestamp {
        Self::check(&self.clock_breaks);
        self.clock.now()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

impl Entropy for Faulty {
    fn fill(&self, bytes: &mut [u8]) {
        Self::check(&self.entropy_breaks);
        self.entropy.fill(bytes);
    }
}

#[test]
fn an_operation_that_panics_is_undone_alone_and_the_next_ones_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticketing.db");
    let faulty = Faulty::new();
    let service = TicketingService::builder(&path).clock(faulty.clone()).entropy(faulty.clone()).open().unwrap();
    let caller = service.act_for(service.create_organization(Default::default()).unwrap().id).unwrap();
    let event = service.create_event(&caller, event("summer-night")).unwrap();
    let seats = CreateTicketType::new("Seat", Amount::ZERO, 1000);
    let seats = service.create_ticket_type(&caller, event.id, seats).unwrap().id;
    let order = || service.create_order(&caller, order_of(event.id, seats, 2));
    let broken = [&faulty.clock_breaks, &faulty.entropy_breaks];
    for breaks in broken {
        breaks.store(true, Ordering::SeqCst);
        // Others are in flight, and in the same group.
        let results = at_once(16, |_| order());
        let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
        assert!(matches!(failed[..], [Error::Internal(_)]), "{failed:?}");
        assert!(order().is_ok());
    }
    assert_eq!(service.get_ticket_type(&caller, seats).unwrap().sold, 2 * (15 + 1) * 2);
    assert_sound(&sql(&path));
}

#[test]
fn who_waits_while_another_program_holds_the_file_is_told_that_it_is_busy_and_nobody_waits_twice() {
    let shop = Shop::open();
    let seats = shop.seats(0, 100);
    let other = sql(&shop.path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let clock = ticketing::SystemClock;
    let start = clock.monotonic();
    let results = at_once(8, |_| shop.order(seats, 1));
    let waited = clock.monotonic() - start;
    for result in results {
        assert_eq!(result.unwrap_err(), Error::Unavailable("the store is busy"));
    }
    // The handler gives up after about five seconds.
    assert!(Duration::from_secs(3) < waited && waited < Duration::from_secs(12), "{waited:?}");
    other.execute_batch("COMMIT").unwrap();
    assert!(shop.order(seats, 1).is_ok());
    assert_eq!(shop.ticket_type(seats).sold, 1);
}
