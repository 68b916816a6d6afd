//! Orders: validation and its order, amounts, and the operations in every state.

use std::time::Duration;

use ticketing::error::Reason;
use ticketing::event::{DeliveryMethod, Event, EventStatus, UpdateEvent};
use ticketing::id::{OrderId, TicketTypeId};
use ticketing::order::{
    CancelOrderResponse, CheckoutRedirectUrls, CreateOrder, CreateOrderResponse, ListOrders, NewCustomer, NewOrderItem,
    Order, OrderDetails, OrderStatus, PaymentStatus, ShippingAddress,
};
use ticketing::order::{OrderStatus::Cancelled, OrderStatus::Completed, OrderStatus::Expired, OrderStatus::Pending};
use ticketing::payment::ManualMethod;
use ticketing::ticket::{ListTickets, TicketStatus};
use ticketing::ticket_type::{TicketType, TicketTypeStatus, UpdateTicketType};
use ticketing::{Amount, Result};

use crate::common::*;

fn cancel(fixture: &Fixture, id: OrderId) -> Result<CancelOrderResponse> {
    fixture.service.cancel_order(&fixture.caller, id)
}

fn mark_paid(fixture: &Fixture, id: OrderId) -> Result<Order> {
    fixture.service.mark_order_paid(&fixture.caller, id, ManualMethod::Cash)
}

fn send_reminder(fixture: &Fixture, id: OrderId) -> Result<Order> {
    fixture.service.mark_checkout_reminder_sent(&fixture.caller, id)
}

/// The status after an operation, or the reason why it was refused.
fn outcome<T: std::fmt::Debug>(
    fixture: &Fixture,
    id: OrderId,
    result: Result<T>,
) -> std::result::Result<OrderStatus, Reason> {
    match result {
        Ok(_) => Ok(fixture.order_status(id)),
        Err(error) => Err(error.reason().unwrap_or_else(|| panic!("{error:?}"))),
    }
}

#[test]
fn every_operation_in_every_status_has_the_result_of_the_table() {
    type Operation = fn(&Fixture, OrderId) -> Result<()>;
    type Prepare = fn(&Fixture, &TicketType) -> OrderId;
    let operations: [(&str, Operation); 5] = [
        ("cancel", |fixture, id| cancel(fixture, id).map(drop)),
        ("mark paid", |fixture, id| mark_paid(fixture, id).map(drop)),
        ("remind", |fixture, id| send_reminder(fixture, id).map(drop)),
        ("payment completed", |fixture, id| fixture.service.payment_completed(&fixture.caller, id).map(drop)),
        ("payment failed", |fixture, id| fixture.service.payment_failed(&fixture.caller, id).map(drop)),
    ];
    let prepare: [(&str, Prepare); 6] = [
        ("pending", |fixture, ticket_type| fixture.order(ticket_type, 2).id),
        ("completed", |fixture, ticket_type| fixture.paid_order(ticket_type, 2).id),
        ("cancelled", |fixture, ticket_type| {
            let order = fixture.order(ticket_type, 2);
            cancel(fixture, order.id).expect("cancelled");
            order.id
        }),
        ("cancelled after payment", |fixture, ticket_type| {
            let order = fixture.paid_order(ticket_type, 2);
            cancel(fixture, order.id).expect("cancelled");
            order.id
        }),
        ("expired", |fixture, ticket_type| {
            let order = fixture.order(ticket_type, 2);
            fixture.expire_holds();
            fixture.service.run_maintenance().expect("a run");
            order.id
        }),
        ("expired, not stored yet", |fixture, ticket_type| {
            let order = fixture.order(ticket_type, 2);
            fixture.expire_holds();
            order.id
        }),
    ];
    use PaymentStatus::{Completed as Paid, Failed, Refunded, Waiting};
    use Reason::{OrderNotCancellable, OrderNotPending};
    // For each status: the result of each operation, and the payment and the sold and reserved seats afterwards.
    let table = [
        [
            (Ok(Cancelled), Waiting, 0, 0),
            (Ok(Completed), Waiting, 2, 0),
            (Ok(Pending), Waiting, 0, 2),
            (Ok(Completed), Paid, 2, 0),
            (Ok(Pending), Failed, 0, 2),
        ],
        [
            (Ok(Cancelled), Refunded, 0, 0),
            (Err(OrderNotPending), Paid, 2, 0),
            (Err(OrderNotPending), Paid, 2, 0),
            (Ok(Completed), Paid, 2, 0),
            (Ok(Completed), Paid, 2, 0),
        ],
        [
            (Err(OrderNotCancellable), Waiting, 0, 0),
            (Err(OrderNotPending), Waiting, 0, 0),
            (Err(OrderNotPending), Waiting, 0, 0),
            (Ok(Cancelled), Refunded, 0, 0),
            (Ok(Cancelled), Waiting, 0, 0),
        ],
        [
            (Err(OrderNotCancellable), Refunded, 0, 0),
            (Err(OrderNotPending), Refunded, 0, 0),
            (Err(OrderNotPending), Refunded, 0, 0),
            (Ok(Cancelled), Refunded, 0, 0),
            (Ok(Cancelled), Refunded, 0, 0),
        ],
        [
            (Ok(Cancelled), Waiting, 0, 0),
            (Ok(Completed), Waiting, 2, 0),
            (Err(OrderNotPending), Waiting, 0, 0),
            (Ok(Completed), Paid, 2, 0),
            (Ok(Expired), Waiting, 0, 0),
        ],
        [
            (Ok(Cancelled), Waiting, 0, 0),
            (Ok(Completed), Waiting, 2, 0),
            // The expiry is not stored yet: the seats are reserved in the file, but free for every reader.
            (Err(OrderNotPending), Waiting, 0, 2),
            (Ok(Completed), Paid, 2, 0),
            (Ok(Expired), Waiting, 0, 0),
        ],
    ];
    for ((status, prepare), row) in prepare.iter().zip(table) {
        for ((operation, act), (expected, payment, sold, held)) in operations.iter().zip(row) {
            let fixture = Fixture::new();
            let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
            let id = prepare(&fixture, &ticket_type);
            let before = fixture.read_order(id);
            let result = act(&fixture, id);
            let what = format!("{operation} on {status}");
            assert_eq!(outcome(&fixture, id, result), expected, "{what}");
            assert_eq!(fixture.payment_status(id), Some(payment), "{what}");
            assert_eq!(fixture.stored("SELECT sold FROM ticket_types"), sold, "{what}");
            assert_eq!(fixture.stored("SELECT held FROM ticket_types"), held, "{what}");
            let tickets = &fixture.read_order(id).items[0].issued_tickets;
            let valid = tickets.iter().filter(|ticket| ticket.status == TicketStatus::NotCheckedIn).count();
            assert_eq!(i64::try_from(valid).expect("few"), sold, "{what}");
            if expected.is_err() {
                assert_eq!(fixture.read_order(id), before, "{what}: a refusal changes nothing");
            }
        }
    }
}

#[test]
fn an_operation_on_an_unknown_order_is_not_found() {
    let fixture = Fixture::new();
    let other = Fixture::new();
    let id = other.order(&other.ticket_type(&other.event(), 1250, 1), 1).id;
    assert_not_found(fixture.service.get_order(&fixture.caller, id));
    assert_not_found(fixture.service.get_order_details(&fixture.caller, id));
    assert_not_found(cancel(&fixture, id));
    assert_not_found(mark_paid(&fixture, id));
    assert_not_found(send_reminder(&fixture, id));
    assert_not_found(fixture.service.payment_completed(&fixture.caller, id));
    assert_not_found(fixture.service.payment_failed(&fixture.caller, id));
}

/// An order to which all reasons for a refusal apply, and what is needed to remove them one by one.
struct RefusedOrder {
    fixture: Fixture,
    event: Event,
    ticket_type: [TicketType; 3],
    other: TicketType,
    request: CreateOrder,
}

impl RefusedOrder {
    fn new() -> Self {
        let fixture = Fixture::new();
        let event = fixture.event_with(|new| {
            new.status = Some(EventStatus::Drafted);
            new.delivery_method = DeliveryMethod::Physical;
            new.shipping_countries = Some(vec!["DE".to_owned()]);
        });
        let ticket_type = |sale_start, sale_end| {
            fixture.ticket_type_with(&event, |new| {
                new.quantity = 1;
                new.max_per_order = Some(2);
                new.status = Some(TicketTypeStatus::DisplayAsSoldOut);
                new.sale_start_date = sale_start;
                new.sale_end_date = sale_end;
            })
        };
        let past = Some(at("2026-05-01T00:00Z"));
        let future = Some(at("2026-06-20T00:00Z"));
        let ticket_type = [ticket_type(None, None), ticket_type(future, None), ticket_type(None, past)];
        let other = fixture.ticket_type(&fixture.event(), 1250, 10);
        let item = |ticket_type: &TicketType, quantity| NewOrderItem::new(ticket_type.id, quantity);
        let mut request = CreateOrder::new(event.id, new_customer(), ticket_type[0].id, 3);
        request.items.extend([item(&ticket_type[1], 1), item(&ticket_type[2], 1), item(&other, 1)]);
        request.customer.company_name = Some("Ada Ltd".to_owned());
        request.discount_code = Some("NOPE".to_owned());
        Self { fixture, event, ticket_type, other, request }
    }

    fn try_create(&self) -> Result<CreateOrderResponse> {
        self.fixture.service.create_order(&self.fixture.caller, self.request.clone())
    }

    fn change(&self, index: usize, changes: UpdateTicketType) {
        self.fixture
            .service
            .update_ticket_type(&self.fixture.caller, self.ticket_type[index].id, changes)
            .expect("a change");
    }
}

#[test]
fn the_first_of_several_reasons_refuses_an_order() {
    let mut case = RefusedOrder::new();

    assert_eq!(reason(case.try_create()), Reason::EventNotOnSale);
    case.fixture.set_event_status(case.event.id, EventStatus::Published).expect("published");

    assert_eq!(paths(case.try_create()), ["items[3].ticketId"], "a type of another event");
    assert_ne!(case.other.event_id, case.event.id);
    case.request.items.truncate(3);

    assert_eq!(reason(case.try_create()), Reason::TicketTypeNotOnSale);
    for index in 0..3 {
        case.change(index, UpdateTicketType::default().status(TicketTypeStatus::OnSale));
    }

    assert_eq!(reason(case.try_create()), Reason::SaleNotStarted);
    case.change(1, UpdateTicketType::default().clear_sale_start_date());

    assert_eq!(reason(case.try_create()), Reason::SaleEnded);
    case.change(2, UpdateTicketType::default().clear_sale_end_date());

    assert_eq!(reason(case.try_create()), Reason::MaxPerOrderExceeded);
    case.change(0, UpdateTicketType::default().max_per_order(3));

    assert_eq!(reason(case.try_create()), Reason::SoldOut);
    case.change(0, UpdateTicketType::default().quantity(3));

    assert_eq!(paths(case.try_create()), ["customer.companyName", "shippingAddress"]);
    case.request.customer.company_name = None;
    let paris = ShippingAddress::new("1 Rue de Rivoli", "75001", "Paris", "FR");
    case.request.shipping_address = Some(paris.clone());
    assert_eq!(paths(case.try_create()), ["shippingAddress.country"]);
    case.request.shipping_address = Some(paris.country("DE"));

    assert_eq!(paths(case.try_create()), ["discountCode"], "the discount code is checked last");
    case.request.discount_code = None;

    // The refused requests have left nothing behind.
    assert_eq!(case.fixture.stored("SELECT COUNT(*) FROM orders"), 0);
    assert_eq!(case.fixture.stored("SELECT COUNT(*) FROM customers"), 0);
    assert_eq!(case.fixture.stored("SELECT SUM(held) + SUM(sold) FROM ticket_types"), 0);
    assert_eq!(case.try_create().expect("nothing refuses it any more").order.status, Pending);
}

#[test]
fn field_errors_come_before_conflicts() {
    let mut case = RefusedOrder::new();
    case.request.items[0].quantity = 0;
    case.request.customer.email = "nobody".to_owned();
    assert_eq!(paths(case.try_create()), ["customer.email", "items[0].quantity", "items[3].ticketId"]);
    let other_caller = case.fixture.other_organization();
    case.request.event_id = case.fixture.service.create_event(&other_caller, new_event(|_| {})).expect("an event").id;
    assert_eq!(paths(case.try_create()), ["customer.email", "items[0].quantity", "eventId"]);
}

#[test]
fn only_a_published_event_accepts_orders() {
    let fixture = Fixture::new();
    for status in [EventStatus::Drafted, EventStatus::SoldOut, EventStatus::Expired, EventStatus::Cancelled] {
        let event = fixture.event_with(|new| new.status = Some(status));
        let ticket_type = fixture.ticket_type_with(&event, |new| new.quantity = 5);
        // Adding a ticket type may reopen a sold-out event: set its status again.
        if status == EventStatus::SoldOut {
            fixture.set_event_status(event.id, status).expect("a manual change");
        }
        assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::EventNotOnSale, "{status}");
    }
}

#[test]
fn items_have_the_names_of_their_ticket_types() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let [seat, stand, free] = [("Seat", 1250), ("Stand", 500), ("Child", 0)].map(|(name, cents)| {
        fixture.ticket_type_with(&event, |new| {
            new.name = name.to_owned();
            new.price = eur(cents);
        })
    });
    let items = [&stand, &seat, &stand, &free].map(|ticket_type| NewOrderItem::new(ticket_type.id, 1));
    let request = CreateOrder::with_items(event.id, new_customer(), items);
    let created = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
    let names = |order: &Order| order.items.iter().map(|item| item.ticket_type_name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&created), ["Stand", "Seat", "Stand", "Child"]);
    let gratis = fixture.order(&free, 1);
    assert_eq!(names(&gratis), ["Child"]);

    // The name is the current one.
    let changes = UpdateTicketType::default().name("Standing");
    fixture.service.update_ticket_type(&fixture.caller, stand.id, changes).expect("renamed");
    let expected = ["Standing", "Seat", "Standing", "Child"];
    assert_eq!(names(&fixture.read_order(created.id)), expected);
    assert_eq!(names(&mark_paid(&fixture, created.id).expect("paid")), expected);
}

#[test]
fn without_a_list_of_countries_an_event_ships_everywhere() {
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| new.delivery_method = DeliveryMethod::Physical);
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    assert_eq!(paths(fixture.try_order(&ticket_type, 1)), ["shippingAddress"]);
    let mut request = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1);
    request.shipping_address = Some(ShippingAddress::new("1 Main Street", "1", "Suva", "FJ"));
    fixture.service.create_order(&fixture.caller, request).expect("ships everywhere");
    let digital = fixture.event_with(|new| new.shipping_countries = Some(vec!["DE".to_owned()]));
    fixture.order(&fixture.ticket_type(&digital, 1250, 10), 1);
}

#[test]
fn companies_may_order_if_the_event_accepts_them() {
    let fixture = Fixture::new();
    let request = |accepts: bool| {
        let event = fixture.event_with(|new| new.accepts_company = Some(accepts));
        let mut request = CreateOrder::new(event.id, new_customer(), fixture.ticket_type(&event, 1250, 10).id, 1);
        request.customer.company_name = Some("Ada Ltd".to_owned());
        fixture.service.create_order(&fixture.caller, request)
    };
    assert_eq!(paths(request(false)), ["customer.companyName"]);
    request(true).expect("accepted");
}

#[test]
fn the_items_of_an_order_keep_their_order_and_add_up_to_the_total() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let stool = fixture.ticket_type(&event, 333, 10);
    let mut request = CreateOrder::new(event.id, new_customer(), stool.id, 3);
    let item = |ticket_type: &TicketType, quantity| NewOrderItem::new(ticket_type.id, quantity);
    request.items.extend([item(&ticket_type, 2), item(&stool, 1)]);
    request.affiliate_code = Some("FRIEND".to_owned());
    let created = fixture.service.create_order(&fixture.caller, request).expect("an order");
    let order = created.order;
    let items = &order.items;
    assert_eq!(items.iter().map(|item| item.ticket_type_id).collect::<Vec<_>>(), [stool.id, ticket_type.id, stool.id]);
    assert_eq!(items.iter().map(|item| item.quantity).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(items.iter().map(|item| item.item_subtotal).collect::<Vec<_>>(), [eur(999), eur(2500), eur(333)]);
    assert_eq!(items.iter().map(|item| item.final_amount).collect::<Vec<_>>(), [eur(999), eur(2500), eur(333)]);
    assert!(items.iter().all(|item| item.item_discount == eur(0) && item.order_id == order.id));
    // 9.99 + 25.00 + 3.33
    assert_eq!(order.total, eur(3832));
    assert_eq!((order.discounted_amount, order.discount_code.as_deref()), (None, None));
    assert_eq!(order.affiliate_code.as_deref(), Some("FRIEND"));
    assert_eq!((order.status, order.checkout_reminder_sent), (Pending, false));
    assert_eq!((order.event_id, order.organizer_id), (event.id, fixture.caller.organization()));
    assert_eq!((order.created_at, order.updated_at), (at(NOW), at(NOW)));
    assert_eq!(created.issued_tickets, []);
    assert_eq!(fixture.read_order(order.id), order);

    let paid = fixture.service.payment_completed(&fixture.caller, order.id).expect("paid");
    let tickets: Vec<_> = paid.items.iter().map(|item| item.issued_tickets.len()).collect();
    assert_eq!(tickets, [3, 2, 1]);
    assert!(
        paid.items
            .iter()
            .all(|item| item.issued_tickets.iter().all(|ticket| ticket.ticket_type_id == item.ticket_type_id))
    );
    let listed = fixture.service.list_orders(&fixture.caller, ListOrders::default()).expect("a page").data.remove(0);
    let in_lists = |item| json_without(item, &["issuedTickets", "ticketTypeName"]);
    let expected: Vec<_> = paid.items.iter().map(in_lists).collect();
    assert_eq!(json!(listed.items), json!(expected));
    assert_eq!((listed.id, listed.total, listed.status), (paid.id, paid.total, Completed));
}

#[test]
fn an_order_that_costs_nothing_completes_at_once() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
    let request = CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 3);
    let created = fixture.service.create_order(&fixture.caller, request).expect("an order");
    assert_eq!(created.order.status, Completed);
    assert_eq!(created.order.total, eur(0));
    assert_eq!((&created.order.payment_gateway, &created.checkout_url), (&None, &None));
    assert_eq!(created.issued_tickets.len(), 3);
    assert_eq!(created.issued_tickets, created.order.items[0].issued_tickets);
    assert_eq!(fixture.read_order(created.order.id), created.order);
    assert_eq!(fixture.sold(&ticket_type), 3);
    assert!(fixture.gateway.checkouts().is_empty());

    let cancelled = cancel(&fixture, created.order.id).expect("cancelled");
    assert!(cancelled.success && !cancelled.requires_manual_refund);
    assert_eq!(fixture.sold(&ticket_type), 0);
    assert!(fixture.gateway.refunds().is_empty());
}

#[test]
fn an_order_with_free_and_priced_items_must_be_paid() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let free = fixture.ticket_type(&event, 0, 10);
    let priced = fixture.ticket_type(&event, 1, 10);
    let mut request = CreateOrder::new(event.id, new_customer(), free.id, 2);
    request.items.push(NewOrderItem::new(priced.id, 1));
    let created = fixture.service.create_order(&fixture.caller, request).expect("an order");
    assert_eq!((created.order.status, created.order.total), (Pending, eur(1)));
    assert_eq!((fixture.sold(&free), created.issued_tickets.len()), (0, 0));
}

#[test]
fn orders_with_one_email_address_share_a_customer_but_keep_their_names() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 100);
    let order = |name: &str, email: &str| {
        let request = CreateOrder::new(ticket_type.event_id, NewCustomer::new(name, email), ticket_type.id, 1);
        fixture.service.create_order(&fixture.caller, request).expect("an order").order
    };
    let first = order("Ada", "Ada@Example.com");
    let second = order("Ada Lovelace", "ada@example.COM");
    let other = order("Ada", "ada@example.org");
    // Both spellings of a domain, as Python's codec `idna` encodes it. No local part and no ß is another letter.
    let domains = [
        ("ada@MÜNCHEN.example", "Ada@xn--mnchen-3ya.EXAMPLE"),
        ("ada@ｍünchen.example", "ada@münchen.example"),
        ("ada@例え.テスト", "ada@xn--r8jz45g.xn--zckzah"),
        ("ada@bücher.bühne.example", "ada@XN--BCHER-KVA.xn--bhne-0ra.example"),
    ];
    for (unicode, ascii) in domains {
        let (first, second) = (order("Ada", unicode), order("Ada", ascii));
        assert_eq!(first.customer_id, second.customer_id, "{unicode}");
        for email in [unicode, ascii] {
            let filter = ListOrders::default().customer_email(email);
            let found = fixture.service.list_orders(&fixture.caller, filter).expect("orders").data;
            assert!([&first, &second].iter().all(|order| found.iter().any(|found| found.id == order.id)), "{email}");
            let filter = ListTickets::default().customer_email(email);
            let found = fixture.service.list_tickets(&fixture.caller, filter).expect("tickets").data;
            assert!(found.iter().any(|ticket| ticket.customer_id == Some(first.customer_id)), "{email}");
        }
    }
    let different = [("weiß@example.com", "weiss@example.com"), ("ada@weiß.example", "ada@weiss.example")];
    for (one, another) in different {
        assert_ne!(order("Ada", one).customer_id, order("Ada", another).customer_id, "{one}");
    }
    assert_eq!(first.customer_id, second.customer_id);
    assert_ne!(first.customer_id, other.customer_id);
    assert_eq!(first.customer.id, first.customer_id);
    assert_eq!(fixture.read_order(first.id).customer.name, "Ada");
    assert_eq!(fixture.read_order(second.id).customer.name, "Ada Lovelace");
    let ticket = |order: &Order| {
        let id = order.items[0].issued_tickets[0].id;
        fixture.service.get_ticket(&fixture.caller, id).expect("the ticket").customer.expect("a customer")
    };
    assert_eq!((ticket(&first).name.as_str(), ticket(&second).name.as_str()), ("Ada", "Ada Lovelace"));
    assert_eq!(ticket(&first).id, first.customer_id);

    let other_caller = fixture.other_organization();
    let event = fixture.service.create_event(&other_caller, new_event(|_| {})).expect("an event");
    let new = ticketing::ticket_type::CreateTicketType::new("Seat", eur(0), 10);
    let ticket_type = fixture.service.create_ticket_type(&other_caller, event.id, new).expect("a type");
    let request = CreateOrder::new(event.id, NewCustomer::new("Ada", "ada@example.com"), ticket_type.id, 1);
    let others_order = fixture.service.create_order(&other_caller, request).expect("an order").order;
    assert_ne!(others_order.customer_id, first.customer_id, "a customer of the other organization");
}

#[test]
fn the_details_of_an_order_are_those_of_its_request() {
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| new.accepts_company = Some(true));
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let mut request = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1);
    let address = ShippingAddress::new("1 Main Street", "1", "Suva", "FJ");
    let urls = CheckoutRedirectUrls::new("https://shop.example/yes", "https://shop.example/no", "app://back");
    request.customer.company_name = Some("Ada Ltd".to_owned());
    request.customer.locale = Some("en-GB".to_owned());
    request.language = Some(String::new());
    request.shipping_address = Some(address.clone());
    request.checkout_redirect_urls = Some(urls.clone());
    let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
    let expected = from_json::<OrderDetails>(json!({
        "orderId": order.id,
        "companyName": "Ada Ltd",
        "locale": "en-GB",
        "language": String::new(),
        "shippingAddress": address,
        "checkoutRedirectUrls": urls.clone(),
        "holdUntil": at(NOW).saturating_add(HOLD), "completedAt": null, "cancelledAt": null, "paymentMethod": null,
        "refunded": eur(0), "manualRefundDue": eur(0), "documentsUrl": null, "orderUrl": null
    }));
    assert_eq!(fixture.service.get_order_details(&fixture.caller, order.id).expect("details"), expected);
    assert_eq!(fixture.gateway.checkouts()[0].redirect_urls.as_ref(), Some(&urls));

    let plain = fixture.order(&ticket_type, 1);
    let expected = from_json::<OrderDetails>(json!({
        "orderId": plain.id,
        "companyName": null,
        "locale": null,
        "language": null,
        "shippingAddress": null,
        "checkoutRedirectUrls": null,
        "holdUntil": at(NOW).saturating_add(HOLD), "completedAt": null, "cancelledAt": null, "paymentMethod": null,
        "refunded": eur(0), "manualRefundDue": eur(0), "documentsUrl": null, "orderUrl": null
    }));
    assert_eq!(fixture.service.get_order_details(&fixture.caller, plain.id).expect("details"), expected);
}

#[test]
fn an_order_for_too_many_seats_is_told_the_ticket_type_and_whether_it_is_sold_out() {
    let fixture = Fixture::new();
    let balcony = fixture.ticket_type_with(fixture.default_event(), |new| {
        new.name = "Balcony".to_owned();
        new.quantity = 3;
    });
    let refusal = |quantity| {
        let error = fixture.try_order(&balcony, quantity).unwrap_err();
        assert_eq!(error.reason(), Some(Reason::SoldOut));
        error.to_string()
    };
    fixture.order(&balcony, 2);
    assert_eq!(refusal(2), "fewer than 2 seats of the ticket type Balcony are available");
    let last = fixture.order(&balcony, 1);
    assert_eq!(refusal(1), "the ticket type Balcony is sold out");
    assert_eq!(refusal(2), "the ticket type Balcony is sold out");
    cancel(&fixture, last.id).unwrap();
    assert_eq!(refusal(3), "fewer than 3 seats of the ticket type Balcony are available");
}

#[test]
fn the_seats_of_a_hold_are_free_from_the_instant_it_expires() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 2);
    let first = fixture.order(&ticket_type, 2);
    fixture.clock.advance(HOLD - Duration::from_millis(1));
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::SoldOut);
    assert_eq!(fixture.order_status(first.id), Pending);
    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(fixture.order_status(first.id), Expired, "it reads as expired before that is stored");
    assert_eq!(fixture.stored("SELECT status = 'PENDING' FROM orders"), 1);
    let second = fixture.order(&ticket_type, 1);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 1);
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 1);
    assert_eq!((fixture.order_status(first.id), fixture.order_status(second.id)), (Expired, Pending));
    // Issuing tickets takes such a seat, too.
    fixture.clock.advance(HOLD);
    assert_eq!(fixture.issue(&ticket_type, 2).len(), 2);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 2);
}

#[test]
fn an_expired_order_reads_the_same_before_and_after_maintenance() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.order(&ticket_type, 2);
    fixture.clock.advance(HOLD + Duration::from_secs(5));
    let listed = |status| {
        let request = ListOrders::default().status(status);
        fixture.service.list_orders(&fixture.caller, request).expect("a page").data
    };
    let before = (fixture.read_order(order.id), listed(Expired), listed(Pending));
    let (expired_order, expired_list, pending_list) = &before;
    assert_eq!(expired_order.status, Expired);
    assert_eq!(expired_order.updated_at, at("2026-06-01T12:30:00Z"), "the instant at which the hold expired");
    assert_eq!((expired_list.len(), pending_list.len()), (1, 0));
    assert_eq!(fixture.service.run_maintenance().expect("a run").expired_orders, 1);
    assert_eq!((fixture.read_order(order.id), listed(Expired), listed(Pending)), before);
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 0);
    assert_eq!(fixture.service.run_maintenance().expect("a run").expired_orders, 0);
}

#[test]
fn a_hold_lasts_as_long_as_configured() {
    let fixture = Fixture::with(|builder| builder.order_hold(Duration::from_secs(10)));
    let order = fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 1), 1);
    fixture.clock.advance(Duration::from_millis(9_999));
    assert_eq!(fixture.order_status(order.id), Pending);
    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(fixture.order_status(order.id), Expired);
}

#[test]
fn an_expired_order_is_marked_paid_only_if_its_event_and_seats_allow_it() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 3);
    let first = fixture.order(&ticket_type, 1);
    let second = fixture.order(&ticket_type, 2);
    fixture.expire_holds();
    let revived = mark_paid(&fixture, first.id).expect("its seat is available");
    assert_eq!((revived.status, revived.items[0].issued_tickets.len()), (Completed, 1));
    let again = mark_paid(&fixture, first.id).expect_err("it is paid");
    assert_eq!(again.to_string(), "the order is COMPLETED, not PENDING or EXPIRED");
    fixture.issue(&ticket_type, 1);
    assert_eq!(reason(mark_paid(&fixture, second.id)), Reason::SoldOut);
    assert_eq!(fixture.order_status(second.id), Expired);

    let other = fixture.event();
    let expired = fixture.order(&fixture.ticket_type(&other, 1250, 3), 1);
    fixture.expire_holds();
    fixture.set_event_status(other.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!(reason(mark_paid(&fixture, expired.id)), Reason::EventCancelled);

    // Also if the event has ended or its ticket type is no longer on sale.
    let third = fixture.event();
    let expired = fixture.order(&fixture.ticket_type(&third, 1250, 3), 1);
    fixture.expire_holds();
    fixture.set_clock(EVENT_END);
    assert_eq!(mark_paid(&fixture, expired.id).expect("only a cancelled event refuses").status, Completed);
}

#[test]
fn cancelling_a_completed_order_cancels_its_tickets_even_checked_in_ones() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 3);
    let tickets = &order.items[0].issued_tickets;
    fixture.service.cancel_ticket(&fixture.caller, tickets[0].id).expect("cancelled");
    let scan = ticketing::ticket::CheckInTicket::new(&tickets[1].code);
    fixture.service.check_in_ticket(&fixture.caller, scan).expect("checked in");
    fixture.issue(&ticket_type, 1);
    cancel(&fixture, order.id).expect("cancelled");
    let after = fixture.read_order(order.id);
    assert!(after.items[0].issued_tickets.iter().all(|ticket| ticket.status == TicketStatus::Cancelled));
    assert_eq!(fixture.sold(&ticket_type), 1, "the issued ticket");
}

#[test]
fn a_reminder_may_be_recorded_several_times() {
    let fixture = Fixture::new();
    let order = fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 10), 1);
    assert!(send_reminder(&fixture, order.id).expect("pending").checkout_reminder_sent);
    assert!(send_reminder(&fixture, order.id).expect("still pending").checkout_reminder_sent);
    assert!(fixture.read_order(order.id).checkout_reminder_sent);
}

#[test]
fn setting_the_clock_back_neither_revives_orders_nor_oversells() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 2);
    let first = fixture.order(&ticket_type, 2);
    fixture.expire_holds();
    let second = fixture.order(&ticket_type, 2);
    fixture.set_clock(NOW);
    assert_eq!(fixture.order_status(first.id), Expired, "a stored expiry stays");
    assert_eq!(fixture.order_status(second.id), Pending);
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::SoldOut);
    assert_eq!(reason(mark_paid(&fixture, first.id)), Reason::SoldOut);
    mark_paid(&fixture, second.id).expect("it reserves its seats");
    assert_eq!(fixture.sold(&ticket_type), 2);
}

#[test]
fn a_total_above_the_maximum_is_a_field_error() {
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| new.currency = Some("CLF".to_owned()));
    let [one, two] = [1_000_000_000, 1].map(|price| {
        fixture.ticket_type_with(&event, |new| {
            new.price = Amount::whole(price);
            new.quantity = 10_000;
            new.max_per_order = Some(100);
        })
    });
    // The currency has 4 decimals: 100 × 10^9 × 10^4 = 10^15, the highest total.
    let mut request = CreateOrder::new(event.id, new_customer(), one.id, 100);
    let created = fixture.service.create_order(&fixture.caller, request.clone()).expect("just not too much");
    assert_eq!(created.order.total, Amount::whole(100_000_000_000));
    request.items.push(NewOrderItem::new(two.id, 1));
    assert_eq!(paths(fixture.service.create_order(&fixture.caller, request)), ["items"]);
}

#[test]
fn an_order_of_many_items_that_cannot_succeed_does_not_need_the_writer() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let known = fixture.ticket_type(&event, 1250, 100);
    let unknown = fixture.new_ticket_type(1250, 100);
    let many = |first: TicketTypeId| {
        let mut request = CreateOrder::new(event.id, new_customer(), first, 1);
        request.items.extend((0..11).map(|_| NewOrderItem::new(known.id, 1)));
        request
    };
    // Another process writes, for as long as the test needs.
    let other = fixture.database();
    other.begin();
    let create = |request| fixture.service.create_order(&fixture.caller, request);
    assert_eq!(paths(create(many(unknown.id))), ["items[0].ticketId"]);
    assert_eq!(reason(create(many(known.id))), Reason::MaxPerOrderExceeded);
    other.run("ROLLBACK");
    // An event that is not on sale is reported first, as it is for orders of few items.
    let update = UpdateEvent::default().status(EventStatus::Drafted);
    fixture.service.update_event(&fixture.caller, event.id, update).expect("drafted");
    assert_eq!(reason(create(many(unknown.id))), Reason::EventNotOnSale);
    assert_eq!(reason(create(new_order(event.id, unknown.id, 1))), Reason::EventNotOnSale);
}

#[test]
fn orders_after_a_restart_are_the_newest_although_the_clock_was_set_back() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    fixture.clock.advance(std::time::Duration::from_hours(48));
    fixture.set_quantity(ticket_type.id, 20).expect("updated");
    let earlier = fixture.order(&ticket_type, 1);
    fixture.set_clock(NOW);
    let second = fixture.second_service();
    let request = new_order(event.id, ticket_type.id, 1);
    let later = second.create_order(&fixture.caller, request).expect("an order").order;
    assert!(later.id > earlier.id);
    let listed = second.list_orders(&fixture.caller, ticketing::order::ListOrders::default()).expect("a page").data;
    assert_eq!(listed.iter().map(|order| order.id).collect::<Vec<_>>(), [later.id, earlier.id]);
}
