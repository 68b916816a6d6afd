//! A process that sells and sends mails is killed at random moments. No mail is lost, no process sends one twice, a kill
//! repeats at most the mail that was being sent to an address, with the same `Message-ID`, and nobody gets the tickets of an
//! order that was not completed.
//!
//! `TICKETING_MAIL_KILLS` is the number of kills, by default 6.

use std::collections::BTreeMap;
use std::time::Duration;

use ticketing::documents::TicketDocuments;
use ticketing::environment::{Clock, ManualClock, SystemClock};
use ticketing::mail::{
    ListMails, Mail, MailError, MailKind, MailOptions, MailReceipt, MailState, MailTransport, OutgoingMail,
    SmtpTransport,
};
use ticketing::order::OrderStatus;
use ticketing::page;
use ticketing::{Builder, Caller, TicketingService};

use super::relay::{Received, Relay, Settings};
use super::tools::FROM;
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::processes::{ChildProcess, child_role, child_variable, next_message, send_to_parent};
use crate::common::random::Random;
use crate::common::seller::{Acknowledged, Sale, Seller};
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_sells_and_mails");

/// The role of a process that sends mails as the service does.
const SELL: &str = "sell";

/// The role of a process that records mails as sent before the relay has accepted them.
const SELL_HASTILY: &str = "sell hastily";

/// How many addresses the mails of the sellers have.
const ADDRESSES: usize = 2;

/// The environment variable with the URL of the relay.
const RELAY: &str = "TICKETING_TEST_RELAY";

fn with_mails(builder: Builder, transport: impl MailTransport) -> Builder {
    let options = MailOptions::new(transport, FROM).per_second(100_000).per_address_and_hour(1_000_000);
    let options = options.per_organization_and_hour(1_000_000);
    builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default()).mail(options)
}

fn smtp(url: &str) -> SmtpTransport {
    SmtpTransport::builder(url).build().expect("a URL")
}

/// Says that it has sent a mail, and sends it later than the processes live.
struct Hasty(SmtpTransport);

impl MailTransport for Hasty {
    fn send(&self, mail: &OutgoingMail) -> Result<MailReceipt, MailError> {
        let (transport, mail) = (self.0.clone(), mail.clone());
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(2));
            transport.send(&mail)
        });
        Ok(MailReceipt::new("250 soon"))
    }
}

#[test]
#[ignore = "other tests start it"]
fn a_child_process_sells_and_mails() {
    let is_hasty = child_role() == SELL_HASTILY;
    let transport = smtp(&child_variable(RELAY));
    let with_mails = |builder| match is_hasty {
        true => with_mails(builder, Hasty(transport)),
        false => with_mails(builder, transport),
    };
    let seller = Seller::of_child(with_mails, send_to_parent);
    loop {
        seller.sell().expect("a sale");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The `Message-ID`s of mails, with the number of times that they were accepted.
fn times(mails: &[Received]) -> BTreeMap<String, usize> {
    let mut ids = BTreeMap::new();
    for mail in mails {
        let id = mail.message.lines().find_map(|line| line.strip_prefix("Message-ID: <")).expect("an id");
        *ids.entry(id.split('@').next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    ids
}

/// Sends what is left, as a process that starts after the claims of the killed ones have ended.
fn send_the_rest(sale: &Sale, relay: &Relay) -> TicketingService {
    let clock = ManualClock::new(SystemClock.now().saturating_add(Duration::from_mins(2)));
    let builder = database::builder(&sale.path).clock(clock.clone()).sandbox_gateway();
    let transport = smtp(&relay.url("smtp://localhost"));
    // Without threads: the clock must not go on while a mail is being sent.
    let options = MailOptions::new(transport, FROM).threads(false).per_second(100_000);
    let options = options.per_address_and_hour(1_000_000).per_organization_and_hour(1_000_000);
    let builder = builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default());
    let service = builder.mail(options).open().expect("the database");
    let database = Database::open(&sale.path);
    while database.value::<i64>("SELECT COUNT(*) FROM mails WHERE state = 'WAITING'") > 0 {
        service.deliver_due_mails().expect("the database");
        clock.advance(Duration::from_mins(2));
    }
    service
}

/// What is left after processes were killed, and a last one has sent the rest.
struct Killed {
    seed: u64,
    sale: Sale,
    service: TicketingService,
    acknowledged: Acknowledged,
    /// What the relay has accepted of each process.
    of_processes: Vec<Vec<Received>>,
}

fn kill(role: &str, kills: usize) -> Killed {
    let seed = first_seed();
    let mut random = Random::new(seed);
    let relay = Relay::start(Settings::default());
    let sale = Sale::prepare(Fixture::with_gateway(|builder| builder));
    let mut acknowledged = Acknowledged::default();
    let (mut of_processes, mut known) = (Vec::new(), 0);
    let mut note_received = || {
        relay.wait_until_idle();
        let received = relay.received();
        of_processes.push(received[known..].to_vec());
        known = received.len();
    };
    for _ in 0..kills {
        let mut command = sale.child(CHILD, role);
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
        note_received();
    }
    let service = send_the_rest(&sale, &relay);
    // The connections that it keeps are open.
    let received = relay.received();
    of_processes.push(received[known..].to_vec());
    Killed { seed, sale, service, acknowledged, of_processes }
}

impl Killed {
    fn caller(&self) -> Caller {
        self.service.act_for(self.sale.organization).expect("the organization")
    }

    /// How often each mail was accepted.
    fn accepted(&self) -> BTreeMap<String, usize> {
        times(&self.of_processes.concat())
    }

    fn mails(&self) -> Vec<Mail> {
        let caller = self.caller();
        let list = |page| self.service.list_mails(&caller, ListMails::new().page(page));
        page::all(list).map(|mail| mail.expect("a mail")).collect()
    }

    /// The mails that are recorded as sent, and that nobody has got.
    fn lost(&self) -> Vec<Mail> {
        let accepted = self.accepted();
        let is_lost = |mail: &Mail| mail.state == MailState::Sent && !accepted.contains_key(&mail.id.to_string());
        self.mails().into_iter().filter(is_lost).collect()
    }
}

#[test]
fn after_kills_no_mail_is_lost_and_each_kill_repeats_one_to_an_address_at_most() {
    let kills = usize::try_from(repetitions("TICKETING_MAIL_KILLS", 6)).expect("a number");
    let killed = kill(SELL, kills);
    let (seed, service, caller) = (killed.seed, &killed.service, killed.caller());
    killed.acknowledged.assert_stored(service, &caller);
    assert!(service.check().expect("a check").is_clean());
    assert_eq!(killed.lost(), [], "seed {seed}");

    for (number, of_process) in killed.of_processes.iter().enumerate() {
        let repeated: Vec<_> = times(of_process).into_iter().filter(|(_, times)| *times > 1).collect();
        assert_eq!(repeated, [], "seed {seed}: process {number} has sent a mail twice");
    }
    // A process sends only one mail at a time to an address.
    let (accepted, mails) = (killed.accepted(), killed.mails());
    let repeated: usize = accepted.values().map(|times| times - 1).sum();
    assert!(repeated <= kills * ADDRESSES, "seed {seed}: {accepted:?}");
    let sent = mails.iter().filter(|mail| mail.state == MailState::Sent).count();
    assert_eq!(accepted.len(), sent, "seed {seed}: a mail was accepted that is not recorded as sent");
    for (order, (status, _)) in &killed.acknowledged.orders {
        let of_order = || mails.iter().filter(|mail| mail.order_id == Some(*order) && mail.kind == MailKind::Tickets);
        let stored = service.get_order(&caller, *order).expect("the order");
        assert_eq!(of_order().count(), usize::from(stored.completed_at.is_some()), "seed {seed}: {order} {status}");
        if stored.status == OrderStatus::Completed {
            assert!(of_order().all(|mail| mail.state == MailState::Sent), "seed {seed}: {order}");
        }
    }
    let after: usize = killed.of_processes.last().map_or(0, Vec::len);
    eprintln!("{} mails, {after} after the kills, {repeated} repeated by {kills} kills", mails.len());
}

#[test]
fn a_mail_that_counts_as_sent_before_the_relay_has_it_is_lost_by_a_kill() {
    let killed = kill(SELL_HASTILY, 4);
    assert_ne!(killed.lost(), [], "seed {}: the other test could not fail", killed.seed);
}
