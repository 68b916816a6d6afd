//! What causes a mail: one for each cause, in the transaction of the change.

use std::time::Duration;

use ticketing::Change;
use ticketing::allocation::{CreateAllocation, ImportTickets, ImportedHolder, ImportedTicket};
use ticketing::documents::TicketDocuments;
use ticketing::event::EventSettings;
use ticketing::mail::{FolderTransport, MailKind, MailState, UpdateMailSettings};
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::payment::{
    CheckoutState, GatewayEvent, GatewayPayment, GatewayRefund, ManualMethod, RefundOrder, RefundState,
};
use ticketing::ticket::{IssueTickets, ListTickets};

use super::tools::*;
use crate::common::*;

const SENT: MailState = MailState::Sent;

#[test]
fn a_paid_order_becomes_one_message_in_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let mails = FolderTransport::new(folder.path().join("mails"));
    let fixture = Fixture::with_gateway(|builder| {
        builder
            .public_url("https://tickets.example.com")
            .ticket_documents(TicketDocuments::default())
            .mail(options(mails))
    });
    let order = fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 10), 2);
    fixture.service.deliver_due_mails().expect("the database");
    let files: Vec<_> = std::fs::read_dir(folder.path().join("mails")).expect("the folder").collect();
    assert_eq!(files.len(), 1);
    let path = files.into_iter().next().expect("a file").expect("a file").path();
    let message = std::fs::read_to_string(&path).expect("a message in ASCII");
    let number = order.id.to_string().replace("order_", "");
    assert!(message.contains(&format!("({number})")), "{message}");
    assert!(message.contains("To: Ada <ada@example.com>\r\n"), "{message}");
    assert!(message.contains("Auto-Submitted: auto-generated\r\n"), "{message}");
    assert!(message.contains("Date: Mon, 01 Jun 2026 12:00:00 +0000\r\n"), "{message}");
    let id = path.file_stem().expect("a name").to_string_lossy();
    assert!(message.contains(&format!("Message-ID: <{id}@example.com>\r\n")), "{message}");
}

#[test]
fn each_completed_order_has_one_mail_with_its_tickets_however_it_was_completed() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let free_type = fixture.ticket_type(&event, 0, 100);
    let paid = fixture.paid_order(&ticket_type, 1).id;
    let free = fixture.order(&free_type, 1).id;
    let manual = fixture.order(&ticket_type, 1).id;
    fixture.service.mark_order_paid(&fixture.caller, manual, ManualMethod::Transfer).expect("paid");
    let sale = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1).paid(ManualMethod::Cash);
    let box_office = fixture.service.create_order(&fixture.caller, sale).expect("sold").order.id;
    let late = fixture.order(&ticket_type, 1).id;
    fixture.clock.advance(HOLD + Duration::from_mins(1));
    fixture.service.payment_completed(&fixture.caller, late).expect("late, and accepted");
    let unpaid = fixture.order(&ticket_type, 1).id;
    for order in [paid, free, manual, box_office, late] {
        assert_eq!(mails.kinds(order), [(MailKind::Tickets, MailState::Waiting)], "{order}");
    }
    assert_eq!(mails.kinds(unpaid), []);
    mails.deliver();
    mails.deliver();
    assert_eq!(mails.transport.sent().len(), 5);
    for order in [paid, free, manual, box_office, late] {
        assert_eq!(mails.kinds(order), [(MailKind::Tickets, SENT)], "{order}");
    }
}

#[test]
fn an_address_that_reaches_nobody_gets_no_mail_and_no_row() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let walk_in = CreateOrder::new(event.id, NewCustomer::walk_in("Walk-in"), ticket_type.id, 1);
    fixture.service.create_order(&fixture.caller, walk_in.paid(ManualMethod::Cash)).expect("sold");
    let reserved = NewCustomer::new("Nobody", "nobody@shop.invalid");
    fixture.service.issue_tickets(&fixture.caller, IssueTickets::new(ticket_type.id, reserved, 1)).expect("issued");
    assert_eq!(mails.all(), []);
}

#[test]
fn tickets_without_an_order_are_one_mail_for_the_call_that_issued_them() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let issued = fixture.issue(&ticket_type, 3);
    let all = mails.all();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].kind, all[0].order_id), (MailKind::Tickets, None));
    assert_eq!(all[0].ticket_ids, issued.iter().map(|ticket| ticket.id).collect::<Vec<_>>());
    mails.deliver();
    fixture.service.cancel_ticket(&fixture.caller, issued[1].id).expect("cancelled");
    mails.deliver();
    let told: Vec<_> = mails.all().into_iter().map(|mail| (mail.kind, mail.ticket_ids.len(), mail.state)).collect();
    assert_eq!(told, [(MailKind::Tickets, 3, SENT), (MailKind::OrderCancelled, 1, SENT)]);
}

#[test]
fn a_guest_gets_a_ticket_that_is_assigned_and_the_customers_of_another_seller_get_nothing() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let (service, caller) = (&fixture.service, &fixture.caller);
    let guests = CreateAllocation::of_labels("Guests", ["Row A, seat 3", "Row A, seat 4"]);
    let guests = service.create_allocation(caller, ticket_type.id, guests).expect("an allocation").id;
    service.run_maintenance().expect("a run");
    let holder = ImportedHolder::new("Bob", "bob@example.com");
    let imported = ImportTickets::new("Box office", [ImportedTicket::new("4006381333931").holder(holder)]);
    let imported = service.import_tickets(caller, ticket_type.id, imported.notify(true)).expect("imported").allocation;
    assert_eq!(mails.all(), []);
    let tickets = service.list_tickets(caller, ListTickets::new().allocation(guests)).expect("tickets").data;
    service.assign_ticket(caller, tickets[1].id, new_customer()).expect("assigned");
    mails.deliver();
    let sent: Vec<_> = mails.all().into_iter().map(|mail| (mail.recipient, mail.ticket_ids, mail.state)).collect();
    assert_eq!(sent, [("ada@example.com".to_owned(), vec![tickets[1].id], SENT)]);
    for allocation in [guests, imported.id] {
        service.cancel_allocation(caller, allocation).expect("cancelled");
    }
    service.run_maintenance().expect("a run");
    mails.deliver();
    let sent: Vec<_> = mails.all().into_iter().map(|mail| (mail.kind, mail.ticket_ids)).collect();
    let told = vec![tickets[1].id];
    assert_eq!(sent, [(MailKind::Tickets, told.clone()), (MailKind::OrderCancelled, told)]);
    let seat = tickets[1].ticket_label.as_deref().expect("a seat");
    for mail in mails.transport.sent() {
        let message = String::from_utf8_lossy(&mail.message).into_owned();
        assert_eq!(message.matches(seat).count(), 2, "in the text and in the HTML: {message}");
    }
}

#[test]
fn the_organizer_gets_a_mail_of_a_sale_unless_the_event_says_otherwise() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let before = fixture.paid_order(&ticket_type, 1).id;
    mails.set(UpdateMailSettings::default().notify_address("office@example.com"));
    let told = fixture.paid_order(&ticket_type, 1).id;
    let free = fixture.order(&fixture.ticket_type(&event, 0, 100), 1).id;
    let mut quiet = EventSettings::default();
    quiet.disable_organizer_order_notifications = Change::Set(true);
    fixture.service.update_event_settings(&fixture.caller, event.id, quiet).expect("changed");
    let untold = fixture.paid_order(&ticket_type, 1).id;
    let to_organizer = |order| {
        let of_order = mails.of_order(order).into_iter();
        of_order.filter(|mail| mail.kind == MailKind::OrganizerOrder).map(|mail| mail.recipient).collect::<Vec<_>>()
    };
    assert_eq!(
        [before, told, free, untold].map(to_organizer),
        [vec![], vec!["office@example.com".to_owned()], vec!["office@example.com".to_owned()], vec![]]
    );
}

#[test]
fn a_cancelled_order_and_a_refund_of_an_amount_are_told() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let cancelled = fixture.paid_order(&ticket_type, 1).id;
    let refunded = fixture.paid_order(&ticket_type, 1).id;
    let unpaid = fixture.order(&ticket_type, 1).id;
    mails.deliver();
    fixture.service.cancel_order(&fixture.caller, cancelled).expect("cancelled");
    fixture.service.cancel_order(&fixture.caller, unpaid).expect("cancelled");
    fixture.refund_amount(refunded, eur(250)).expect("refunded");
    mails.deliver();
    assert_eq!(mails.kinds(cancelled), [(MailKind::Tickets, SENT), (MailKind::OrderCancelled, SENT)]);
    assert_eq!(mails.kinds(refunded), [(MailKind::Tickets, SENT), (MailKind::Refund, SENT)]);
    assert_eq!(mails.kinds(unpaid), []);
}

#[test]
fn a_refund_that_was_made_at_the_gateway_is_told_once_and_one_of_all_cancels_the_order() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let order = fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 100), 2);
    let report = |event: GatewayEvent| {
        let notice = Notice::about(&order, event);
        fixture.gateway.know(&notice);
        for _ in 0..2 {
            notice.send(&fixture.service).expect("received");
        }
        mails.deliver();
    };
    let refund = |reference, cents| GatewayRefund::new(reference, eur(cents), "EUR");
    report(GatewayEvent::Checkout(CheckoutState::Paid(GatewayPayment::new("pi_1", eur(2500), "EUR"))));
    report(GatewayEvent::Refund(refund("re_1", 250)));
    assert_eq!(mails.kinds(order.id), [(MailKind::Tickets, SENT), (MailKind::Refund, SENT)]);
    // One that this service has asked for was told when it was decided.
    let own = fixture.refund_amount(order.id, eur(100)).expect("refunded").refund_id.expect("an id");
    mails.deliver();
    report(GatewayEvent::Refund(refund("re_2", 100).refund(own)));
    let told = [(MailKind::Tickets, SENT), (MailKind::Refund, SENT), (MailKind::Refund, SENT)];
    assert_eq!(mails.kinds(order.id), told);
    report(GatewayEvent::Refund(refund("re_3", 500).state(RefundState::Failed("closed".to_owned()))));
    assert_eq!(mails.kinds(order.id), told, "nothing has gone back");
    report(GatewayEvent::Refund(refund("re_4", 2150)));
    assert_eq!(mails.kinds(order.id)[3..], [(MailKind::OrderCancelled, SENT)]);
}

#[test]
fn cancellations_of_single_tickets_within_a_minute_are_one_mail() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let order = fixture.paid_order(&ticket_type, 4);
    mails.deliver();
    let tickets: Vec<_> = order.tickets().map(|ticket| ticket.id).collect();
    let refund = |ticket| {
        let request = RefundOrder::of_tickets([ticket]);
        fixture.service.refund_order(&fixture.caller, order.id, request).expect("refunded");
    };
    refund(tickets[0]);
    fixture.clock.advance(Duration::from_secs(30));
    refund(tickets[1]);
    mails.deliver();
    assert_eq!(mails.transport.sent().len(), 1, "it waits");
    fixture.clock.advance(Duration::from_secs(30));
    mails.deliver();
    assert_eq!(mails.kinds(order.id), [(MailKind::Tickets, SENT), (MailKind::OrderCancelled, SENT)]);
    // A later one is another mail. The cancellation of the whole order is told at once, and in the same mail.
    fixture.clock.advance(Duration::from_secs(1));
    fixture.service.cancel_ticket(&fixture.caller, tickets[2]).expect("cancelled");
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    mails.deliver();
    let cancelled = (MailKind::OrderCancelled, SENT);
    assert_eq!(mails.kinds(order.id), [(MailKind::Tickets, SENT), cancelled, cancelled]);
}

#[test]
fn a_payment_that_goes_back_is_told() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1);
    let late = fixture.order(&ticket_type, 1).id;
    fixture.clock.advance(HOLD + Duration::from_mins(1));
    let sold = fixture.paid_order(&ticket_type, 1).id;
    let _ = fixture.service.payment_completed(&fixture.caller, late);
    mails.deliver();
    assert_eq!(mails.kinds(late), [(MailKind::PaymentReturned, SENT)]);
    assert_eq!(mails.kinds(sold), [(MailKind::Tickets, SENT)]);
}

#[test]
fn a_reminder_is_sent_some_minutes_before_the_end_of_the_hold_and_marks_the_order() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let without = fixture.order(&ticket_type, 1).id;
    mails.set(UpdateMailSettings::default().payment_reminder_minutes(10));
    let reminded = fixture.order(&ticket_type, 1).id;
    let paid = fixture.order(&ticket_type, 1).id;
    let marked = fixture.order(&ticket_type, 1).id;
    fixture.service.payment_completed(&fixture.caller, paid).expect("paid");
    fixture.service.mark_checkout_reminder_sent(&fixture.caller, marked).expect("marked");
    fixture.clock.advance(Duration::from_mins(20) - Duration::from_secs(1));
    mails.deliver();
    assert_eq!((mails.kinds(reminded), fixture.read_order(reminded).checkout_reminder_sent), (vec![], false));
    fixture.clock.advance(Duration::from_secs(1));
    mails.deliver();
    assert_eq!(mails.kinds(reminded), [(MailKind::PaymentReminder, SENT)]);
    assert!(fixture.read_order(reminded).checkout_reminder_sent);
    assert_eq!((mails.kinds(without), mails.kinds(marked)), (vec![], vec![]));
    assert_eq!(mails.kinds(paid), [(MailKind::Tickets, SENT)]);
    // The hold is half an hour.
    mails.set(UpdateMailSettings::default().payment_reminder_minutes(15));
    let too_short = fixture.order(&ticket_type, 1).id;
    fixture.clock.advance(Duration::from_mins(20));
    mails.deliver();
    assert_eq!(mails.kinds(too_short), []);
}

#[test]
fn without_a_transport_or_with_mail_off_nothing_is_written() {
    let fixture = Fixture::new();
    fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 100), 1);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM mails"), 0);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM work WHERE kind = 'mail'"), 0);

    let mails = Mails::new();
    let ticket_type = mails.fixture.ticket_type(&mails.fixture.event(), 1250, 100);
    let waits = mails.fixture.paid_order(&ticket_type, 1).id;
    mails.set(UpdateMailSettings::default().mail_enabled(false));
    let off = mails.fixture.paid_order(&ticket_type, 1).id;
    mails.deliver();
    mails.set(UpdateMailSettings::default().mail_enabled(true));
    mails.deliver();
    assert_eq!(mails.kinds(waits), [(MailKind::Tickets, MailState::Dropped)]);
    assert_eq!(mails.kinds(off), []);
    assert_eq!(mails.transport.sent(), []);
}
