//! The sender itself: how soon it sends, how it stops, and what it makes of a transport or a store that fails.

mod common;
#[path = "common/load.rs"]
mod load;
#[path = "common/receiver.rs"]
mod receiver;
#[path = "common/sending.rs"]
mod sending;

use std::collections::HashSet;
use std::thread::sleep;
use std::time::Duration;

use common::paths;
use receiver::{Answer, Receiver};
use sending::*;
use ticketing::webhook::{EVENT_ID_HEADER, SenderOptions};
use ticketing::{Clock, SystemClock, TicketingService};

const CHILD: &str = "a_child_process_plays_its_part";

fn events_of(requests: &[receiver::Received]) -> HashSet<String> {
    requests.iter().map(|request| request.header(EVENT_ID_HEADER).expect("an id").to_owned()).collect()
}

#[test]
fn the_first_attempt_is_made_as_soon_as_the_change_is_durable() {
    let (office, receiver) = (Office::over_http(), Receiver::start());
    office.endpoint(receiver.url("/hook"));
    let _sender = office.start(SenderOptions::default());
    let mut waits: Vec<_> = (1..=50)
        .map(|number| {
            office.queue(1);
            let durable = SystemClock.monotonic();
            receiver.wait_for(number);
            // So that the sender sleeps when the next one comes.
            sleep(Duration::from_millis(20));
            SystemClock.monotonic() - durable - Duration::from_millis(20)
        })
        .collect();
    waits.sort();
    eprintln!("from the commit to the receiver: median {:?}, longest {:?}", waits[25], waits[49]);
    assert!(waits[25] < Duration::from_secs(2), "{waits:?}");
}

#[test]
fn what_another_process_queues_is_found_within_a_moment() {
    let (office, receiver) = (Office::over_http(), Receiver::start());
    office.endpoint(receiver.url("/hook"));
    let _sender = office.start(SenderOptions::default());
    sleep(NOTICE);
    // Another service on the file has another bell.
    let other = office.beside(|builder| builder);
    let request = ticketing::IssueTickets { ticket_type_id: office.seat.id, customer: common::ada(), quantity: 3 };
    other.issue_tickets(&office.caller, request).expect("tickets");
    receiver.wait_for(3);
    office.wait_for(3, "DELIVERED");
}

#[test]
fn a_sender_that_stops_breaks_off_what_hangs_and_the_next_one_makes_it_again_under_the_same_number() {
    let (office, receiver) = (Office::over_http(), Receiver::start());
    receiver.then(Answer::Hang).then(Answer::Hang);
    let endpoint = office.endpoint(receiver.url("/hook")).endpoint.id;
    for number in 1..=2 {
        let sender = office.start(SenderOptions::default());
        if number == 1 {
            office.queue(1);
        }
        receiver.wait_for(number);
        let began = SystemClock.monotonic();
        drop(sender);
        let took = SystemClock.monotonic() - began;
        assert!(took < Duration::from_secs(9), "{took:?}");
        let row = &office.outbox()[0];
        assert!(row.is("WAITING", 0) && !row.claimed && row.cuts == 0, "{row:?}");
        assert_eq!((row.due_at, office.history(endpoint).len()), (office.clock.now().millis(), 0));
    }
    let _sender = office.start(SenderOptions::default());
    assert!(office.wait_for_attempt(1).is("DELIVERED", 1));
    assert_eq!(events_of(&receiver.requests()).len(), 1);
    let history = office.history(endpoint);
    assert_eq!((history.len(), history[0].attempt, history[0].success), (1, 1, true));
}

#[test]
fn a_sender_that_stops_lets_what_is_nearly_done_end_and_begins_nothing() {
    let (office, receiver) = (Office::over_http(), Receiver::start());
    receiver.otherwise(Answer::After(Duration::from_millis(300), Box::new(Answer::Status(204))));
    office.endpoint(receiver.url("/hook"));
    let sender = office.start(SenderOptions::default().workers(8).workers_per_endpoint(2));
    office.queue(20);
    receiver.wait_for(2);
    drop(sender);
    let sent = receiver.requests().len();
    // Those that were under way were delivered, and written down.
    assert_eq!(office.number("DELIVERED"), i64::try_from(sent).expect("few"));
    assert!(sent < 20, "nothing waited");
    assert!(office.outbox().iter().all(|row| !row.claimed));
    sleep(NOTICE);
    assert_eq!(receiver.requests().len(), sent);
    receiver.otherwise(Answer::Status(204));
    let _sender = office.start(SenderOptions::default());
    office.wait_for(20, "DELIVERED");
    assert_eq!((receiver.requests().len(), events_of(&receiver.requests()).len()), (20, 20));
}

#[test]
fn nobody_waits_for_a_transport_that_cannot_be_interrupted() {
    let carrier = Carrier::new(|_, _, _| {
        sleep(Duration::from_secs(8));
        answer(204)
    });
    let office = Office::by(&carrier);
    office.endpoint("https://example.com/hook");
    let sender = office.start(SenderOptions::default());
    office.queue(1);
    carrier.wait_for(1);
    let began = SystemClock.monotonic();
    drop(sender);
    let took = SystemClock.monotonic() - began;
    assert!(took < Duration::from_millis(7500), "{took:?}");
    // Nobody knows what becomes of it: it is made again when its lease is over.
    let row = &office.outbox()[0];
    assert!(row.is("WAITING", 0) && row.claimed, "{row:?}");
    assert_eq!(row.due_at, office.clock.now().millis() + 18_000);
}

#[test]
fn a_service_that_sends_leaves_one_file_when_it_goes() {
    let (office, receiver) = (Office::over_http(), Receiver::start());
    receiver.then(Answer::Status(204)).otherwise(Answer::Hang);
    office.endpoint(receiver.url("/hook"));
    let options = SenderOptions::default();
    let sending = office.beside(|builder| builder.allow_local_webhooks(true).webhook_sender(options));
    office.queue(3);
    receiver.wait_for(3);
    // The last handles of the file go, with two attempts under way.
    let file = office.file();
    let folder = office.shop.close();
    drop(sending);
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [file]);
}

#[test]
fn options_out_of_their_range_are_told_by_their_names() {
    let office = Office::over_http();
    let options = SenderOptions::default;
    let second = Duration::from_secs(1);
    let cases: [(SenderOptions, &[&str]); 12] = [
        (options().workers(0), &["workers"]),
        (options().workers(1), &["workers"]),
        (options().workers(1025), &["workers"]),
        (options().workers_per_endpoint(0), &["workers_per_endpoint"]),
        (options().workers_per_endpoint(65), &["workers_per_endpoint"]),
        (options().workers(4).workers_per_endpoint(5), &["workers_per_endpoint"]),
        (options().throttled_workers(0), &["throttled_workers"]),
        (options().throttled_workers(65), &["throttled_workers"]),
        (options().attempt_timeout(Duration::ZERO), &["attempt_timeout"]),
        (options().attempt_timeout(Duration::from_micros(999)), &["attempt_timeout"]),
        (options().attempt_timeout(10 * second + Duration::from_millis(1)), &["attempt_timeout"]),
        (
            options().workers(0).throttled_workers(9).attempt_timeout(11 * second),
            &["workers", "throttled_workers", "attempt_timeout"],
        ),
    ];
    for (options, names) in cases {
        assert_eq!(paths(office.service.start_webhook_sender(options.clone())), names, "{options:?}");
        let file = office.file().with_extension("other");
        let opened = TicketingService::builder(&file).webhook_sender(options).open();
        assert_eq!(paths(opened.map(drop)), names);
        assert!(!file.exists(), "nothing was made");
    }
    for options in [
        options().workers(2),
        options().attempt_timeout(Duration::from_millis(1)),
        options().workers(2).throttled_workers(1),
    ] {
        drop(office.start(options));
    }
}

#[test]
fn a_transport_that_panics_has_failed_and_goes_on_being_used() {
    let carrier = Carrier::new(|carrier, request, _| {
        assert!(
            !(request.url.ends_with("/broken") && carrier.sent_to("/broken") <= 20),
            "the transport panics, as it was told to"
        );
        answer(204)
    });
    let office = Office::by(&carrier);
    let broken = office.endpoint("https://example.com/broken").endpoint.id;
    office.endpoint("https://example.com/fine");
    let _sender = office.start(SenderOptions::default().workers(4));
    office.queue(20);
    office.wait_for(20, "DELIVERED");
    until("each has failed", || office.history(broken).len() == 20);
    for delivery in office.history(broken) {
        let message = delivery.error_message.as_deref();
        assert_eq!(message, Some("internal error of the sender"));
        assert_eq!((delivery.attempt, delivery.response_status, delivery.duration_ms), (1, None, None));
    }
    office.clock.advance(Duration::from_mins(1));
    office.wait_for(40, "DELIVERED");
}

#[test]
fn while_another_program_holds_the_file_what_was_sent_is_kept_and_then_written_down() {
    // For a moment, and for longer than the store waits.
    for seconds in [3, 7] {
        let (office, receiver) = (Office::over_http(), Receiver::start());
        receiver.otherwise(Answer::After(Duration::from_millis(100), Box::new(Answer::Status(204))));
        let endpoint = office.endpoint(receiver.url("/hook")).endpoint.id;
        let other = load::sql(&office.file());
        let _sender = office.start(SenderOptions::default().workers(8).workers_per_endpoint(4));
        office.queue(30);
        receiver.wait_for(4);
        other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
        sleep(Duration::from_secs(seconds));
        other.execute_batch("COMMIT").expect("free again");
        office.wait_for(30, "DELIVERED");
        assert_eq!((receiver.requests().len(), events_of(&receiver.requests()).len()), (30, 30));
        assert_eq!(office.history(endpoint).len(), 30);
    }
}

#[test]
fn a_child_process_plays_its_part() {
    match load::role().as_deref() {
        None => {}
        Some("full disk") => send_from_a_full_disk(),
        Some(other) => panic!("{other}"),
    }
}

/// The mount is gone with the name space of this process.
fn send_from_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=6m", "ticketing-test", folder.path().to_str().unwrap()];
    if !std::process::Command::new("mount").args(mount).status().is_ok_and(|status| status.success()) {
        return load::say("skipped: nothing can be mounted");
    }
    let carrier = Carrier::new(|carrier, _, timeout| {
        let mut response = carrier.wait_at_the_gate(timeout)?;
        // The history of one hundred of these does not fit into what is left.
        response.body = vec![b'x'; 4096];
        Ok(response)
    });
    let office = Office::in_folder(folder.path(), |builder| builder.webhook_transport(carrier.clone()));
    office.endpoint("https://example.com/hook");
    let sender = office.start(SenderOptions::default().workers(32).workers_per_endpoint(32).throttled_workers(32));
    office.queue(100);
    carrier.wait_for(32);
    let ballast = folder.path().join("ballast");
    // It ends where the disk does.
    let filled = std::io::copy(&mut std::io::repeat(1), &mut std::fs::File::create(&ballast).unwrap());
    filled.unwrap_err();
    let failed_before = office.service.statistics().commits.failed;
    carrier.open_the_gate();
    until("the store is full", || office.service.statistics().commits.failed > failed_before + 1);
    assert_eq!(office.number("DELIVERED"), 0);
    std::fs::remove_file(&ballast).unwrap();
    office.wait_for(100, "DELIVERED");
    // What was made while the disk was full was kept, and not made again.
    assert_eq!(carrier.sent().len(), 100);
    assert!(office.outbox().iter().all(|row| row.is("DELIVERED", 1)));
    drop(sender);
    drop(office);
    std::process::Command::new("umount").arg(folder.path()).status().unwrap();
    load::say("done");
}

#[cfg(unix)]
#[test]
fn while_the_disk_is_full_what_was_sent_is_kept_and_then_written_down() {
    // In name spaces of its own, so that nothing stays mounted whatever happens.
    let wrapper = ["unshare", "--user", "--map-root-user", "--mount"];
    let mut probe = std::process::Command::new(wrapper[0]);
    if !probe.args(&wrapper[1..]).arg("true").output().is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: there is no unshare here, or it is not allowed");
    }
    let inner = load::child(CHILD, "full disk");
    let mut command = std::process::Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (status, said) = load::Running::start(command).rest();
    assert!(status.success(), "{status}");
    eprintln!("{said:?}");
}
