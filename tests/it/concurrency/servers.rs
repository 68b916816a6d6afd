//! Two servers on one PostgreSQL database. Each race has a control: the same race with the lock taken out of the
//! statements of one or both servers. A race that needs luck is run in several rounds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use ticketing::Change;
use ticketing::TicketingService;
use ticketing::door::{ScanOutcome, UploadScans};
use ticketing::error::Reason;
use ticketing::ticket::CheckInTicket;
use ticketing::webhook::{EventType, UpdateWebhook};

use crate::common::door::let_in;
use crate::common::invariants::assert_consistent;
use crate::common::statement_proxy::{Edit, WITHOUT_EXPANSION_LOCKS, WITHOUT_KEY_LOCKS, WITHOUT_ROW_LOCKS};
use crate::common::threads::run_at_once;
use crate::common::transport::FakeTransport;
use crate::common::webhooks::wait_until;
use crate::common::*;

/// How often a race is run that a control must lose at least once.
const ROUNDS: usize = 40;

/// Returns from the test, with a message, if the databases of the tests are files.
macro_rules! needs_server {
    () => {
        if database::is_file() {
            return skipped("TICKETING_TEST_POSTGRES is not set");
        }
    };
}

/// Two services whose statements are changed like this.
fn servers(fixture: &Fixture, edits: &'static [Edit]) -> [TicketingService; 2] {
    [(); 2].map(|()| {
        fixture.service_behind_proxy(edits, |builder| {
            builder
                .payment_gateway(fixture.gateway.clone())
                .max_reserved_per_customer(10)
                .webhook_transport(FakeTransport::succeeding())
        })
    })
}

/// How many seats 16 orders of two seats reserve at most that a customer places at once at both servers. The limit is
/// 10.
fn most_reserved_by_a_customer(edits: &'static [Edit]) -> i64 {
    let fixture = Fixture::new();
    let servers = servers(&fixture, edits);
    let reserved = (0..ROUNDS).map(|_| {
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
        run_at_once(16, |number| {
            let order = new_order(ticket_type.event_id, ticket_type.id, 2);
            match servers[number % 2].create_order(&fixture.caller, order) {
                Ok(_) => {}
                Err(error) => assert_eq!(error.reason(), Some(Reason::LimitReached), "{error}"),
            }
        });
        fixture.stored(&format!("SELECT held FROM ticket_types WHERE id = {}", database::stored_id(ticket_type.id)))
    });
    let most = reserved.max().expect("a round");
    assert_consistent(&fixture.database());
    most
}

#[test]
fn orders_at_two_servers_never_exceed_the_limit_of_their_customer() {
    needs_server!();
    assert_eq!(most_reserved_by_a_customer(&[]), 10);
}

#[test]
fn control_without_the_lock_of_the_event_orders_at_two_servers_exceed_the_limit() {
    needs_server!();
    assert!(most_reserved_by_a_customer(&WITHOUT_ROW_LOCKS) > 10);
}

/// Creates events with one idempotency key at both servers at once. Returns how many requests were refused.
fn refused_retries(edits: &'static [Edit]) -> usize {
    let fixture = Fixture::without_gateway();
    let servers = servers(&fixture, edits);
    let mut refused = 0;
    for round in 0..ROUNDS {
        let event = new_event(|_| {});
        let caller = fixture.caller_with_key(&format!("round-{round}"));
        let results = run_at_once(2, |number| servers[number].create_event(&caller, event.clone()));
        refused += results.iter().filter(|result| result.is_err()).count();
        let replayed = results.iter().flatten().filter(|result| result.replayed).count();
        assert!(replayed <= 1, "one of them did the work");
    }
    refused
}

#[test]
fn a_request_that_is_repeated_at_the_other_server_gets_the_result_of_the_first() {
    needs_server!();
    assert_eq!(refused_retries(&[]), 0);
}

#[test]
fn control_without_the_lock_of_the_key_a_request_that_is_repeated_is_refused() {
    needs_server!();
    assert!(refused_retries(&WITHOUT_KEY_LOCKS) > 0);
}

/// Scans tickets with one idempotency key at both servers at once. Returns how many scans were refused.
fn refused_scans(edits: &'static [Edit]) -> usize {
    let fixture = Fixture::without_gateway();
    let servers = servers(&fixture, edits);
    let ticket_type = fixture.new_ticket_type(0, 1000);
    let refused = AtomicUsize::new(0);
    for round in 0..ROUNDS {
        let ticket = fixture.issue(&ticket_type, 1).remove(0);
        let caller = fixture.caller_with_key(&format!("round-{round}"));
        run_at_once(2, |number| {
            if servers[number].check_in_ticket(&caller, CheckInTicket::new(ticket.code.clone())).is_err() {
                refused.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    refused.into_inner()
}

#[test]
fn a_guest_whose_scan_is_repeated_at_the_other_server_is_admitted() {
    needs_server!();
    assert_eq!(refused_scans(&[]), 0);
}

#[test]
fn control_without_the_lock_of_the_key_a_guest_whose_scan_is_repeated_is_refused() {
    needs_server!();
    assert!(refused_scans(&WITHOUT_KEY_LOCKS) > 0);
}

/// Scans each of some tickets at both servers at once. Returns how many admissions there were beyond one for each.
fn admitted_twice(edits: &'static [Edit]) -> usize {
    let fixture = Fixture::without_gateway();
    let servers = servers(&fixture, edits);
    let ticket_type = fixture.new_ticket_type(0, 1000);
    let admitted = (0..ROUNDS).map(|_| {
        let ticket = fixture.issue(&ticket_type, 1).remove(0);
        let scan = |number: usize| {
            servers[number].check_in_ticket(&fixture.caller, CheckInTicket::new(ticket.code.clone())).is_ok()
        };
        run_at_once(2, scan).into_iter().filter(|admitted| *admitted).count()
    });
    let admitted = admitted.sum::<usize>();
    if !edits.is_empty() {
        // A ticket that was admitted twice is counted twice.
        fixture.skip_final_check();
    }
    admitted - ROUNDS
}

#[test]
fn a_ticket_that_is_scanned_at_two_servers_at_once_is_admitted_once() {
    needs_server!();
    assert_eq!(admitted_twice(&[]), 0);
}

#[test]
fn control_without_the_lock_of_the_ticket_it_is_admitted_twice() {
    needs_server!();
    assert!(admitted_twice(&WITHOUT_ROW_LOCKS) > 0);
}

/// Two phones report at both servers at once that they have let the same tickets in, which they name in opposite orders.
/// Returns how many tickets do not have one admission that counts and one that is the second.
fn unnoticed_admissions(edits: &'static [Edit]) -> usize {
    let fixture = Fixture::without_gateway();
    let servers = servers(&fixture, edits);
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 1000);
    let gate = fixture.gate(&event);
    for round in 0..u64::try_from(ROUNDS).expect("small") {
        let tickets = fixture.issue(&ticket_type, 3);
        run_at_once(2, |server| {
            let minute = if server == 0 { "2026-06-01T11:10:00Z" } else { "2026-06-01T11:20:00Z" };
            let first = round * 10 + if server == 0 { 0 } else { 5 };
            let mut scans: Vec<_> =
                tickets.iter().zip(first..).map(|(ticket, number)| let_in(number, &ticket.code, minute)).collect();
            if server == 1 {
                scans.reverse();
            }
            servers[server].upload_scans(&gate, UploadScans::new(format!("Phone {server}"), scans)).expect("a report");
        });
    }
    let mut of_tickets: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for scan in fixture.scan_log(&event) {
        of_tickets.entry(scan.ticket_id).or_default().push((scan.scanned_at, scan.outcome));
    }
    if !edits.is_empty() {
        fixture.skip_final_check();
    }
    let expected = [
        (at("2026-06-01T11:10:00Z"), Some(ScanOutcome::Admitted)),
        (at("2026-06-01T11:20:00Z"), Some(ScanOutcome::AdmittedTwice)),
    ];
    let is_wrong = |scans: &Vec<_>| {
        let mut scans = scans.clone();
        scans.sort_unstable();
        scans != expected
    };
    of_tickets.values().filter(|scans| is_wrong(scans)).count()
}

#[test]
fn reports_at_two_servers_at_once_are_merged() {
    needs_server!();
    assert_eq!(unnoticed_admissions(&[]), 0);
}

#[test]
fn control_without_the_locks_of_the_tickets_reports_do_not_see_each_other() {
    needs_server!();
    assert!(unnoticed_admissions(&WITHOUT_ROW_LOCKS) > 0);
}

fn waiting_for_locks(fixture: &Fixture) -> i64 {
    fixture
        .stored("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
}

/// Waits until `thread` has ended or waits for a lock, besides `others` that wait already.
fn until_blocked<T>(fixture: &Fixture, thread: &ScopedJoinHandle<'_, T>, others: i64) {
    wait_until("the thread ends or waits", || thread.is_finished() || waiting_for_locks(fixture) > others);
}

/// Suspends the organization while an order is being created at the other server. Returns whether the order was
/// committed after the suspension had returned.
fn order_follows_suspension(edits: &'static [Edit]) -> bool {
    let fixture = Fixture::without_gateway();
    let [seller, _] = servers(&fixture, edits);
    let ticket_type = fixture.new_ticket_type(0, 10);
    let blocker = fixture.database();
    blocker.run("BEGIN; SELECT id FROM ticket_types FOR UPDATE");
    std::thread::scope(|scope| {
        let order = new_order(ticket_type.event_id, ticket_type.id, 1);
        let (seller, caller) = (&seller, &fixture.caller);
        let ordering = scope.spawn(move || seller.create_order(caller, order));
        until_blocked(&fixture, &ordering, 0);
        let suspending = scope.spawn(|| fixture.service.suspend_organization(fixture.caller.organization()));
        until_blocked(&fixture, &suspending, 1);
        let returned_before = suspending.is_finished();
        blocker.run("COMMIT");
        suspending.join().unwrap().expect("suspended");
        ordering.join().unwrap().expect("an order that began before the suspension");
        returned_before
    })
}

#[test]
fn a_suspension_waits_for_the_orders_at_the_other_server() {
    needs_server!();
    assert!(!order_follows_suspension(&[]));
}

#[test]
fn control_without_the_lock_of_the_organization_an_order_follows_its_suspension() {
    needs_server!();
    assert!(order_follows_suspension(&WITHOUT_ROW_LOCKS));
}

/// The lock at which a transaction waits that inserts a row of the outbox.
const QUEUED: i64 = 1;

/// Unsubscribes a webhook endpoint while the other server inserts a row for it. Returns how many rows are left that nobody
/// will send.
fn left_in_the_outbox(edits: &'static [Edit]) -> i64 {
    let fixture = Fixture::without_gateway();
    let [sender, _] = servers(&fixture, edits);
    let webhook = fixture.webhook([EventType::TicketIssued, EventType::OrderCancelled]).endpoint.id;
    fixture.issue(fixture.default_ticket_type(), 1);
    let blocker = fixture.database();
    blocker.trigger("wait", "AFTER INSERT ON webhook_outbox", "TRUE", "PERFORM pg_advisory_xact_lock(1)");
    blocker.run(&format!("SELECT pg_advisory_lock({QUEUED})"));
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| sender.deliver_due_webhooks());
        until_blocked(&fixture, &sending, 0);
        let unsubscribing = scope.spawn(|| {
            let mut changes = UpdateWebhook::default();
            changes.events = Change::Set(vec![EventType::OrderCancelled]);
            fixture.service.update_webhook(&fixture.caller, webhook, changes)
        });
        until_blocked(&fixture, &unsubscribing, 1);
        blocker.run(&format!("SELECT pg_advisory_unlock({QUEUED})"));
        sending.join().unwrap().expect("sent");
        unsubscribing.join().unwrap().expect("unsubscribed");
    });
    fixture.service.run_maintenance().expect("a run");
    let left = fixture.outbox_count("WAITING");
    if left > 0 {
        fixture.skip_final_check();
    }
    left
}

#[test]
fn what_is_expanded_during_an_unsubscription_is_removed() {
    needs_server!();
    assert_eq!(left_in_the_outbox(&[]), 0);
}

#[test]
fn control_without_the_lock_of_the_organization_a_row_is_left_after_the_unsubscription() {
    needs_server!();
    assert_eq!(left_in_the_outbox(&WITHOUT_ROW_LOCKS), 1);
}

/// Expands a notification at both servers at once. Returns how many rows there are for its only endpoint.
fn rows_of_two_expansions(edits: &'static [Edit]) -> i64 {
    let fixture = Fixture::without_gateway();
    let [first, second] = servers(&fixture, edits);
    fixture.webhook([EventType::TicketIssued]);
    fixture.issue(fixture.default_ticket_type(), 1);
    let blocker = fixture.database();
    blocker.trigger("wait", "AFTER INSERT ON webhook_outbox", "TRUE", "PERFORM pg_advisory_xact_lock(1)");
    blocker.run(&format!("SELECT pg_advisory_lock({QUEUED})"));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| first.deliver_due_webhooks());
        until_blocked(&fixture, &first, 0);
        let second = scope.spawn(|| second.deliver_due_webhooks());
        until_blocked(&fixture, &second, 1);
        blocker.run(&format!("SELECT pg_advisory_unlock({QUEUED})"));
        for sent in [first, second] {
            sent.join().unwrap().expect("sent");
        }
    });
    let rows = fixture.stored("SELECT COUNT(*) FROM webhook_outbox");
    if rows > 1 {
        fixture.skip_final_check();
    }
    rows
}

#[test]
fn two_servers_that_expand_a_notification_at_once_insert_its_rows_once() {
    needs_server!();
    assert_eq!(rows_of_two_expansions(&[]), 1);
}

#[test]
fn control_without_its_locks_a_notification_is_expanded_twice() {
    needs_server!();
    assert_eq!(rows_of_two_expansions(&WITHOUT_EXPANSION_LOCKS), 2);
}
