//! Rows that cannot be read: only their own endpoint has to do with them, and the sender does not wear itself out on them.

mod common;
#[path = "common/load.rs"]
mod load;
#[path = "common/sending.rs"]
mod sending;

use std::thread::sleep;
use std::time::Duration;

use sending::*;
use ticketing::webhook::SenderOptions;

#[test]
fn an_endpoint_whose_rows_cannot_be_read_keeps_nobody_waiting_and_is_tried_again_in_a_minute() {
    let carrier = Carrier::delivering();
    let office = Office::by(&carrier);
    office.is_corrupted();
    office.endpoint("https://example.com/damaged");
    office.queue(1);
    let write = |sql: &str| load::unguarded(&office.file()).execute(sql, []).expect(sql);
    write("UPDATE webhook_outbox SET type = 'ticket.eaten'");
    let _sender = office.start(SenderOptions::default().workers(2));
    office.endpoint("https://example.com/fine");
    office.queue(5);
    until("the other one has got its own", || carrier.sent_to("/fine") == 5);
    sleep(NOTICE);
    let commits = || office.service.statistics().commits.done;
    let before = commits();
    sleep(Duration::from_secs(2));
    assert!(commits() - before <= 2, "{} commits for nothing", commits() - before);
    assert_eq!(carrier.sent_to("/damaged"), 0);
    write("UPDATE webhook_outbox SET type = 'ticket.issued'");
    office.clock.advance(Duration::from_mins(1));
    office.wait_for(11, "DELIVERED");
}
