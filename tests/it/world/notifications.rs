//! Compares the notifications that the crate has queued for its webhook endpoint with those of the model.

use ticketing::webhook::EventType;

use super::System;
use super::model::Model;
use super::steps::Item;
use crate::common::database::stored_id;
use crate::common::outbox;

/// Asserts that both have the same notifications of the same orders and tickets, each as often.
pub fn compare(system: &System, model: &Model) {
    let subject = |kind: EventType, index: usize| match kind {
        EventType::OrderCompleted | EventType::OrderCancelled => stored_id(system.orders[index]),
        _ => stored_id(system.tickets[index].id),
    };
    let mut expected: Vec<_> =
        model.notifications.iter().map(|(kind, index)| (kind.as_str().to_owned(), subject(*kind, *index))).collect();
    let rows = outbox::rows(&system.fixture.database());
    let mut queued: Vec<_> = rows.iter().map(|row| (row.kind.clone(), row.subject())).collect();
    expected.sort_unstable();
    queued.sort_unstable();
    assert_eq!(queued, expected, "the notifications");
}

/// Runs a history with all notifications of a sale.
fn history() -> (System, Model) {
    use super::steps::Step::{Cancel, CheckIn, MarkPaid, Order};
    let steps = [
        Order { items: vec![Item { ticket_type: 0, quantity: 2 }], code: None },
        Order { items: vec![Item { ticket_type: 0, quantity: 1 }], code: None },
        MarkPaid(0),
        MarkPaid(1),
        CheckIn(0),
        Cancel(1),
    ];
    let opening = super::steps::opening();
    super::run(opening.iter().chain(&steps))
}

#[test]
fn control_a_missing_and_a_duplicate_notification_are_noticed() {
    let double = "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, due_at, created_at)
        SELECT (SELECT MAX(id) + 1 FROM webhook_outbox), endpoint_id, event_id, type, state, due_at, created_at
        FROM webhook_outbox";
    for kind in outbox::SALE_NOTIFICATIONS {
        for damage in ["DELETE FROM webhook_outbox", double] {
            let (system, model) = history();
            compare(&system, &model);
            system.fixture.skip_final_check();
            let file = system.fixture.database();
            let one = format!("{damage} WHERE id = (SELECT MIN(id) FROM webhook_outbox WHERE type = '{kind}')");
            assert_eq!(file.execute(&one, []), 1, "{one}");
            let noticed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare(&system, &model)));
            assert!(noticed.is_err(), "{one}");
        }
    }
}
