//! Functions of `Builder::on_notification`, and other work of the program, for suspended organizations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::*;
use ticketing::error::ResourceKind;
use ticketing::event::{ListEvents, UpdateEvent};
use ticketing::notification::{Notification, NotificationDetails, NotificationTopic};
use ticketing::order::OrderStatus;
use ticketing::organization::CreateApiKey;
use ticketing::{Builder, Error, TicketingService};

/// The mails that a handler has sent.
type Mails = Arc<Mutex<Vec<String>>>;

/// Adds a handler that sends a mail for every order that is completed, if the mail server works.
fn with_mail(builder: Builder, mails: &Mails, mail_server_works: &Arc<AtomicBool>) -> Builder {
    let (mails, works) = (Arc::clone(mails), Arc::clone(mail_server_works));
    builder.handler_threads(false).on_topics("mail", [NotificationTopic::OrderCompleted], move |service, it| {
        let NotificationDetails::OrderCompleted(completed) = &it.details else { return Err("another topic".into()) };
        let caller = service.act_for(it.organization_id)?;
        let order = service.get_order(&caller, completed.order_id)?;
        if !works.load(Ordering::SeqCst) {
            return Err("the mail server is down".into());
        }
        mails.lock().unwrap().push(format!("{} {}", it.attempt, order.items[0].issued_tickets[0].code));
        Ok(())
    })
}

fn fixture_with_mail() -> (Fixture, Mails, Arc<AtomicBool>) {
    let (mails, works) = (Mails::default(), Arc::new(AtomicBool::new(true)));
    let fixture = Fixture::with_gateway(|builder| with_mail(builder, &mails, &works));
    (fixture, mails, works)
}

fn suspend(fixture: &Fixture) {
    fixture.service.suspend_organization(fixture.caller.organization()).unwrap();
}

#[test]
fn the_mail_of_an_order_that_is_paid_during_a_suspension_is_sent() {
    let (fixture, mails, _) = fixture_with_mail();
    let order = fixture.order(fixture.default_ticket_type(), 1);
    suspend(&fixture);
    let order = fixture.service.payment_completed(&fixture.caller, order.id).unwrap();
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 1);
    assert_eq!(*mails.lock().unwrap(), [format!("1 {}", order.items[0].issued_tickets[0].code)]);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM work WHERE kind LIKE 'call %'"), 0);
}

#[test]
fn a_mail_that_failed_before_the_suspension_is_sent_on_its_schedule() {
    let (fixture, mails, mail_server_works) = fixture_with_mail();
    mail_server_works.store(false, Ordering::SeqCst);
    let order = fixture.paid_order(fixture.default_ticket_type(), 1);
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 1);
    suspend(&fixture);
    fixture.clock.advance(Duration::from_mins(1));
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 1, "the second attempt fails");
    mail_server_works.store(true, Ordering::SeqCst);
    fixture.clock.advance(Duration::from_mins(2));
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 1);
    assert_eq!(*mails.lock().unwrap(), [format!("3 {}", order.items[0].issued_tickets[0].code)]);
}

#[test]
fn a_service_that_is_opened_during_the_suspension_sends_the_mail() {
    let (fixture, mails, works) = fixture_with_mail();
    let order = fixture.paid_order(fixture.default_ticket_type(), 1);
    suspend(&fixture);
    let second = fixture.second_service_with(|builder| with_mail(builder, &mails, &works));
    assert_eq!(second.deliver_due_notifications().unwrap(), 1);
    assert_eq!(*mails.lock().unwrap(), [format!("1 {}", order.items[0].issued_tickets[0].code)]);
}

/// What a handler may do for a suspended organization: read, change, create and cancel.
fn change_everything(service: &TicketingService, notification: &Notification) -> Result<(), Error> {
    let caller = service.act_for(notification.organization_id)?;
    let NotificationDetails::OrderCompleted(completed) = &notification.details else { return Ok(()) };
    let order = service.get_order(&caller, completed.order_id)?;
    service.update_event(&caller, order.event_id, UpdateEvent::default().title("Sold once"))?;
    service.list_events(&caller, ListEvents::default().q("sold"))?;
    service.create_order(&caller, new_order(order.event_id, order.items[0].ticket_type_id, 1))?;
    service.cancel_order(&caller, completed.order_id)?;
    Ok(())
}

#[test]
fn a_handler_can_change_the_data_of_a_suspended_organization() {
    let result = Arc::new(Mutex::new(None));
    let fixture = Fixture::with_gateway(|builder| {
        let result = Arc::clone(&result);
        builder.handler_threads(false).on_topics("all", [NotificationTopic::OrderCompleted], move |service, it| {
            *result.lock().unwrap() = Some(change_everything(service, it));
            Ok(())
        })
    });
    let order = fixture.paid_order(fixture.default_ticket_type(), 1);
    suspend(&fixture);
    assert_eq!(fixture.service.deliver_due_notifications().unwrap(), 1);
    assert_eq!(result.lock().unwrap().take(), Some(Ok(())));
    // For everybody else the organization is suspended: nothing that the handler got has changed this.
    assert_eq!(fixture.service.get_order(&fixture.caller, order.id), Err(Error::OrganizationSuspended));
    fixture.service.resume_organization(fixture.caller.organization()).unwrap();
    assert_eq!(fixture.order_status(order.id), OrderStatus::Cancelled);
    assert_eq!(fixture.service.get_event(&fixture.caller, order.event_id).unwrap().title, "Sold once");
}

#[test]
fn a_handle_for_suspended_organizations_does_not_open_them_for_others() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let key = CreateApiKey::new("Box office");
    let key = fixture.service.create_api_key(fixture.caller.organization(), key).unwrap().key;
    suspend(&fixture);
    let own_work = fixture.service.even_if_suspended();
    let exempt = own_work.act_for(fixture.caller.organization()).unwrap();
    assert_eq!(own_work.get_event(&exempt, event.id), Ok(event.clone()));
    own_work.update_event(&exempt, event.id, UpdateEvent::default().title("Renamed")).unwrap();

    let suspended = Err(Error::OrganizationSuspended);
    assert_eq!(own_work.authenticate(key.expose()).map(drop), suspended);
    assert_eq!(own_work.get_event(&fixture.caller, event.id).map(drop), suspended, "a caller from before");
    let upgraded = own_work.downgrade().upgrade().unwrap();
    let caller = upgraded.act_for(fixture.caller.organization()).unwrap();
    assert_eq!(upgraded.get_event(&caller, event.id).unwrap().title, "Renamed", "a handle made of this one");
    let downgraded = fixture.service.downgrade();
    let other_handles = [fixture.service.clone(), downgraded.upgrade().unwrap(), fixture.second_service()];
    for service in other_handles {
        let caller = service.act_for(fixture.caller.organization()).unwrap();
        assert_eq!(service.get_event(&caller, event.id).map(drop), suspended);
        let changes = UpdateEvent::default().title("Refused");
        assert_eq!(service.update_event(&caller, event.id, changes).map(drop), suspended);
        // The exempt caller is the same with every handle, for reads and for changes.
        let changes = UpdateEvent::default().title("Renamed again");
        assert_eq!(service.update_event(&exempt, event.id, changes).unwrap().title, "Renamed again");
    }
    // A handle does not bring back what was deleted.
    let empty = fixture.other_organization();
    fixture.service.delete_organization(empty.organization()).unwrap();
    let missing = Err(Error::NotFound(ResourceKind::Organization));
    assert_eq!(own_work.create_event(&empty, new_event(|_| {})).map(drop), missing);
}
