//! What the crate has queued for its one endpoint, beside what the model says that it must be told.

use ticketing::{NotificationType, TextEnum};

use super::Real;
use super::world::World;
use crate::common::database::stored_id;
use crate::common::outbox;

/// Asserts that both say the same of the same orders and tickets, each as often as it happened.
pub fn compare(real: &Real, world: &World) {
    let subject = |of: NotificationType, index: usize| match of {
        NotificationType::OrderCompleted | NotificationType::OrderCancelled => stored_id(real.orders[index]),
        NotificationType::TicketIssued | NotificationType::TicketCheckedIn => stored_id(real.tickets[index].0),
    };
    let mut expected: Vec<_> =
        world.news.iter().map(|(of, index)| (of.as_str().to_owned(), subject(*of, *index))).collect();
    let file = real.fixture.database();
    let mut told: Vec<_> = outbox::rows(&file).iter().map(|row| (row.kind.clone(), row.subject())).collect();
    expected.sort_unstable();
    told.sort_unstable();
    assert_eq!(told, expected, "what was told");
}

/// A history of which each of the four types tells.
fn history() -> (Real, World) {
    use super::steps::Step::{Cancel, MarkPaid, Order, Scan};
    let steps = [
        Order { lines: vec![(0, 2)], code: None },
        Order { lines: vec![(0, 1)], code: None },
        MarkPaid(0),
        MarkPaid(1),
        Scan(0),
        Cancel(1),
    ];
    let opening = super::steps::opening();
    super::run(opening.iter().chain(&steps))
}

#[test]
fn control_a_notification_that_is_lost_and_one_that_is_doubled_are_noticed() {
    let double = "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, body, state, due_at, created_at)
        SELECT id + 1, endpoint_id, event_id, type, body, state, due_at, created_at FROM webhook_outbox";
    for of in NotificationType::ALL {
        for damage in ["DELETE FROM webhook_outbox", double] {
            let (real, world) = history();
            compare(&real, &world);
            real.fixture.skip_final_check();
            let file = real.fixture.database();
            let one = format!("{damage} WHERE id = (SELECT MIN(id) FROM webhook_outbox WHERE type = '{of}')");
            assert_eq!(file.execute(&one, []), 1, "{one}");
            let noticed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare(&real, &world)));
            assert!(noticed.is_err(), "{one}");
        }
    }
}
