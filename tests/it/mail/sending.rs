//! What becomes of a mail: retries, limits, order, and what is not sent any more.

#![expect(clippy::disallowed_methods, reason = "the test waits in real time")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ticketing::Builder;
use ticketing::documents::TicketDocuments;
use ticketing::id::MailId;
use ticketing::mail::{
    ListMails, MailError, MailKind, MailOptions, MailReceipt, MailState, MailTransport, OutgoingMail, ResendTickets,
    UpdateMailSettings,
};
use ticketing::monitoring::MailOutcome;
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::ticket_type::CreateTicketType;

use super::tools::*;
use crate::common::random::Random;
use crate::common::*;

fn unavailable() -> MailError {
    MailError::Unavailable("421 try again".to_owned())
}

#[test]
fn an_error_that_may_pass_is_tried_again_for_two_days_and_then_the_mail_has_failed() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let order = fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 100), 1).id;
    mails.transport.answer(std::iter::repeat_n(Err(unavailable()), 53));
    let minutes = [1, 5, 15, 60].into_iter().chain(std::iter::repeat_n(60, 48));
    let second = Duration::from_secs(1);
    for (failures, minutes) in (1..).zip(minutes) {
        mails.deliver();
        let mail = &mails.of_order(order)[0];
        assert_eq!((mail.state, mail.last_answer.as_deref()), (MailState::Waiting, Some("421 try again")));
        fixture.clock.advance(Duration::from_mins(minutes) - second);
        let attempts = || fixture.stored("SELECT attempts FROM work WHERE kind = 'mail'");
        mails.deliver();
        assert_eq!(attempts(), failures, "not before its time");
        fixture.clock.advance(second);
    }
    mails.deliver();
    assert_eq!(mails.kinds(order), [(MailKind::Tickets, MailState::Failed)]);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM work WHERE kind = 'mail'"), 0);
}

#[test]
fn a_mail_that_is_refused_has_failed_and_one_that_is_tried_again_has_the_same_message_id() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let refused = MailError::RecipientRefused(format!("550 no such user {}\r\nagain", "x".repeat(600)));
    mails.transport.answer([Err(refused)]);
    let failed = fixture.paid_order(&ticket_type, 1).id;
    mails.deliver();
    let mail = &mails.of_order(failed)[0];
    assert_eq!(mail.state, MailState::Failed);
    let answer = mail.last_answer.as_deref().expect("the answer");
    assert_eq!((answer.chars().count(), answer.contains('\r')), (500, false));

    mails.transport.answer([Err(unavailable())]);
    let repeated = fixture.paid_order(&ticket_type, 1).id;
    mails.deliver();
    fixture.clock.advance(Duration::from_mins(1));
    mails.deliver();
    let mail = &mails.of_order(repeated)[0];
    assert_eq!((mail.state, mail.last_answer.as_deref()), (MailState::Sent, Some("250 ok")));
    let sent = mails.transport.sent();
    let message = String::from_utf8_lossy(&sent[0].message).into_owned();
    assert!(message.contains(&format!("Message-ID: <{}@example.com>", mail.id)));
    assert_eq!((sent[0].envelope_from.as_str(), sent[0].to.as_str()), (FROM, "ada@example.com"));
}

#[test]
fn tickets_of_an_order_that_was_cancelled_meanwhile_are_not_sent() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let order = fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 100), 1).id;
    fixture.service.cancel_order(&fixture.caller, order).expect("cancelled");
    mails.deliver();
    let expected = [(MailKind::Tickets, MailState::Dropped), (MailKind::OrderCancelled, MailState::Sent)];
    assert_eq!(mails.kinds(order), expected);
}

#[test]
fn mails_to_the_customers_of_a_suspended_organization_are_sent() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 100), 1);
    fixture.service.suspend_organization(fixture.caller.organization()).expect("suspended");
    mails.deliver();
    assert_eq!(mails.transport.sent().len(), 1);
}

#[test]
fn mails_of_one_order_to_one_address_are_sent_in_their_order() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    mails.set(UpdateMailSettings::default().notify_address("office@example.com"));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let order = fixture.paid_order(&ticket_type, 2).id;
    mails.transport.answer([Err(unavailable()), Err(unavailable())]);
    mails.deliver();
    fixture.refund_amount(order, eur(250)).expect("refunded");
    mails.deliver();
    assert_eq!(mails.transport.sent().len(), 0, "the refund waits for the tickets");
    fixture.clock.advance(Duration::from_mins(1));
    for _ in 0..4 {
        mails.deliver();
        fixture.clock.advance(Duration::from_secs(1));
    }
    let to_ada: Vec<_> = mails.transport.sent().into_iter().filter(|mail| mail.to == "ada@example.com").collect();
    let expected: Vec<_> =
        mails.of_order(order).iter().filter(|mail| mail.recipient == "ada@example.com").map(|mail| mail.id).collect();
    assert_eq!(to_ada.iter().map(|mail| mail.id).collect::<Vec<_>>(), expected);
    assert_eq!(expected.len(), 2);
}

#[test]
fn an_organization_sends_ten_mails_an_hour_to_one_address_and_the_rest_waits() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    mails.set(UpdateMailSettings::default().notify_address("office@example.com"));
    let event = fixture.event();
    let free = fixture.ticket_type(&event, 0, 100);
    for _ in 0..12 {
        fixture.order(&free, 1);
    }
    let other = CreateOrder::new(event.id, NewCustomer::new("Bob", "bob@example.com"), free.id, 1);
    fixture.service.create_order(&fixture.caller, other).expect("an order");
    mails.deliver();
    let to = |address: &str| mails.transport.sent().iter().filter(|mail| mail.to == address).count();
    assert_eq!((to("ada@example.com"), to("bob@example.com")), (10, 1));
    assert_eq!(to("office@example.com"), 13, "the organizer hears of each order at once");
    fixture.clock.advance(Duration::from_mins(59));
    mails.deliver();
    assert_eq!(to("ada@example.com"), 10);
    fixture.clock.advance(Duration::from_mins(1));
    mails.deliver();
    assert_eq!(to("ada@example.com"), 12);
}

#[test]
fn the_mails_of_an_organization_are_limited_and_those_of_others_are_not() {
    let mails = Mails::with(|options| options.per_organization_and_hour(3));
    let fixture = &mails.fixture;
    let event = fixture.event();
    let free = fixture.ticket_type(&event, 0, 100);
    for number in 0..5 {
        let customer = NewCustomer::new("Ada", format!("ada-{number}@example.com"));
        let order = CreateOrder::new(event.id, customer, free.id, 1);
        fixture.service.create_order(&fixture.caller, order).expect("an order");
    }
    mails.deliver();
    // Up to three are sent at the same time, and each of them may be the last that is allowed.
    let sent = mails.transport.sent().len();
    assert!((3..=5).contains(&sent), "{sent}");
    fixture.clock.advance(Duration::from_mins(60));
    mails.deliver();
    assert_eq!(mails.transport.sent().len(), 5);
}

/// Counts the attempts with this outcome, over all kinds.
fn counted(mails: &Mails, outcome: MailOutcome) -> u64 {
    let counts = mails.fixture.service.statistics().mails;
    counts.iter().filter(|((_, counted), _)| *counted == outcome).map(|(_, times)| times).sum()
}

#[test]
fn mails_that_a_limit_holds_back_are_counted_and_those_of_an_organization_wait_a_minute_at_least() {
    let mails = Mails::with(|options| options.per_organization_and_hour(1));
    let fixture = &mails.fixture;
    let free = fixture.ticket_type(&fixture.event(), 0, 100);
    fixture.order(&free, 1);
    mails.deliver();
    assert_eq!((counted(&mails, MailOutcome::Sent), counted(&mails, MailOutcome::HeldBack)), (1, 0));
    fixture.clock.advance(Duration::from_mins(60) - Duration::from_secs(1));
    for _ in 0..3 {
        fixture.order(&free, 1);
    }
    mails.deliver();
    let held_back = counted(&mails, MailOutcome::HeldBack);
    assert!((1..=3).contains(&held_back), "{held_back}: each thread may have claimed one");
    fixture.clock.advance(Duration::from_secs(59));
    mails.deliver();
    assert_eq!((counted(&mails, MailOutcome::Sent), counted(&mails, MailOutcome::HeldBack)), (1, held_back));
    fixture.clock.advance(Duration::from_secs(1));
    mails.deliver();
    assert!(counted(&mails, MailOutcome::Sent) > 1);
}

#[test]
fn old_mails_are_deleted_and_a_later_cause_of_the_same_order_is_a_mail_all_the_same() {
    let day = Duration::from_hours(24);
    let mails = Mails::with(|options| options.retention(2 * day));
    let fixture = &mails.fixture;
    let order = fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 100), 1).id;
    let resend = || fixture.service.resend_tickets(&fixture.caller, order, ResendTickets::default()).expect("sent").id;
    resend();
    mails.deliver();
    fixture.clock.advance(day);
    let second = resend();
    mails.deliver();
    let deleted = || fixture.service.run_maintenance().expect("a run").forgotten_mails;
    assert_eq!((deleted(), mails.of_order(order).len()), (0, 3));
    fixture.clock.advance(day - Duration::from_millis(1));
    assert_eq!(deleted(), 0, "too young");
    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(deleted(), 2);
    assert_eq!(mails.of_order(order).iter().map(|mail| mail.id).collect::<Vec<_>>(), [second]);
    let third = resend();
    fixture.clock.advance(10 * day);
    assert_eq!(deleted(), 1);
    assert_eq!(mails.of_order(order).iter().map(|mail| mail.id).collect::<Vec<_>>(), [third], "it waits");
}

/// What happens while the first mail is being sent.
type Meanwhile = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// Lets another process claim the mail while it is being sent: the clock has jumped.
struct Slow {
    transport: MemoryTransport,
    meanwhile: Meanwhile,
}

impl MailTransport for Slow {
    fn send(&self, mail: &OutgoingMail) -> Result<MailReceipt, MailError> {
        let meanwhile = self.meanwhile.lock().expect("the other process").take();
        if let Some(other) = meanwhile {
            other();
        }
        self.transport.send(mail)
    }
}

#[test]
fn a_mail_that_was_accepted_is_not_sent_again_although_another_process_had_claimed_it() {
    let (transport, other_transport) = (MemoryTransport::default(), MemoryTransport::default());
    let meanwhile = Meanwhile::default();
    let slow = Slow { transport: transport.clone(), meanwhile: Arc::clone(&meanwhile) };
    let with_mails = |builder: Builder, options| {
        builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default()).mail(options)
    };
    let fixture = Fixture::with_gateway(|builder| with_mails(builder, options(slow)));
    let other = fixture.second_service_with(|builder| with_mails(builder, options(other_transport.clone())));
    other_transport.answer([Err(unavailable())]);
    let clock = fixture.clock.clone();
    *meanwhile.lock().expect("none") = Some(Box::new(move || {
        clock.advance(Duration::from_mins(2));
        other.deliver_due_mails().expect("the database");
    }));
    fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 100), 1);
    fixture.service.deliver_due_mails().expect("the database");
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM mails WHERE state = 'SENT'"), 1);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM work WHERE kind = 'mail'"), 0);
    fixture.clock.advance(Duration::from_hours(1));
    fixture.service.deliver_due_mails().expect("the database");
    assert_eq!((transport.sent().len(), other_transport.sent().len()), (1, 0));
}

#[test]
fn a_reminder_of_a_hold_that_has_ended_is_dropped_before_the_order_has_expired() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    mails.set(UpdateMailSettings::default().payment_reminder_minutes(5));
    let order = fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 100), 1).id;
    mails.transport.answer([Err(unavailable()), Err(unavailable())]);
    fixture.clock.advance(HOLD - Duration::from_mins(5));
    mails.deliver();
    fixture.clock.advance(Duration::from_mins(1));
    mails.deliver();
    assert_eq!(mails.kinds(order), [(MailKind::PaymentReminder, MailState::Waiting)]);
    fixture.clock.advance(Duration::from_mins(5));
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'PENDING'"), 1, "nothing has expired it");
    mails.deliver();
    assert_eq!(mails.kinds(order), [(MailKind::PaymentReminder, MailState::Dropped)]);
}

/// What a relay does with the next mail.
#[derive(Clone, Copy)]
enum Fate {
    Accepted,
    /// Accepted, and that was not heard.
    Lost,
    Later,
    Refused,
}

/// A relay whose answers are random, until it works.
#[derive(Clone)]
struct RandomRelay {
    fates: Arc<Mutex<(Random, bool)>>,
    /// The ids of the mails that were accepted.
    accepted: Arc<Mutex<Vec<MailId>>>,
}

impl MailTransport for RandomRelay {
    fn send(&self, mail: &OutgoingMail) -> Result<MailReceipt, MailError> {
        let fate = {
            let (random, works) = &mut *self.fates.lock().expect("fates");
            let drawn = random.pick(&[Fate::Accepted, Fate::Lost, Fate::Later, Fate::Later, Fate::Refused]);
            if *works { Fate::Accepted } else { drawn }
        };
        if matches!(fate, Fate::Accepted | Fate::Lost) {
            self.accepted.lock().expect("mails").push(mail.id);
        }
        match fate {
            Fate::Accepted => Ok(MailReceipt::new("250 ok")),
            Fate::Lost | Fate::Later => Err(unavailable()),
            Fate::Refused => Err(MailError::RecipientRefused("550 no".to_owned())),
        }
    }
}

#[test]
fn each_completed_order_has_one_mail_with_tickets_whatever_the_relay_answers() {
    for seed in 1..=4 {
        let relay = RandomRelay { fates: Arc::new(Mutex::new((Random::new(seed), false))), accepted: Arc::default() };
        let options = options(relay.clone()).per_address_and_hour(1000);
        let fixture = Fixture::with_gateway(|builder| {
            builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default()).mail(options)
        });
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
        let deliver = || fixture.service.deliver_due_mails().expect("the database");
        let mut orders = Vec::new();
        for step in 0..12 {
            let order = fixture.order(&ticket_type, 1).id;
            let is_paid = step % 3 != 0;
            if is_paid {
                fixture.service.payment_completed(&fixture.caller, order).expect("paid");
            }
            orders.push((order, is_paid));
            deliver();
            fixture.clock.advance(Duration::from_secs(20));
        }
        relay.fates.lock().expect("fates").1 = true;
        for _ in 0..4 {
            fixture.clock.advance(Duration::from_mins(60));
            deliver();
        }
        let accepted = relay.accepted.lock().expect("mails").clone();
        for (order, is_paid) in orders {
            let request = ListMails::new().order(order);
            let mails = fixture.service.list_mails(&fixture.caller, request).expect("the mails").data;
            assert_eq!(mails.len(), usize::from(is_paid), "seed {seed}");
            let Some(mail) = mails.first() else { continue };
            let times = accepted.iter().filter(|id| **id == mail.id).count();
            match mail.state {
                MailState::Sent => assert!(times >= 1, "seed {seed}: a mail counts as sent that was not"),
                MailState::Failed => assert_eq!(mail.last_answer.as_deref(), Some("550 no"), "seed {seed}"),
                other => panic!("seed {seed}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_mail_of_one_organization_does_not_wait_behind_those_of_another() {
    let transport = MemoryTransport::default();
    let options = MailOptions::new(transport.clone(), FROM).per_second(1_000_000);
    let options = options.per_address_and_hour(1_000_000).per_organization_and_hour(1_000_000);
    let fixture = Fixture::with_gateway(|builder| {
        let builder = builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default());
        builder.mail(options.threads(false))
    });
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 100);
    fixture.issue(&ticket_type, 1);
    fixture.database().run(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
        INSERT INTO mails (id, organization_id, kind, ticket_ids, recipient, dedup_key, created_at)
        SELECT m.id - n, organization_id, m.kind, ticket_ids, 'x' || n || '@example.com', 'x:' || n, m.created_at
        FROM mails m CROSS JOIN numbers",
    );
    fixture.database().run(
        "INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
        SELECT w.id + m.id - w.key, w.kind, m.id, w.organization_id, w.event_id, '', w.due_at - 1000,
            w.created_at
        FROM mails m CROSS JOIN work w WHERE w.kind = 'mail' AND m.id <> w.key",
    );
    // The other's is newer than all of them.
    let other = fixture.other_organization();
    let sale = fixture.service.create_event(&other, new_event(|_| {})).expect("an event");
    let free = CreateTicketType::new("Seat", eur(0), 10);
    let free = fixture.service.create_ticket_type(&other, sale.id, free).expect("a ticket type");
    let customer = NewCustomer::new("Bob", "bob@example.com");
    let order = CreateOrder::new(sale.id, customer, free.id, 1);
    fixture.service.create_order(&other, order).expect("an order");
    let service = fixture.service.clone();
    let is_sent = || transport.sent().iter().any(|mail| mail.to == "bob@example.com");
    std::thread::scope(|scope| {
        scope.spawn(move || service.deliver_due_mails().expect("the database"));
        let start = Instant::now();
        while !is_sent() {
            assert!(start.elapsed() < Duration::from_secs(20), "it waits behind the others");
            std::thread::sleep(Duration::from_millis(5));
        }
        let before = transport.sent().len();
        assert!(before < 200, "{before} were sent before");
        // The rest need not be sent.
        fixture.database().run("DELETE FROM work WHERE kind = 'mail' AND claim IS NULL");
    });
    fixture.skip_final_check();
}
