//! Compares the notifications that are queued with those that a receiver got.

use std::collections::{HashMap, HashSet};

use crate::common::outbox::OutboxRow;
use crate::common::receiver::{ReceivedRequest, WebhookReceiver};
use crate::common::*;
use ticketing::webhook::EVENT_ID_HEADER;

/// What a receiver got of the notifications for one endpoint.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Receipts {
    /// Notifications that it did not get.
    pub missing: usize,
    /// Requests for notifications that are not queued, or with another body.
    pub unknown: usize,
    /// Requests for notifications that it had already got.
    pub repeated: usize,
}

impl Receipts {
    pub(crate) fn compare(queued: &[OutboxRow], requests: &[ReceivedRequest]) -> Self {
        let bodies: HashMap<String, &str> =
            queued.iter().map(|row| (row.event_id.to_string(), row.body.as_str())).collect();
        let mut receipts = Self::default();
        let mut received = HashSet::new();
        for request in requests {
            let id = request.header(EVENT_ID_HEADER).expect("an id");
            match bodies.get(id) {
                Some(body) if body.as_bytes() == request.body => {
                    receipts.repeated += usize::from(!received.insert(id));
                }
                _ => receipts.unknown += 1,
            }
        }
        receipts.missing = bodies.len() - received.len();
        receipts
    }
}

#[test]
fn control_a_lost_and_an_invented_notification_are_noticed() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    fixture.ticket_webhook(receiver.url("/hook"));
    fixture.queue_notifications(3);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 3);
    let (queued, requests) = (fixture.outbox(), receiver.requests());
    let compare = |queued: &[OutboxRow], requests: &[ReceivedRequest]| {
        let Receipts { missing, unknown, repeated } = Receipts::compare(queued, requests);
        (missing, unknown, repeated)
    };
    assert_eq!(compare(&queued, &requests), (0, 0, 0));
    assert_eq!(compare(&queued, &requests[1..]), (1, 0, 0));
    assert_eq!(compare(&queued[1..], &requests), (0, 1, 0));
    assert_eq!(compare(&queued, &[&requests[..], &requests[..1]].concat()), (0, 0, 1));
    let mut changed = requests;
    changed[0].body.push(b' ');
    assert_eq!(compare(&queued, &changed), (1, 1, 0));
}
