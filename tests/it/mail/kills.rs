//! A process that sells and sends mails is killed at random moments. No mail is lost, each kill repeats at most the mails that
//! were being sent, with the same `Message-ID`, and nobody gets the tickets of an order that was not completed.
//!
//! `TICKETING_MAIL_KILLS` is the number of kills, by default 6.

use std::collections::BTreeMap;
use std::time::Duration;

use ticketing::documents::TicketDocuments;
use ticketing::environment::{Clock, ManualClock, SystemClock};
use ticketing::mail::{ListMails, MailKind, MailOptions, MailState, SmtpTransport};
use ticketing::order::OrderStatus;
use ticketing::page;
use ticketing::{Builder, TicketingService};

use super::relay::{Relay, Settings};
use super::tools::FROM;
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::processes::{ChildProcess, child_role, child_variable, next_message, send_to_parent};
use crate::common::random::Random;
use crate::common::seller::{Acknowledged, Sale, Seller};
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_sells_and_mails");

/// How many mails a process sends at the same time.
const MAX_AT_A_TIME: usize = 4;

/// The environment variable with the URL of the relay.
const RELAY: &str = "TICKETING_TEST_RELAY";

fn with_mails(builder: Builder, url: &str) -> Builder {
    let transport = SmtpTransport::builder(url).build().expect("a URL");
    let options = MailOptions::new(transport, FROM).per_second(100_000).per_address_and_hour(1_000_000);
    let options = options.per_organization_and_hour(1_000_000);
    builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default()).mail(options)
}

#[test]
#[ignore = "other tests start it"]
fn a_child_process_sells_and_mails() {
    child_role();
    let url = child_variable(RELAY);
    let seller = Seller::of_child(|builder| with_mails(builder, &url), send_to_parent);
    loop {
        seller.sell().expect("a sale");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The `Message-ID`s of the mails that the relay has accepted, with the number of times.
fn accepted(relay: &Relay) -> BTreeMap<String, usize> {
    let mut ids = BTreeMap::new();
    for mail in relay.received() {
        let id = mail.message.lines().find_map(|line| line.strip_prefix("Message-ID: <")).expect("an id");
        *ids.entry(id.split('@').next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    ids
}

/// Sends what is left, as a process that starts after the claims of the killed ones have ended.
fn send_the_rest(sale: &Sale, relay: &Relay) -> TicketingService {
    let clock = ManualClock::new(SystemClock.now().saturating_add(Duration::from_mins(2)));
    let builder = database::builder(&sale.path).clock(clock.clone()).sandbox_gateway();
    let service = with_mails(builder, &relay.url("smtp://localhost")).open().expect("the database");
    let database = Database::open(&sale.path);
    while database.value::<i64>("SELECT COUNT(*) FROM mails WHERE state = 'WAITING'") > 0 {
        service.deliver_due_mails().expect("the database");
        clock.advance(Duration::from_mins(2));
    }
    service
}

#[test]
fn after_kills_no_mail_is_lost_and_only_those_being_sent_are_repeated() {
    let seed = first_seed();
    let mut random = Random::new(seed);
    let relay = Relay::start(Settings::default());
    let sale = Sale::prepare(Fixture::with_gateway(|builder| builder));
    let mut acknowledged = Acknowledged::default();
    let kills = usize::try_from(repetitions("TICKETING_MAIL_KILLS", 6)).expect("a number");
    for _ in 0..kills {
        let mut command = sale.child(CHILD, "sell");
        command.env(RELAY, relay.url("smtp://localhost"));
        let mut seller = ChildProcess::start(command);
        acknowledged.record(&seller.next_message().expect("a first change"));
        let lifetime = Duration::from_millis(200 + u64::try_from(random.below(800)).expect("a number"));
        std::thread::scope(|scope| {
            let ChildProcess { child, lines } = &mut seller;
            scope.spawn(move || {
                std::thread::sleep(lifetime);
                child.kill().expect("killed");
            });
            while let Some(message) = next_message(lines) {
                acknowledged.record(&message);
            }
        });
        assert!(!seller.finish().status.success(), "it was killed");
    }
    let before = accepted(&relay).len();
    let service = send_the_rest(&sale, &relay);
    let caller = service.act_for(sale.organization).expect("the organization");
    acknowledged.assert_stored(&service, &caller);
    assert!(service.check().expect("a check").is_clean());

    let times = accepted(&relay);
    let repeated: usize = times.values().map(|times| times - 1).sum();
    assert!(repeated <= kills * MAX_AT_A_TIME, "seed {seed}: {times:?}");
    let list = |page| service.list_mails(&caller, ListMails::new().page(page));
    let mails: Vec<_> = page::all(list).map(|mail| mail.expect("a mail")).collect();
    for mail in &mails {
        let sent = times.contains_key(&mail.id.to_string());
        assert_eq!(sent, mail.state == MailState::Sent, "seed {seed}: {mail:?}");
    }
    assert_eq!(times.len(), mails.iter().filter(|mail| mail.state == MailState::Sent).count(), "seed {seed}");
    for (order, (status, _)) in &acknowledged.orders {
        let of_order = || mails.iter().filter(|mail| mail.order_id == Some(*order) && mail.kind == MailKind::Tickets);
        let stored = service.get_order(&caller, *order).expect("the order");
        assert_eq!(of_order().count(), usize::from(stored.completed_at.is_some()), "seed {seed}: {order} {status}");
        if stored.status == OrderStatus::Completed {
            assert!(of_order().all(|mail| mail.state == MailState::Sent), "seed {seed}: {order}");
        }
    }
    eprintln!("{} mails, {before} before the end, {repeated} repeated", mails.len());
}
