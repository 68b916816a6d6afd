//! Many endpoints and few threads.

use std::sync::{Arc, Mutex};

use crate::common::processes::alone;
use crate::common::transport::*;
use crate::common::{Fixture, database, skipped};
use ticketing::environment::{Clock, SystemClock};
use ticketing::webhook::SenderOptions;

#[test]
fn a_few_threads_serve_ten_thousand_endpoints() {
    if !database::is_file() {
        return skipped("a server takes a quarter of an hour for ten thousand endpoints");
    }
    alone(concat!(module_path!(), "::a_few_threads_serve_ten_thousand_endpoints"), || {
        const ENDPOINTS: usize = 10_000;
        let most_threads = Arc::new(Mutex::new(0));
        let transport = FakeTransport::new({
            let most_threads = Arc::clone(&most_threads);
            move |_, _, _| {
                if let Ok(tasks) = std::fs::read_dir("/proc/self/task") {
                    let threads = tasks.count();
                    let mut most = most_threads.lock().expect("no panic");
                    *most = threads.max(*most);
                }
                respond(204)
            }
        });
        let fixture = Fixture::with_transport(&transport);
        fixture.insert_ticket_webhooks(ENDPOINTS, "https://example.com/");
        fixture.queue_notifications(1);
        let resident = || {
            std::fs::read_to_string("/proc/self/statm").map_or(0, |text| {
                let pages: usize = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
                pages * 4096
            })
        };
        let before = resident();
        let started = SystemClock.monotonic();
        let sender = fixture.start_sender(SenderOptions::default().workers(8).throttled_workers(8));
        fixture.wait_for_outbox(10_000, "DELIVERED");
        let took = SystemClock.monotonic() - started;
        let grown = resident().saturating_sub(before);
        let most_threads = *most_threads.lock().expect("no panic");
        eprintln!("{ENDPOINTS} endpoints in {took:?}, by {most_threads} threads, {} MiB more", grown >> 20);
        // The threads of the test and the store, eight workers, the scheduler and the poller.
        assert!(most_threads < 24, "{most_threads} threads");
        assert!(grown < 200 << 20, "{grown} bytes");
        assert_eq!(transport.sent().len(), ENDPOINTS);
        drop(sender);
    });
}
