//! `on_one_snapshot`: what the reads inside see.

use ticketing::event::ListEvents;

use crate::common::*;

/// Returns the number of events as this thread sees it.
fn events(fixture: &Fixture) -> usize {
    fixture.service.list_events(&fixture.caller, ListEvents::default()).expect("events").data.len()
}

#[test]
fn a_write_between_two_reads_on_a_snapshot_is_not_seen() {
    let fixture = Fixture::new();
    let seen = fixture.service.on_one_snapshot(|| {
        let before = events(&fixture);
        fixture.event();
        (before, events(&fixture))
    });
    assert_eq!(seen, Ok((0, 0)));
    assert_eq!(events(&fixture), 1);
}

#[test]
fn a_write_before_the_first_read_on_a_snapshot_is_not_seen() {
    let fixture = Fixture::new();
    fixture.event();
    let seen = fixture.service.on_one_snapshot(|| {
        fixture.event();
        events(&fixture)
    });
    assert_eq!(seen, Ok(1));
}

#[test]
fn a_write_of_another_thread_before_the_first_read_on_a_snapshot_is_not_seen() {
    let fixture = Fixture::new();
    fixture.event();
    let seen = fixture.service.on_one_snapshot(|| {
        std::thread::scope(|scope| scope.spawn(|| fixture.event()).join().expect("an event"));
        events(&fixture)
    });
    assert_eq!(seen, Ok(1));
}

#[test]
fn a_nested_snapshot_is_that_of_the_outer_call() {
    let fixture = Fixture::with(|builder| builder.readers(1));
    let seen = fixture.service.on_one_snapshot(|| {
        fixture.event();
        let inside = fixture.service.clone().on_one_snapshot(|| {
            fixture.event();
            events(&fixture)
        });
        (inside, events(&fixture))
    });
    assert_eq!(seen, Ok((Ok(0), 0)));
    assert_eq!(events(&fixture), 2);
}

#[test]
fn snapshots_of_two_databases_can_be_nested() {
    let fixture = Fixture::new();
    let other = Fixture::new();
    let seen = fixture.service.on_one_snapshot(|| {
        let inside = other.service.on_one_snapshot(|| {
            fixture.event();
            other.event();
            (events(&fixture), events(&other))
        });
        (inside, events(&fixture), events(&other))
    });
    assert_eq!(seen, Ok((Ok((0, 0)), 0, 1)));
}

#[test]
fn a_panic_on_a_snapshot_ends_it() {
    let fixture = Fixture::with(|builder| builder.readers(1));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        fixture.service.on_one_snapshot(|| {
            fixture.event();
            panic!("the work panics");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(events(&fixture), 1);
}
