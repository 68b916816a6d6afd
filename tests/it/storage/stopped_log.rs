//! What a service logs whose store has stopped writing.

use std::time::Duration;

use crate::common::log;
use crate::common::processes::alone;
use crate::common::*;
use ticketing::notification::NotificationTopic;

#[test]
fn the_threads_of_a_service_that_has_stopped_end_without_a_word() {
    alone(concat!(module_path!(), "::the_threads_of_a_service_that_has_stopped_end_without_a_word"), || {
        let log = log::capture();
        let fixture = Fixture::with_gateway(|builder| {
            let builder = builder.maintenance().webhook_sender(Default::default()).allow_local_webhooks(true);
            builder.on_topics("program", [NotificationTopic::OrderCompleted], |_, _| Ok(()))
        });
        fixture.skip_final_check();
        let ticket_type = fixture.new_ticket_type(0, 10);
        fixture.order(&ticket_type, 1);
        let marker = format!("{}-sync-failed", fixture.path().display());
        std::fs::write(&marker, "").unwrap();
        webhooks::wait_until("the store stops", || fixture.service.stopped().is_some());
        // Orders expire, and the maintenance would mark them.
        fixture.clock.advance(Duration::from_hours(24));
        for _ in 0..3 {
            fixture.try_order(&ticket_type, 1).unwrap_err();
        }
        // Several rounds of every thread.
        std::thread::sleep(Duration::from_secs(3));
        let lines = log.lines();
        let about = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
        assert_eq!(about("the store has stopped writing"), 1, "{lines:#?}");
        assert_eq!(about("error="), 0, "{lines:#?}");
        fixture.close();
        let lines = log.lines();
        let closed = lines.iter().filter(|line| line.contains("the last checkpoint was not made")).count();
        assert_eq!(closed, 1, "{lines:#?}");
    });
}
