//! The operations: lists, resends, previews and settings.

use std::time::Duration;

use ticketing::Error;
use ticketing::error::{Reason, ResourceKind};
use ticketing::mail::{ListMails, MailKind, MailState, PreviewMail, ResendTickets, UpdateMailSettings};
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::organization::Scope;
use ticketing::payment::ManualMethod;

use super::tools::*;
use crate::common::*;

#[test]
fn tickets_are_sent_again_five_times_a_day_also_to_another_address() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let (service, caller) = (&fixture.service, &fixture.caller);
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let order = fixture.paid_order(&ticket_type, 1).id;
    let resend = |request: ResendTickets| service.resend_tickets(caller, order, request);
    assert_eq!(resend(ResendTickets::default()).expect("sent").recipient, "ada@example.com");
    for number in 0..4 {
        let to = format!("ada-{number}@example.org");
        assert_eq!(resend(ResendTickets::default().to(to.clone())).expect("sent").recipient, to);
    }
    assert_eq!(resend(ResendTickets::default()).unwrap_err().reason(), Some(Reason::LimitReached));
    fixture.clock.advance(Duration::from_hours(24));
    assert!(resend(ResendTickets::default()).is_ok());
    mails.deliver();
    let of_order = mails.of_order(order);
    assert_eq!(of_order.len(), 7);
    assert!(of_order.iter().all(|mail| (mail.kind, mail.state) == (MailKind::Tickets, MailState::Sent)));
    // The customer keeps the address.
    assert_eq!(fixture.read_order(order).customer.email, "ada@example.com");
    let bad = resend(ResendTickets::default().to("nobody@x.invalid")).unwrap_err();
    assert_eq!(bad.fields()[0].path, "to");
}

#[test]
fn a_repeated_request_sends_nothing_a_second_time() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let order = fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 100), 1).id;
    let caller = fixture.caller_with_key("once");
    let first = fixture.service.resend_tickets(&caller, order, ResendTickets::default()).expect("sent");
    let second = fixture.service.resend_tickets(&caller, order, ResendTickets::default()).expect("sent");
    assert_eq!((first.value.id, second.replayed), (second.value.id, true));
    assert_eq!(mails.of_order(order).len(), 2);
}

#[test]
fn only_completed_orders_are_sent_again_and_a_walk_in_needs_an_address() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let resend = |order| service.resend_tickets(caller, order, ResendTickets::default());
    let pending = fixture.order(&ticket_type, 1).id;
    assert_eq!(resend(pending).unwrap_err().reason(), Some(Reason::OrderNotCompleted));
    let sale = CreateOrder::new(event.id, NewCustomer::walk_in("Walk-in"), ticket_type.id, 1);
    let walk_in = service.create_order(caller, sale.paid(ManualMethod::Cash)).expect("sold").order;
    assert_eq!(resend(walk_in.id).unwrap_err().fields()[0].path, "to");
    let to = ResendTickets::default().to("ada@example.org");
    assert!(service.resend_tickets(caller, walk_in.id, to.clone()).is_ok());
    let ticket = walk_in.items[0].issued_tickets[0].id;
    assert_eq!(service.resend_ticket(caller, ticket, to.clone()).expect("sent").ticket_ids, [ticket]);
    service.cancel_ticket(caller, ticket).expect("cancelled");
    assert_eq!(service.resend_ticket(caller, ticket, to).unwrap_err().reason(), Some(Reason::TicketCancelled));
    mails.set(UpdateMailSettings::default().mail_enabled(false));
    assert_eq!(resend(walk_in.id).unwrap_err().reason(), Some(Reason::MailDisabled));
}

#[test]
fn a_mail_is_previewed_if_an_order_in_this_state_has_one() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let pending = fixture.order(&ticket_type, 1).id;
    let paid = fixture.paid_order(&ticket_type, 1).id;
    let preview = |order, kind| {
        let request = PreviewMail::default().kind(kind);
        fixture.service.preview_mail(&fixture.caller, order, request)
    };
    for kind in MailKind::ALL {
        let reminds = *kind == MailKind::PaymentReminder;
        let shown = preview(paid, *kind).map(|_| ()).map_err(|error| error.reason());
        assert_eq!(shown, if reminds { Err(Some(Reason::OrderNotPending)) } else { Ok(()) }, "{kind}");
        let shown = preview(pending, *kind).map(|_| ()).map_err(|error| error.reason());
        assert_eq!(shown, if reminds { Ok(()) } else { Err(Some(Reason::OrderNotCompleted)) }, "{kind}");
    }
    let before = fixture.all_rows();
    let tickets = preview(paid, MailKind::Tickets).expect("a preview");
    assert_eq!(fixture.all_rows(), before);
    let code = fixture.read_order(paid).items[0].issued_tickets[0].code.clone();
    let letters: Vec<_> = code.as_bytes().chunks(5).map(|part| std::str::from_utf8(part).expect("ASCII")).collect();
    assert!(tickets.text.contains(&letters.join(" ")), "{}", tickets.text);
    assert!(tickets.html.contains("src=\"cid:code-1\"") && !tickets.html.contains("data:"));
    assert!(!preview(paid, MailKind::OrganizerOrder).expect("a preview").text.contains(&letters.join(" ")));
}

#[test]
fn mails_need_their_scopes_and_those_of_others_do_not_exist() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let service = &fixture.service;
    let order = fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 100), 1);
    let ticket = order.items[0].issued_tickets[0].id;
    let all = [Scope::MailRead, Scope::MailWrite, Scope::OrdersRead, Scope::TicketsRead];
    for missing in all {
        let caller = fixture.caller.with_scopes(all.into_iter().filter(|scope| *scope != missing));
        let resend = service.resend_tickets(&caller, order.id, ResendTickets::default()).map(drop);
        let one = service.resend_ticket(&caller, ticket, ResendTickets::default()).map(drop);
        let preview = service.preview_mail(&caller, order.id, PreviewMail::default()).map(drop);
        let list = service.list_mails(&caller, ListMails::new()).map(drop);
        let settings = service.get_mail_settings(&caller).map(drop);
        let update = service.update_mail_settings(&caller, UpdateMailSettings::default()).map(drop);
        let forbidden = |is: bool| if is { Err(Error::Forbidden(missing)) } else { Ok(()) };
        assert_eq!([resend, one], [forbidden(missing != Scope::MailRead), forbidden(missing != Scope::MailRead)]);
        assert_eq!(preview, forbidden(missing != Scope::MailWrite));
        assert_eq!([list, settings], [forbidden(missing == Scope::MailRead), forbidden(missing == Scope::MailRead)]);
        assert_eq!(update, forbidden(missing == Scope::MailWrite));
    }
    let other = fixture.other_organization();
    let not_found = |kind| Err(Error::NotFound(kind));
    let resend = service.resend_tickets(&other, order.id, ResendTickets::default()).map(drop);
    assert_eq!(resend, not_found(ResourceKind::Order));
    let one = service.resend_ticket(&other, ticket, ResendTickets::default()).map(drop);
    assert_eq!(one, not_found(ResourceKind::Ticket));
    let preview = service.preview_mail(&other, order.id, PreviewMail::default()).map(drop);
    assert_eq!(preview, not_found(ResourceKind::Order));
    assert_eq!(service.list_mails(&other, ListMails::new().order(order.id)).expect("a list").data, []);
    let mail = mails.of_order(order.id)[0].id;
    let mut request = ListMails::new();
    request.page.cursor = Some(mail);
    assert_eq!(service.list_mails(&other, request).unwrap_err().fields()[0].path, "cursor");
}

#[test]
fn a_list_is_filtered_by_kind_and_state() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let sent = fixture.paid_order(&ticket_type, 1).id;
    mails.deliver();
    fixture.refund_amount(sent, eur(250)).expect("refunded");
    let list = |request: ListMails| {
        let page = fixture.service.list_mails(&fixture.caller, request).expect("a list");
        page.data.into_iter().map(|mail| mail.kind).collect::<Vec<_>>()
    };
    assert_eq!(list(ListMails::new().state(MailState::Sent)), [MailKind::Tickets]);
    assert_eq!(list(ListMails::new().state(MailState::Waiting)), [MailKind::Refund]);
    assert_eq!(list(ListMails::new().kind(MailKind::Refund)), [MailKind::Refund]);
    assert_eq!(list(ListMails::new().order(sent).kind(MailKind::Tickets)), [MailKind::Tickets]);
    assert_eq!(list(ListMails::new()), [MailKind::Refund, MailKind::Tickets]);
}

#[test]
fn settings_have_limits_and_a_revision() {
    let mails = Mails::new();
    let (service, caller) = (&mails.fixture.service, &mails.fixture.caller);
    let before = service.get_mail_settings(caller).expect("the settings");
    assert_eq!((before.mail_enabled, before.sender_name.clone(), before.revision), (true, None, 1));
    let problems = |request: UpdateMailSettings| {
        let refused = service.update_mail_settings(caller, request).unwrap_err();
        refused.fields().iter().map(|field| field.path.clone()).collect::<Vec<_>>()
    };
    for (request, path) in [
        (UpdateMailSettings::default().sender_name("Jazz\r\nBcc: x@example.com"), "senderName"),
        (UpdateMailSettings::default().sender_name(""), "senderName"),
        (UpdateMailSettings::default().reply_to("nobody"), "replyTo"),
        (UpdateMailSettings::default().notify_address("a@b\r\nBcc: c"), "notifyAddress"),
        (UpdateMailSettings::default().mail_intro("x".repeat(2001)), "mailIntro"),
        (UpdateMailSettings::default().mail_footer("x".repeat(1001)), "mailFooter"),
        (UpdateMailSettings::default().payment_reminder_minutes(4), "paymentReminderMinutes"),
        (UpdateMailSettings::default().payment_reminder_minutes(1441), "paymentReminderMinutes"),
    ] {
        assert_eq!(problems(request), [path]);
    }
    let request = UpdateMailSettings::default().mail_intro("Hello\nworld").payment_reminder_minutes(5);
    let updated = service.update_mail_settings(caller.if_revision(1), request.clone()).expect("changed");
    assert_eq!((updated.mail_intro.as_deref(), updated.revision), (Some("Hello\nworld"), 2));
    let refused = service.update_mail_settings(caller.if_revision(1), request);
    assert!(matches!(refused, Err(Error::RevisionMismatch { .. })));
}

#[test]
fn requests_are_written_as_they_were_read() {
    let settings = serde_json::json!({"mailEnabled": false, "senderName": null, "paymentReminderMinutes": 10});
    let read: UpdateMailSettings = serde_json::from_value(settings.clone()).expect("a request");
    assert_eq!(serde_json::to_value(read).expect("JSON"), settings);
    let to = serde_json::json!({"to": "ada@example.org"});
    let read: ResendTickets = serde_json::from_value(to.clone()).expect("a request");
    assert_eq!((serde_json::to_value(&read).expect("JSON"), read.to.as_deref()), (to, Some("ada@example.org")));
    let list = serde_json::json!({"kind": "TICKETS", "state": "FAILED"});
    let read: ListMails = serde_json::from_value(list.clone()).expect("a request");
    assert_eq!(serde_json::to_value(read).expect("JSON"), list);
}

#[test]
fn a_service_without_mails_says_so() {
    let fixture = Fixture::new();
    let order = fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 100), 1).id;
    let (service, caller) = (&fixture.service, &fixture.caller);
    for refused in [
        service.list_mails(caller, ListMails::new()).map(drop),
        service.get_mail_settings(caller).map(drop),
        service.update_mail_settings(caller, UpdateMailSettings::default()).map(drop),
        service.resend_tickets(caller, order, ResendTickets::default()).map(drop),
        service.preview_mail(caller, order, PreviewMail::default()).map(drop),
    ] {
        assert_eq!(refused.unwrap_err().reason(), Some(Reason::MailDisabled));
    }
}
