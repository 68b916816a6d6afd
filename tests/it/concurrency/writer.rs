//! The queue of writes: how large a group gets, whose turn it is, and what a panic in the leader does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use ticketing::environment::{Clock, SystemClock};
use ticketing::error::StoreErrorKind;
use ticketing::event::{CreateEvent, Event};
use ticketing::id::EventId;
use ticketing::{Caller, Error, Timestamp};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

use crate::common::*;

const JOBS: usize = 8;

/// A clock whose monotonic time goes on by a fixed step whenever it is read.
#[derive(Debug, Clone)]
struct SteppingClock {
    step: Duration,
    reads: Arc<AtomicU64>,
}

impl Clock for SteppingClock {
    fn now(&self) -> Timestamp {
        at("2026-06-01T18:00:00Z")
    }

    fn monotonic(&self) -> Duration {
        self.step * u32::try_from(self.reads.fetch_add(1, Ordering::SeqCst)).expect("few reads")
    }
}

fn fixture_with_step(step: Duration) -> Fixture {
    Fixture::with(|builder| builder.clock(SteppingClock { step, reads: Arc::default() }))
}

/// Creates an event of each caller while the database is locked, so that all of them wait in the queue in this order.
/// Returns the events; `None` if this machine was so slow that one of them no longer waited for the lock.
fn create_events_at_once(fixture: &Fixture, callers: &[&Caller]) -> Option<Vec<EventId>> {
    let requests: Vec<_> = callers.iter().map(|caller| (*caller, new_event(|_| {}))).collect();
    let created = create_at_once(fixture, requests)?;
    Some(created.into_iter().map(|created| created.expect("an event").id).collect())
}

/// The same for these requests. Returns the answers.
fn create_at_once(fixture: &Fixture, requests: Vec<(&Caller, CreateEvent)>) -> Option<Vec<Result<Event, Error>>> {
    let database = fixture.database();
    database.begin();
    let waiting = || fixture.service.statistics().commits.jobs_waiting;
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (caller, request) in requests {
            let before = waiting();
            let thread = scope.spawn(move || fixture.service.create_event(caller, request));
            while waiting() == before && !thread.is_finished() {
                std::thread::yield_now();
            }
            threads.push(thread);
        }
        database.run("COMMIT");
        let created = threads.into_iter().map(|thread| match thread.join().expect("no panic") {
            Err(Error::Unavailable(_)) => None,
            created => Some(created),
        });
        // All threads are joined.
        created.collect::<Vec<_>>().into_iter().collect()
    })
}

#[test]
fn jobs_are_added_to_a_group_for_twenty_milliseconds() {
    if !database::is_file() {
        return skipped("it is about the queue of writes of a database file");
    }
    // The clock is read at the start of a group and before each job but the first: with a step of 6 ms, after 6, 12,
    // 18 and 24 ms.
    for (millis, jobs_of_a_group) in [(0, 8), (6, 4), (9, 3), (25, 1)] {
        let commits = std::iter::repeat_with(|| {
            let fixture = fixture_with_step(Duration::from_millis(millis));
            let commits = || fixture.service.statistics().commits.done;
            let before = commits();
            create_events_at_once(&fixture, &[&fixture.caller; JOBS]).map(|_| commits() - before)
        });
        let commits = commits.take(10).flatten().next().expect("all wait");
        assert_eq!(commits, (JOBS as u64).div_ceil(jobs_of_a_group), "{millis} ms");
    }
}

#[test]
fn organizations_take_turns_in_the_queue() {
    if !database::is_file() {
        return skipped("it is about the queue of writes of a database file");
    }
    let events = std::iter::repeat_with(|| {
        let fixture = fixture_with_step(Duration::ZERO);
        let busy = &fixture.caller;
        let others = [fixture.other_organization(), fixture.other_organization()];
        let [second, third] = &others;
        create_events_at_once(&fixture, &[busy, busy, busy, busy, second, second, third])
    });
    let events = events.take(10).flatten().next().expect("all wait");
    // Ids are given in the order in which the jobs run.
    let mut in_order: Vec<usize> = (0..events.len()).collect();
    in_order.sort_by_key(|index| events[*index]);
    assert_eq!(in_order, [0, 4, 6, 1, 5, 2, 3]);
}

#[test]
fn refused_jobs_leave_nothing_in_their_group_wherever_they_stand() {
    if !database::is_file() {
        return skipped("it is about the queue of writes of a database file");
    }
    let taken = |slug: &'static str| new_event(move |event| event.slug = slug.to_owned());
    let answers = std::iter::repeat_with(|| {
        let fixture = fixture_with_step(Duration::ZERO);
        fixture.service.create_event(&fixture.caller, taken("taken")).expect("an event");
        let commits = fixture.service.statistics().commits.done;
        let slugs = ["taken", "taken", "first", "taken", "first", "second", "taken"];
        let requests = slugs.into_iter().map(|slug| (&fixture.caller, taken(slug))).collect();
        let answers = create_at_once(&fixture, requests)?;
        let stored: Vec<String> = fixture.database().column("SELECT slug FROM events ORDER BY id");
        let commits = fixture.service.statistics().commits.done - commits;
        Some((answers.into_iter().map(|answer| answer.is_ok()).collect::<Vec<_>>(), stored, commits))
    });
    let (accepted, stored, commits) = answers.take(10).flatten().next().expect("all wait");
    assert_eq!(accepted, [false, false, true, false, false, true, false]);
    assert_eq!(stored, ["taken", "first", "second"]);
    assert_eq!(commits, 1);
}

#[test]
fn a_refused_job_writes_nothing_to_the_log() {
    if !database::is_file() {
        return skipped("it is about a database file");
    }
    let fixture = Fixture::new();
    let event = || new_event(|event| "taken".clone_into(&mut event.slug));
    fixture.service.create_event(&fixture.caller, event()).expect("an event");
    let log = || std::fs::read(fixture.path().with_extension("db-wal")).expect("a log");
    let before = log();
    fixture.service.create_event(&fixture.caller, event()).expect_err("the slug is taken");
    assert!(log() == before);
}

/// Panics at each error that is logged.
struct PanickingSubscriber;

impl Subscriber for PanickingSubscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::ERROR
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        panic!("the subscriber panics");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[cfg(unix)]
#[test]
fn writes_are_answered_after_a_subscriber_of_log_lines_has_panicked_in_the_leader() {
    if !database::is_file() {
        return skipped("it is about a database file");
    }
    let fixture = Fixture::with(|builder| builder.clock(SystemClock));
    fixture.skip_final_check();
    // The leader finds that the file is gone, and logs it as an error.
    std::fs::remove_file(fixture.path()).expect("removed");
    let create = || fixture.service.create_event(&fixture.caller, new_event(|_| {})).expect_err("no file");
    let first = tracing::subscriber::with_default(PanickingSubscriber, create);
    let stopped = Error::from(StoreErrorKind::FileReplaced(fixture.path().display().to_string()));
    // The background thread may have found it first.
    assert!(matches!(first, Error::Internal(_)) || first == stopped, "{first:?}");
    let (sender, answers) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let sender = sender.clone();
            scope.spawn(move || sender.send(create()).expect("the test waits"));
        }
        for _ in 0..4 {
            assert_eq!(answers.recv_timeout(Duration::from_mins(1)), Ok(stopped.clone()));
        }
    });
}
