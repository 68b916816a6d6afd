//! Events: status transitions by request and by the system, defaults, revisions, settings and deletion.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ticketing::environment::Clock;
use ticketing::error::Reason;
use ticketing::event::{
    CreateEvent, DeliveryMethod, Event, EventSettings, EventStatus, ListEvents, TicketPdfDesignVersion, UpdateEvent,
};
use ticketing::event::{
    EventStatus::Cancelled, EventStatus::Drafted, EventStatus::Expired, EventStatus::Published, EventStatus::SoldOut,
};
use ticketing::order::OrderStatus;
use ticketing::organization::CreateOrganization;
use ticketing::payment::ManualMethod;
use ticketing::ticket_type::{ListTicketTypes, TicketTypeStatus};
use ticketing::{Amount, Timestamp};

use crate::common::*;
use ticketing::ticket_type::UpdateTicketType;

fn read(fixture: &Fixture, event: &Event) -> Event {
    fixture.service.get_event(&fixture.caller, event.id).expect("the event")
}

#[test]
fn every_pair_of_statuses_is_allowed_or_refused() {
    let fixture = Fixture::new();
    let allowed = |from, to| match from {
        Drafted => matches!(to, Drafted | Published | Cancelled | Expired),
        Published => true,
        SoldOut => matches!(to, SoldOut | Published | Expired | Cancelled),
        Expired => matches!(to, Expired | Published | Cancelled),
        _ => to == Cancelled,
    };
    for from in EventStatus::ALL {
        for to in EventStatus::ALL {
            let event = fixture.event_with(|new| new.status = Some(*from));
            assert_eq!(event.status, *from);
            let moved = fixture.set_event_status(event.id, *to);
            if allowed(*from, *to) {
                assert_eq!(moved.expect("allowed").status, *to, "{from} to {to}");
                assert_eq!(fixture.event_status(event.id), *to, "{from} to {to}");
            } else {
                assert_eq!(reason(moved), Reason::InvalidTransition, "{from} to {to}");
                assert_eq!(read(&fixture, &event), event, "{from} to {to}");
            }
        }
    }
}

#[test]
fn an_event_returns_to_draft_only_without_live_orders_and_tickets() {
    let fixture = Fixture::new();
    let draft = |event: &Event| fixture.set_event_status(event.id, Drafted);

    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let order = fixture.order(&ticket_type, 1);
    assert_eq!(reason(draft(&event)), Reason::InvalidTransition, "a pending order");
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!(draft(&event).expect("a cancelled order is not live").status, Drafted);

    let event = fixture.event();
    fixture.order(&fixture.ticket_type(&event, 1250, 10), 1);
    fixture.expire_holds();
    assert_eq!(draft(&event).expect("an expired order is not live").status, Drafted);

    let event = fixture.event();
    fixture.paid_order(&fixture.ticket_type(&event, 1250, 10), 1);
    assert_eq!(reason(draft(&event)), Reason::InvalidTransition, "a completed order");

    let event = fixture.event();
    fixture.issue(&fixture.ticket_type(&event, 1250, 10), 1);
    assert_eq!(reason(draft(&event)), Reason::InvalidTransition, "a ticket");
}

#[test]
fn an_expired_event_is_published_again_only_if_its_end_is_in_the_future() {
    let fixture = Fixture::new();
    let event = fixture.event();
    fixture.set_clock(EVENT_END);
    assert_eq!(reason(fixture.set_event_status(event.id, Published)), Reason::InvalidTransition);
    let end_is_now = UpdateEvent::default().status(Published).end_date(at(EVENT_END));
    assert_eq!(reason(fixture.service.update_event(&fixture.caller, event.id, end_is_now)), Reason::InvalidTransition);

    let later = UpdateEvent::default().end_date(at("2026-07-02T00:00:00Z"));
    let moved = fixture.service.update_event(&fixture.caller, event.id, later.clone()).expect("a new end");
    assert_eq!(moved.status, Expired, "a later end does not publish it");
    assert_eq!(fixture.set_event_status(event.id, Published).expect("its end is in the future").status, Published);

    let other = fixture.event();
    assert_eq!(other.status, Expired);
    let both = later.status(Published);
    assert_eq!(fixture.service.update_event(&fixture.caller, other.id, both).expect("both at once").status, Published);
}

#[test]
fn an_event_is_reported_and_listed_as_expired_from_the_instant_of_its_end() {
    let fixture = Fixture::new();
    let with_end = fixture.event();
    let without_end = fixture.event_with(|new| new.end_date = None);
    let sold_out = fixture.event_with(|new| new.status = Some(SoldOut));
    let draft = fixture.event_with(|new| new.status = Some(Drafted));
    let ticket_type = fixture.ticket_type(&with_end, 0, 10);
    let listed = |status| {
        let request = ListEvents::default().status(status);
        let page = fixture.service.list_events(&fixture.caller, request).expect("a page");
        page.data.iter().map(|event| event.id).collect::<Vec<_>>()
    };

    fixture.set_clock("2026-07-01T21:59:59.999Z");
    assert_eq!(listed(Published), [without_end.id, with_end.id]);
    assert_eq!(listed(SoldOut), [sold_out.id]);
    fixture.order(&ticket_type, 1);

    fixture.set_clock(EVENT_END);
    assert_eq!(fixture.event_status(with_end.id), Expired);
    assert_eq!(fixture.event_status(sold_out.id), Expired);
    assert_eq!(fixture.event_status(draft.id), Drafted, "a draft never expires by itself");
    assert_eq!(listed(Expired), [sold_out.id, with_end.id]);
    assert_eq!(listed(Published), [without_end.id]);
    assert!(listed(SoldOut).is_empty());
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::EventNotOnSale);

    // 24 hours after its start.
    fixture.set_clock("2026-07-02T17:59:59.999Z");
    assert_eq!(fixture.event_status(without_end.id), Published);
    fixture.set_clock("2026-07-02T18:00:00Z");
    assert_eq!(fixture.event_status(without_end.id), Expired);
}

#[test]
fn an_event_that_has_ended_is_reported_the_same_before_and_after_maintenance() {
    let fixture = Fixture::new();
    let events = [
        fixture.event(),
        fixture.event_with(|new| new.status = Some(SoldOut)),
        fixture.event_with(|new| new.end_date = None),
        fixture.event_with(|new| new.status = Some(Drafted)),
        // Created after its end, and stored as expired at once.
        fixture.event_with(|new| {
            new.start_date = at("2026-01-01T18:00Z");
            new.end_date = Some(at("2026-01-02T00:00Z"));
        }),
    ];
    fixture.set_clock("2026-08-01T00:00:00Z");
    let before: Vec<_> = events.iter().map(|event| read(&fixture, event)).collect();
    assert_eq!(
        before.iter().map(|event| event.status).collect::<Vec<_>>(),
        [Expired, Expired, Expired, Drafted, Expired]
    );
    assert_eq!(before[0].updated_at, at(EVENT_END), "it changed when it ended");
    assert_eq!(before[0].revision, events[0].revision + 1);
    let report = fixture.service.run_maintenance().expect("a run");
    assert_eq!(report.expired_events, 3);
    let after: Vec<_> = events.iter().map(|event| read(&fixture, event)).collect();
    assert_eq!(before, after);
    assert_eq!(fixture.service.run_maintenance().expect("a run").expired_events, 0);
}

#[test]
fn an_event_created_after_its_end_has_no_change_before_its_creation() {
    let fixture = Fixture::new();
    let past = |new: &mut CreateEvent| {
        new.start_date = at("2026-01-01T18:00Z");
        new.end_date = Some(at("2026-01-02T00:00Z"));
    };
    let event = fixture.event_with(past);
    assert_eq!((event.status, event.created_at, event.updated_at), (Expired, at(NOW), at(NOW)));
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(read(&fixture, &event), event);

    let event = fixture.event();
    fixture.set_clock("2026-06-02T00:00:00Z");
    let ended = UpdateEvent::default().start_date(at("2026-01-01T18:00Z")).end_date(at("2026-01-02T00:00Z"));
    let event = fixture.service.update_event(&fixture.caller, event.id, ended).expect("an end in the past");
    assert_eq!((event.status, event.updated_at), (Expired, at("2026-06-02T00:00:00Z")));
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(read(&fixture, &event), event);
}

#[test]
fn an_event_sells_out_with_the_last_seat_of_its_last_ticket_type() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 2);
    let hidden = fixture.ticket_type_with(&event, |new| {
        new.quantity = 1;
        new.status = Some(TicketTypeStatus::OnlyVisibleToOwner);
    });
    let pending = fixture.order(&ticket_type, 1);
    fixture.paid_order(&ticket_type, 1);
    fixture.issue(&hidden, 1);
    assert_eq!(fixture.event_status(event.id), Published, "one seat is reserved and not sold");
    fixture.service.payment_completed(&fixture.caller, pending.id).expect("paid");
    assert_eq!(fixture.event_status(event.id), SoldOut);
    let sold_out = read(&fixture, &event);
    assert_eq!(sold_out.revision, event.revision + 1, "a transition raises the revision, a sale does not");
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::EventNotOnSale);
}

#[test]
fn a_sold_out_event_stays_so_if_a_ticket_type_gets_another_name() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 1);
    fixture.order(&ticket_type, 1);
    assert_eq!(fixture.event_status(event.id), SoldOut);
    let changes = UpdateTicketType::default().name("Last seat");
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, changes).expect("changed");
    assert_eq!(fixture.event_status(event.id), SoldOut);
}

#[test]
fn a_sold_out_event_is_published_again_when_it_has_unsold_seats() {
    let fixture = Fixture::new();
    let sold_out = || {
        let event = fixture.event();
        let ticket_type = fixture.ticket_type(&event, 1250, 2);
        let order = fixture.paid_order(&ticket_type, 2);
        assert_eq!(fixture.event_status(event.id), SoldOut);
        (event, ticket_type, order)
    };

    let (event, ticket_type, order) = sold_out();
    fixture.service.cancel_ticket(&fixture.caller, order.items[0].issued_tickets[0].id).expect("cancelled");
    assert_eq!(fixture.event_status(event.id), Published, "a cancelled ticket");
    fixture.issue(&ticket_type, 1);
    assert_eq!(fixture.event_status(event.id), SoldOut, "and sold again");

    let (event, _, order) = sold_out();
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!(fixture.event_status(event.id), Published, "a cancelled order");

    let (event, ticket_type, _) = sold_out();
    fixture.set_quantity(ticket_type.id, 3).expect("a quantity");
    assert_eq!(fixture.event_status(event.id), Published, "a quantity raised");

    let (event, ..) = sold_out();
    fixture.ticket_type(&event, 0, 1);
    assert_eq!(fixture.event_status(event.id), Published, "a type added");
}

#[test]
fn lowering_a_quantity_or_deleting_a_type_changes_no_event_status() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 2);
    fixture.issue(&ticket_type, 1);
    fixture.set_quantity(ticket_type.id, 1).expect("a quantity");
    assert_eq!(fixture.event_status(event.id), Published, "lowered to what is sold");

    let event = fixture.event();
    fixture.issue(&fixture.ticket_type(&event, 0, 1), 1);
    let spare = fixture.ticket_type(&event, 0, 5);
    assert_eq!(fixture.event_status(event.id), Published, "reopened by the new type");
    fixture.service.delete_ticket_type(&fixture.caller, spare.id).expect("unused");
    assert_eq!(fixture.event_status(event.id), Published, "deleted");
}

#[test]
fn an_event_marked_sold_out_by_hand_is_not_reopened_by_a_cancellation() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 5);
    let order = fixture.paid_order(&ticket_type, 2);
    fixture.set_event_status(event.id, SoldOut).expect("a manual change");
    fixture.service.cancel_ticket(&fixture.caller, order.items[0].issued_tickets[0].id).expect("cancelled");
    assert_eq!(fixture.event_status(event.id), SoldOut);
    fixture.set_quantity(ticket_type.id, 6).expect("a quantity");
    fixture.ticket_type(&event, 1250, 5);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!(fixture.event_status(event.id), SoldOut);
    assert_eq!(fixture.set_event_status(event.id, Published).expect("a manual change").status, Published);
}

#[test]
fn sales_do_not_change_the_status_of_drafts_and_cancelled_events() {
    let fixture = Fixture::new();
    let draft = fixture.event_with(|new| new.status = Some(Drafted));
    let ticket = fixture.issue(&fixture.ticket_type(&draft, 0, 1), 1).remove(0);
    assert_eq!(fixture.event_status(draft.id), Drafted);
    fixture.service.cancel_ticket(&fixture.caller, ticket.id).expect("cancelled");
    assert_eq!(fixture.event_status(draft.id), Drafted);

    let event = fixture.event();
    let ticket = fixture.issue(&fixture.ticket_type(&event, 0, 1), 1).remove(0);
    assert_eq!(fixture.event_status(event.id), SoldOut);
    fixture.set_event_status(event.id, Cancelled).expect("cancelled");
    fixture.service.cancel_ticket(&fixture.caller, ticket.id).expect("cancelled");
    assert_eq!(fixture.event_status(event.id), Cancelled);
}

#[test]
fn selling_the_last_seat_after_the_end_changes_no_event() {
    let sold_after_the_end = |maintained: bool| {
        let fixture = Fixture::new();
        let event = fixture.event();
        let ticket_type = fixture.ticket_type(&event, 1250, 1);
        let order = fixture.order(&ticket_type, 1);
        fixture.set_clock(EVENT_END);
        if maintained {
            fixture.service.run_maintenance().expect("a run");
        }
        fixture
            .service
            .mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash)
            .expect("only a cancelled event refuses");
        let after = read(&fixture, &event);
        assert_eq!((after.status, after.updated_at, after.revision), (Expired, at(EVENT_END), event.revision + 1));
        fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
        assert_eq!(read(&fixture, &event), after);
    };
    sold_after_the_end(false);
    sold_after_the_end(true);
}

#[test]
fn cancelling_an_event_cancels_its_pending_orders_only() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let expired = fixture.order(&ticket_type, 1);
    fixture.expire_holds();
    let pending = fixture.order(&ticket_type, 3);
    let completed = fixture.paid_order(&ticket_type, 2);
    let other_order = fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 10), 1);
    fixture.set_event_status(event.id, Cancelled).expect("cancelled");
    assert_eq!(fixture.order_status(pending.id), OrderStatus::Cancelled);
    assert_eq!(fixture.order_status(completed.id), OrderStatus::Completed);
    assert_eq!(fixture.order_status(expired.id), OrderStatus::Expired, "it was no longer pending");
    assert_eq!(fixture.order_status(other_order.id), OrderStatus::Pending);
    assert_eq!(fixture.sold(&ticket_type), 2);
    assert_eq!(fixture.stored("SELECT SUM(held) FROM ticket_types"), 1, "the seat reserved at the other event");
    assert!(fixture.gateway.refunds().is_empty(), "refunds are the organizer's decision");
}

#[test]
fn omitted_fields_of_an_event_have_defaults() {
    let fixture = Fixture::new();
    let event = CreateEvent::new("Bare", "bare", at(EVENT_START));
    let event = fixture.service.create_event(&fixture.caller, event).expect("an event");
    let expected = from_json::<Event>(json!({
        "id": event.id,
        "title": "Bare",
        "description": null,
        "location": null,
        "locationMetadata": null,
        "currency": "EUR",
        "timezone": "UTC",
        "startDate": at(EVENT_START),
        "startTime": "18:00",
        "endDate": null,
        "endTime": null,
        "dayStartsAt": null,
        "coverImage": null,
        "status": Drafted,
        "organizerId": fixture.caller.organization(),
        "slug": "bare",
        "tags": [],
        "isFeatured": false,
        "pageViews": 0,
        "isPublic": true,
        "trackingPixels": null,
        "deliveryMethod": DeliveryMethod::Digital,
        "shippingCountries": [],
        "acceptsCompany": false,
        "reference": null,
        "metadata": {},
        "disableOrganizerOrderNotifications": false,
        "ticketPdfDesignVersion": TicketPdfDesignVersion::V1,
        "pageUrl": null,
        "createdAt": at(NOW),
        "updatedAt": at(NOW),
        "revision": event.revision
    }));
    assert_eq!(event, expected);
    assert_eq!(read(&fixture, &event), expected);
}

#[test]
fn currency_and_time_zone_default_to_those_of_the_organization() {
    let fixture = Fixture::new();
    let organization = CreateOrganization::new("Tokyo Nights").currency("JPY").timezone("Asia/Tokyo");
    let organization = fixture.service.create_organization(organization).expect("an organization");
    let caller = fixture.service.act_for(organization.id).expect("the organization exists");
    let event = fixture.service.create_event(&caller, new_event(|_| {})).expect("an event");
    assert_eq!((event.currency.as_str(), event.timezone.as_str()), ("JPY", "Asia/Tokyo"));
    assert_eq!(event.start_time.as_deref(), Some("03:00"));
    let own = new_event(|new| {
        new.currency = Some("USD".to_owned());
        new.timezone = Some("UTC".to_owned());
    });
    let event = fixture.service.create_event(&caller, own).expect("an event");
    assert_eq!((event.currency.as_str(), event.timezone.as_str()), ("USD", "UTC"));
}

#[test]
fn the_currency_can_change_until_something_has_an_amount() {
    let fixture = Fixture::new();
    let change = |event: &Event, currency: &str| {
        let changes = UpdateEvent::default().currency(currency);
        fixture.service.update_event(&fixture.caller, event.id, changes)
    };
    let event = fixture.event();
    let free = fixture.ticket_type(&event, 0, 10);
    fixture.issue(&free, 1);
    assert_eq!(change(&event, "JPY").expect("no amount yet").currency, "JPY");
    fixture.order(&free, 1);
    assert_eq!(reason(change(&event, "EUR")), Reason::InUse, "an order");
    assert_eq!(change(&event, "JPY").expect("no change").currency, "JPY");

    let event = fixture.event();
    let priced = fixture.ticket_type(&event, 1, 10);
    assert_eq!(reason(change(&event, "JPY")), Reason::InUse, "a price");
    fixture.service.delete_ticket_type(&fixture.caller, priced.id).expect("unused");
    assert_eq!(change(&event, "JPY").expect("the price is gone").currency, "JPY");
    let yen = fixture.ticket_type_with(&event, |new| new.price = Amount::whole(1500));
    assert_eq!(yen.price.to_string(), "1500");
}

#[test]
fn start_and_end_time_are_local_times_in_the_events_time_zone() {
    let fixture = Fixture::new();
    for (zone, start, end, start_time, end_time) in [
        ("UTC", "2026-07-01T18:00:00Z", "2026-07-01T22:30:00Z", "18:00", "22:30"),
        // Summer time (UTC+2) until 2026-10-25T01:00Z, then winter time (UTC+1).
        ("Europe/Berlin", "2026-10-25T00:59:59Z", "2026-10-25T01:00:00Z", "02:59", "02:00"),
        // From UTC+1 to UTC+2 at 2026-03-29T01:00Z.
        ("Europe/Berlin", "2026-03-29T00:59:00Z", "2026-03-29T01:00:00Z", "01:59", "03:00"),
        ("Asia/Kolkata", "2026-07-01T18:31:00Z", "2026-07-01T20:00:00Z", "00:01", "01:30"),
        ("America/New_York", "2026-01-01T03:00:00Z", "2026-07-01T03:00:00Z", "22:00", "23:00"),
    ] {
        let event = fixture.event_with(|new| {
            new.timezone = Some(zone.to_owned());
            new.start_date = at(start);
            new.end_date = Some(at(end));
        });
        let times = (event.start_time.as_deref(), event.end_time.as_deref());
        assert_eq!(times, (Some(start_time), Some(end_time)), "{zone} {start}");
    }
}

#[test]
fn a_slug_is_unique_within_its_organization() {
    let fixture = Fixture::new();
    let first = fixture.event();
    let same = || new_event(|new| new.slug.clone_from(&first.slug));
    assert_eq!(reason(fixture.service.create_event(&fixture.caller, same())), Reason::SlugTaken);
    let second = fixture.event();
    let rename = |slug: &str| UpdateEvent::default().slug(slug);
    let renamed = fixture.service.update_event(&fixture.caller, second.id, rename(&first.slug));
    assert_eq!(reason(renamed), Reason::SlugTaken);
    assert_eq!(read(&fixture, &second), second);
    fixture.service.update_event(&fixture.caller, first.id, rename(&first.slug)).expect("its own slug");
    fixture.service.create_event(&fixture.other_organization(), same()).expect("another organization's");
    fixture.service.delete_event(&fixture.caller, first.id).expect("unused");
    fixture.service.create_event(&fixture.caller, same()).expect("the slug is free again");
}

#[test]
fn an_event_is_deleted_with_its_types_unless_it_has_orders_or_tickets() {
    let fixture = Fixture::new();
    let delete = |event: &Event| fixture.service.delete_event(&fixture.caller, event.id);

    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    delete(&event).expect("unused");
    assert_not_found(fixture.service.get_event(&fixture.caller, event.id));
    assert_not_found(fixture.service.get_ticket_type(&fixture.caller, ticket_type.id));
    assert_not_found(fixture.service.list_ticket_types(&fixture.caller, event.id, ListTicketTypes::default()));
    assert_not_found(delete(&event));

    let event = fixture.event();
    let order = fixture.order(&fixture.ticket_type(&event, 1250, 10), 1);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!(reason(delete(&event)), Reason::InUse, "a cancelled order is an order");

    let event = fixture.event();
    let ticket = fixture.issue(&fixture.ticket_type(&event, 1250, 10), 1).remove(0);
    fixture.service.cancel_ticket(&fixture.caller, ticket.id).expect("cancelled");
    assert_eq!(reason(delete(&event)), Reason::InUse, "a cancelled ticket is a ticket");
}

#[test]
fn only_updates_raise_the_revision() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    fixture.clock.advance(Duration::from_secs(1));
    fixture.service.record_page_view(&fixture.caller, event.id).expect("a view");
    fixture.service.run_maintenance().expect("a run");
    fixture.paid_order(&ticket_type, 1);
    let seen = read(&fixture, &event);
    assert_eq!(seen, with!(event.clone(), page_views = 1));
    let sold = fixture.service.get_ticket_type(&fixture.caller, ticket_type.id).expect("the type");
    assert_eq!(sold, with!(ticket_type.clone(), sold = 1, available = 9));

    let title = UpdateEvent::default().title("Winter Night");
    let updated = fixture.service.update_event(&fixture.caller, event.id, title).expect("a title");
    assert_eq!(updated.revision, event.revision + 1);
    assert_eq!(updated.updated_at, at("2026-06-01T12:00:01Z"));
    let settings = EventSettings::default().is_featured(true);
    let updated = fixture.service.update_event_settings(&fixture.caller, event.id, settings).expect("settings");
    assert_eq!(updated.revision, event.revision + 2);
    fixture.set_quantity(ticket_type.id, 11).expect("a quantity");
    let raised = fixture.service.get_ticket_type(&fixture.caller, ticket_type.id).expect("the type");
    assert_eq!((raised.revision, raised.updated_at), (ticket_type.revision + 1, at("2026-06-01T12:00:01Z")));
}

#[test]
fn settings_change_only_the_fields_that_are_set() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let metadata = serde_json::json!({"hall": 3, "seats": [1, 2.5, null], "": true});
    let settings = EventSettings::default()
        .tags(["jazz", "open air"])
        .is_featured(true)
        .location_metadata(metadata.clone())
        .tracking_pixels(serde_json::json!("pixel"))
        .disable_organizer_order_notifications(true)
        .day_starts_at("06:00");
    fixture.service.update_event_settings(&fixture.caller, event.id, settings).expect("settings");
    let tags_only = EventSettings::default().tags(Vec::<String>::new());
    let updated = fixture.service.update_event_settings(&fixture.caller, event.id, tags_only).expect("settings");
    let expected = with!(
        event,
        tags = Vec::new(),
        is_featured = true,
        location_metadata = metadata,
        tracking_pixels = serde_json::json!("pixel"),
        disable_organizer_order_notifications = true,
        day_starts_at = Some("06:00".to_owned()),
        revision = event.revision + 2
    );
    assert_eq!(updated, expected);
}

/// Creates an event with 2,500 discounts, which are deleted in three batches.
fn event_with_many_discounts(fixture: &Fixture) -> Event {
    let event = fixture.event();
    fixture.ticket_type(&event, 1250, 10);
    fixture.discount(percent_off(&event, "ONE", 10));
    fixture.database().run(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2499)
        INSERT INTO discounts (id, organization_id, event_id, code, code_key, type, value, value_decimals, auto_apply,
            valid_from, valid_to, is_active, applicable_ticket_types, created_at, updated_at)
        SELECT d.id + n.i, organization_id, event_id, 'C' || n.i, 'c' || n.i, type, value, value_decimals, auto_apply,
            valid_from, valid_to, is_active, applicable_ticket_types, created_at, updated_at FROM n, discounts d",
    );
    event
}

#[test]
fn an_event_with_many_discounts_is_deleted_in_batches_and_is_a_draft_meanwhile() {
    let fixture = Fixture::new();
    let event = event_with_many_discounts(&fixture);
    let database = fixture.database();
    database.refuse("crash", "BEFORE DELETE ON events", "TRUE");
    let delete = |revision| fixture.service.delete_event(fixture.caller.if_revision(revision), event.id);
    let discounts = || fixture.stored("SELECT COUNT(*) FROM discounts");
    assert_eq!(delete(7), Err(ticketing::Error::RevisionMismatch(1)));
    assert_eq!((discounts(), fixture.event_status(event.id)), (2500, EventStatus::Published));
    // The last transaction fails.
    delete(1).expect_err("the event is not deleted");
    assert_eq!((discounts(), fixture.event_status(event.id)), (500, EventStatus::Drafted));
    database.end_trigger("crash");
    delete(2).expect("deleted");
    assert_eq!((discounts(), fixture.stored("SELECT COUNT(*) FROM ticket_types")), (0, 0));
    assert_not_found(fixture.service.get_event(&fixture.caller, event.id));
}

/// A clock that runs a function when the time is read, until the function returns `true`.
#[derive(Clone)]
struct InterruptingClock(Arc<Mutex<Option<Interruption>>>);

type Interruption = Box<dyn FnMut() -> bool + Send>;

impl InterruptingClock {
    fn new(interruption: impl FnMut() -> bool + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(interruption)))))
    }

    fn is_done(&self) -> bool {
        self.0.lock().unwrap().is_none()
    }
}

impl std::fmt::Debug for InterruptingClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InterruptingClock")
    }
}

impl Clock for InterruptingClock {
    fn now(&self) -> Timestamp {
        at(NOW)
    }

    fn monotonic(&self) -> Duration {
        let mut interruption = self.0.lock().unwrap();
        if interruption.as_mut().is_some_and(|interrupt| interrupt()) {
            *interruption = None;
        }
        Duration::ZERO
    }
}

#[test]
fn an_event_that_another_process_deletes_between_two_batches_is_deleted_without_an_error() {
    let fixture = Fixture::new();
    let event = event_with_many_discounts(&fixture);
    let (other, caller) = (fixture.second_service(), fixture.caller.clone());
    // The writer reads the clock after each commit.
    let clock = InterruptingClock::new(move || {
        let is_between = other.get_event(&caller, event.id).expect("the event").status == Drafted;
        if is_between {
            other.delete_event(&caller, event.id).expect("deleted");
        }
        is_between
    });
    let service = fixture.second_service_with(|builder| builder.clock(clock.clone()));
    service.delete_event(&fixture.caller, event.id).expect("deleted");
    assert!(clock.is_done());
    assert_not_found(fixture.service.get_event(&fixture.caller, event.id));
}
