//! Amounts are printed with the decimals of their currency, whatever way they come to the program. They are compared by
//! value, so these tests compare texts.

use std::sync::mpsc::channel;

use ticketing::discount::{BasketItem, DiscountValue, ValidateDiscount};
use ticketing::event::CreateEvent;
use ticketing::notification::{Notification, NotificationDetails, NotificationTopic};
use ticketing::order::{CreateOrder, ListOrders, Order};
use ticketing::payment::ListRefunds;
use ticketing::payment::ManualMethod;
use ticketing::ticket_type::{CreateTicketType, TicketType, UpdateTicketType};
use ticketing::webhook::{EventType, NotificationData, WebhookNotification};
use ticketing::{Amount, Builder};

use crate::common::outbox;
use crate::common::webhooks::TIMEOUT;
use crate::common::*;

/// Currencies, and the texts of the amounts 20 and 40 in them.
const CURRENCIES: [(&str, &str, &str); 3] =
    [("EUR", "20.00", "40.00"), ("JPY", "20", "40"), ("KWD", "20.000", "40.000")];

/// A ticket type that costs 20 in this currency. The price is given without decimals.
fn ticket_type_at_20(fixture: &Fixture, currency: &str) -> TicketType {
    let event = fixture.event_with(|new| new.currency = Some(currency.to_owned()));
    fixture.ticket_type_with(&event, |new| new.price = Amount::whole(20))
}

fn two_tickets(ticket_type: &TicketType) -> CreateOrder {
    new_order(ticket_type.event_id, ticket_type.id, 2)
}

/// The texts of the amounts of an order of one item.
fn texts(order: &Order) -> [String; 5] {
    let item = &order.items[0];
    [order.total, item.price, item.item_subtotal, item.item_discount, item.final_amount].map(|it| it.to_string())
}

fn text_of_value(value: DiscountValue) -> String {
    let DiscountValue::FixedAmount(amount) = value else { panic!("{value:?}") };
    amount.to_string()
}

/// The text of zero in the currency in which this is the text of 20.
fn zero(twenty: &str) -> String {
    twenty.replacen("20", "0", 1)
}

/// The text of the amount of a notification.
fn amount_of(notification: &Notification) -> Option<String> {
    match &notification.details {
        NotificationDetails::OrderCreated(order) => Some(order.total.to_string()),
        NotificationDetails::OrderCompleted(order) => Some(order.total.to_string()),
        NotificationDetails::RefundDue(refund) | NotificationDetails::RefundRefused(refund) => {
            Some(refund.amount.to_string())
        }
        _ => None,
    }
}

#[test]
fn in_orders_lists_summaries_and_refunds() {
    let fixture = Fixture::new();
    let (service, caller) = (&fixture.service, &fixture.caller);
    for (currency, twenty, forty) in CURRENCIES {
        let ticket_type = ticket_type_at_20(&fixture, currency);
        assert_eq!(ticket_type.price.to_string(), twenty);
        let changed = UpdateTicketType::default().price(Amount::whole(20));
        assert_eq!(service.update_ticket_type(caller, ticket_type.id, changed).unwrap().price.to_string(), twenty);

        let expected = [forty.to_owned(), twenty.to_owned(), forty.to_owned(), zero(twenty), forty.to_owned()];
        let created = service.create_order(caller, two_tickets(&ticket_type)).unwrap().order;
        assert_eq!(texts(&created), expected);
        assert_eq!(texts(&service.payment_completed(caller, created.id).unwrap()), expected);
        assert_eq!(texts(&service.get_order(caller, created.id).unwrap()), expected);
        let listed = service.list_orders(caller, ListOrders::default().event(ticket_type.event_id)).unwrap().data;
        assert_eq!(listed[0].total.to_string(), forty);
        assert_eq!(listed[0].items[0].price.to_string(), twenty);

        service.cancel_order(caller, created.id).unwrap();
        let of_event = ListRefunds::default().event(ticket_type.event_id);
        let refund = service.list_refunds(caller, of_event).unwrap().data.remove(0);
        assert_eq!((refund.order_id, refund.amount.to_string().as_str()), (created.id, forty));
        let summary = service.get_event_summary(caller, ticket_type.event_id).unwrap();
        assert_eq!(summary.gross_revenue.to_string(), forty);
        assert_eq!(summary.refunded_total.to_string(), forty);
        assert_eq!(summary.discount_total.to_string(), zero(twenty));
        assert_eq!(summary.manual_payment_total.to_string(), zero(twenty));
        assert_eq!(summary.manual_refund_total.to_string(), zero(twenty));
        assert_eq!(summary.ticket_types[0].revenue.to_string(), forty);
    }
}

#[test]
fn in_the_repeated_results_of_operations_with_an_idempotency_key() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    for (currency, twenty, forty) in CURRENCIES {
        let key = |operation: &str| fixture.caller_with_key(&format!("{currency}-{operation}"));
        let expected = [forty.to_owned(), twenty.to_owned(), forty.to_owned(), zero(twenty), forty.to_owned()];
        let event = fixture.event_with(|new: &mut CreateEvent| new.currency = Some(currency.to_owned()));
        let mut ticket_type = None;
        for replayed in [false, true] {
            let new = CreateTicketType::new("Seat", Amount::whole(20), 100);
            let result = service.create_ticket_type(&key("type"), event.id, new).unwrap();
            assert_eq!((result.replayed, result.value.price.to_string().as_str()), (replayed, twenty));
            ticket_type = Some(result.value);
        }
        let ticket_type = ticket_type.expect("created");

        let mut discount = amount_off(&event, "EARLY", Amount::whole(20));
        discount.minimum_purchase = Some(Amount::whole(40));
        for replayed in [false, true] {
            let result = service.create_discount(&key("discount"), discount.clone()).unwrap();
            assert_eq!(result.replayed, replayed);
            assert_eq!(text_of_value(result.value.value), twenty);
            assert_eq!(result.value.minimum_purchase.map(|least| least.to_string()).as_deref(), Some(forty));
        }
        for (quantity, replayed) in [(2, false), (2, true)] {
            let basket = BasketItem::new(ticket_type.id, quantity, Amount::whole(20));
            let request = ValidateDiscount::new(event.id, "EARLY", [basket]);
            let result = service.validate_discount(&key("valid"), request).unwrap();
            let applied = result.value.discount.expect("applies");
            assert_eq!((result.replayed, applied.discounted_amount.to_string().as_str()), (replayed, twenty));
            assert_eq!(text_of_value(applied.value), twenty);
        }
        for replayed in [false, true] {
            let basket = BasketItem::new(ticket_type.id, 1, Amount::whole(20));
            let request = ValidateDiscount::new(event.id, "EARLY", [basket]);
            let result = service.validate_discount(&key("refused"), request).unwrap();
            let least = result.value.error_data.expect("too small a basket").amount;
            assert_eq!((result.replayed, least.to_string().as_str()), (replayed, forty));
        }

        let mut id = None;
        for replayed in [false, true] {
            let result = service.create_order(&key("order"), two_tickets(&ticket_type)).unwrap();
            assert_eq!((result.replayed, texts(&result.value.order)), (replayed, expected.clone()));
            id = Some(result.value.order.id);
        }
        let id = id.expect("created");
        for replayed in [false, true] {
            let result = service.mark_checkout_reminder_sent(&key("reminder"), id).unwrap();
            assert_eq!((result.replayed, texts(&result.value)), (replayed, expected.clone()));
        }
        for replayed in [false, true] {
            let result = service.mark_order_paid(&key("paid"), id, ManualMethod::Cash).unwrap();
            assert_eq!((result.replayed, texts(&result.value)), (replayed, expected.clone()));
        }
        let mut discounted = two_tickets(&ticket_type);
        discounted.discount_code = Some("EARLY".to_owned());
        for replayed in [false, true] {
            let result = service.create_order(&key("discounted"), discounted.clone()).unwrap();
            assert_eq!(result.replayed, replayed);
            let reduction = result.value.order.discounted_amount.expect("a discount");
            assert_eq!(reduction.to_string(), twenty);
        }
    }
}

/// Sells two tickets in each currency and cancels the orders, and compares the amounts of the notifications.
fn assert_amounts_of_notifications(fixture: &Fixture, next: impl Fn() -> Notification) {
    let (service, caller) = (&fixture.service, &fixture.caller);
    for (currency, _, forty) in CURRENCIES {
        let ticket_type = ticket_type_at_20(fixture, currency);
        let order = service.create_order(caller, two_tickets(&ticket_type)).unwrap().order;
        service.payment_completed(caller, order.id).unwrap();
        service.cancel_order(caller, order.id).unwrap();
        let mut topics = Vec::new();
        while topics.len() < 3 {
            let notification = next();
            if let Some(amount) = amount_of(&notification) {
                assert_eq!(amount, forty, "{notification:?}");
                topics.push(notification.details.topic());
            }
        }
        topics.sort_unstable();
        assert_eq!(
            topics,
            [NotificationTopic::OrderCompleted, NotificationTopic::OrderCreated, NotificationTopic::RefundDue]
        );
    }
}

#[test]
fn in_notifications_of_a_handler() {
    let (calls, received) = channel();
    let with_handler = |builder: Builder| {
        builder.on_notification("test", move |_, notification| Ok(calls.send(notification.clone())?))
    };
    let fixture = Fixture::with_gateway(with_handler);
    assert_amounts_of_notifications(&fixture, || received.recv_timeout(TIMEOUT).expect("a call of the handler"));
}

#[test]
fn in_webhooks_that_a_receiver_reads() {
    let fixture = Fixture::new();
    fixture.webhook([EventType::OrderCompleted]);
    for (currency, _, forty) in CURRENCIES {
        let ticket_type = ticket_type_at_20(&fixture, currency);
        fixture.paid_order(&ticket_type, 2);
        let body = outbox::rows(&fixture.database()).pop().expect("a webhook").body;
        let notification: WebhookNotification = serde_json::from_str(&body).expect("a notification");
        let NotificationData::OrderCompleted(order) = notification.data else { panic!("{body}") };
        assert_eq!(order.total.to_string(), forty);
        // In JSON it is the number without trailing zeros.
        assert!(body.contains(r#""total":40,"#), "{body}");
    }
}
