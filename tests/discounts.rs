//! Discounts: what one may be, when it applies, which orders use it, and when a use comes back.

mod common;

use common::*;
use ticketing::{
    Amount, BasketItem, Change, CreateDiscount, CreateOrder, Discount, DiscountRefusal, DiscountType,
    DiscountValidationResponse, Event, EventId, EventStatus, ListDiscounts, ListRefunds, NewOrderItem, Order,
    OrderStatus, PageRequest, PaymentStatus, Reason, RefundStatus, Result, TicketType, UpdateDiscount, UpdateEvent,
    ValidateDiscount,
};

impl Shop {
    fn update(&self, of: &Discount, change: impl FnOnce(&mut UpdateDiscount)) -> Result<Discount> {
        let mut changes = UpdateDiscount::default();
        change(&mut changes);
        self.service.update_discount(&self.caller, of.id, changes)
    }

    fn validate(&self, code: &str, basket: &[(&TicketType, i64)]) -> DiscountValidationResponse {
        let event_id = basket[0].0.event_id;
        let items = basket.iter().map(|(of, quantity)| BasketItem {
            ticket_type_id: of.id,
            quantity: *quantity,
            price: of.price,
        });
        let (code, ticket_items) = (code.to_owned(), items.collect());
        let request = ValidateDiscount { event_id, code, order_amount: Amount::ZERO, ticket_items };
        self.service.validate_discount(&self.caller, request).expect("an answer")
    }

    fn refusal(&self, code: &str, of: &TicketType) -> Option<DiscountRefusal> {
        self.validate(code, &[(of, 1)]).error
    }

    fn codes(&self, filter: ListDiscounts) -> Vec<String> {
        let page = self.service.list_discounts(&self.caller, filter).expect("a page");
        page.data.into_iter().map(|discount| discount.code).collect()
    }
}

/// A shop with an event whose seats cost 10.00.
fn sale() -> (Shop, Event, TicketType) {
    let shop = Shop::new();
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1000, 100);
    (shop, event, seat)
}

fn limited(new: CreateDiscount, limit: i64) -> CreateDiscount {
    CreateDiscount { usage_limit: Some(limit), ..new }
}

fn automatic(new: CreateDiscount) -> CreateDiscount {
    CreateDiscount { auto_apply: Some(true), ..new }
}

/// The text with which a code was refused, by an order or by anything else that names it.
#[track_caller]
fn refused(result: Result<Order>) -> String {
    let error = result.expect_err("a refusal");
    let [field] = error.fields() else { panic!("one field error, and not {error:?}") };
    assert_eq!(field.path, "discountCode");
    field.message.clone()
}

#[test]
fn a_discount_is_created_with_its_defaults_read_changed_and_deleted() {
    let (shop, event, _) = sale();
    let made = shop.discount(percent_off(&event, "Early", 10));
    let expected = Discount {
        id: made.id,
        event_id: event.id,
        code: "Early".to_owned(),
        discount_type: DiscountType::Percentage,
        value: Amount::new(10, 0),
        description: None,
        auto_apply: false,
        usage_limit: None,
        used_count: 0,
        valid_from: at("2026-01-01T00:00:00Z"),
        valid_to: at("2027-01-01T00:00:00Z"),
        is_active: true,
        minimum_purchase: None,
        applicable_ticket_types: Vec::new(),
        created_at: at(NOW),
        updated_at: at(NOW),
        revision: 1,
    };
    assert_eq!(made, expected);
    assert_eq!(shop.read_discount(made.id), expected);

    shop.turn("2026-06-02T00:00:00Z");
    let changed = shop.update(&made, |change| {
        change.description = Change::Set("For friends".to_owned());
        change.usage_limit = Change::Set(Some(7));
        change.minimum_purchase = Change::Set(Some(eur(550)));
        change.auto_apply = Change::Set(true);
    });
    let expected = Discount {
        description: Some("For friends".to_owned()),
        usage_limit: Some(7),
        minimum_purchase: Some(eur(550)),
        auto_apply: true,
        updated_at: at("2026-06-02T00:00:00Z"),
        revision: 2,
        ..expected
    };
    assert_eq!(changed, Ok(expected.clone()));
    let cleared = shop.update(&made, |change| {
        (change.usage_limit, change.minimum_purchase) = (Change::Set(None), Change::Set(None));
    });
    let expected = Discount { usage_limit: None, minimum_purchase: None, revision: 3, ..expected };
    assert_eq!(cleared, Ok(expected));

    shop.service.delete_discount(&shop.caller, made.id).expect("nobody used it");
    is_not_found(shop.service.get_discount(&shop.caller, made.id));
    is_not_found(shop.service.delete_discount(&shop.caller, made.id));
    is_not_found(shop.update(&made, |_| {}));
}

#[test]
fn an_update_is_judged_as_the_whole_that_it_leaves() {
    let (shop, event, _) = sale();
    let of = shop.discount(CreateDiscount { value: "12.345".parse().expect("it"), ..percent_off(&event, "EARLY", 0) });
    let fixed = shop.update(&of, |change| change.discount_type = Change::Set(DiscountType::FixedAmount));
    assert_eq!(paths(fixed), ["value"], "12.345 percent is no amount in EUR");
    let fixed = shop.update(&of, |change| {
        (change.discount_type, change.value) = (Change::Set(DiscountType::FixedAmount), Change::Set(eur(15_000)));
    });
    assert_eq!(fixed.expect("an amount").value.to_string(), "150.00");
    let percent = shop.update(&of, |change| change.discount_type = Change::Set(DiscountType::Percentage));
    assert_eq!(paths(percent), ["value"], "150 percent are too many");
    assert_eq!(paths(shop.update(&of, |change| change.valid_from = Change::Set(of.valid_to))), ["validTo"]);
    assert_eq!(paths(shop.update(&of, |change| change.valid_to = Change::Set(of.valid_from))), ["validTo"]);
    let all = shop.update(&of, |change| {
        change.code = Change::Set("x".to_owned());
        change.value = Change::Set(eur(-1));
        change.usage_limit = Change::Set(Some(0));
        change.minimum_purchase = Change::Set(Some(Amount::new(1, 3)));
        change.applicable_ticket_types = Change::Set(vec!["type_0000000000001".parse().expect("an id")]);
    });
    assert_eq!(paths(all), ["applicableTicketTypes[0]", "code", "value", "usageLimit", "minimumPurchase"]);
}

#[test]
fn a_code_is_taken_once_in_an_event_whatever_its_case() {
    let (shop, event, seat) = sale();
    let of = shop.discount(percent_off(&event, "Größe", 10));
    for code in ["Größe", "GRÖßE", "größe"] {
        let again = shop.service.create_discount(&shop.caller, percent_off(&event, code, 5));
        assert_eq!(reason(again), Reason::CodeTaken, "{code}");
        assert_eq!(shop.refusal(code, &seat), None, "{code}");
    }
    // Another event, and a code that differs by a blank.
    shop.discount(percent_off(&shop.event(), "Größe", 5));
    let other = shop.discount(percent_off(&event, "Größe ", 5));
    assert_eq!(shop.refusal(" Größe", &seat), Some(DiscountRefusal::NotFound), "codes are not trimmed");
    assert_eq!(reason(shop.update(&other, |change| change.code = Change::Set("GRÖßE".to_owned()))), Reason::CodeTaken);
    let own = shop.update(&of, |change| change.code = Change::Set("GRÖßE".to_owned()));
    assert_eq!(own.expect("its own code in another case").code, "GRÖßE");
}

#[test]
fn the_list_is_filtered_by_event_whole_code_and_switch_and_paged_newest_first() {
    let (shop, event, _) = sale();
    let other = shop.event();
    shop.discount(percent_off(&event, "One", 1));
    shop.discount(CreateDiscount { is_active: Some(false), ..percent_off(&event, "Two", 1) });
    shop.discount(percent_off(&other, "ONE", 1));
    shop.discount(percent_off(&other, "One more", 1));
    let of = |event: EventId| ListDiscounts { event_id: Some(event), ..Default::default() };
    let code = |code: &str| Some(code.to_owned());
    assert_eq!(shop.codes(ListDiscounts::default()), ["One more", "ONE", "Two", "One"]);
    assert_eq!(shop.codes(of(event.id)), ["Two", "One"]);
    assert_eq!(shop.codes(ListDiscounts { code: code("oNE"), ..Default::default() }), ["ONE", "One"]);
    assert_eq!(shop.codes(ListDiscounts { code: code("one"), ..of(event.id) }), ["One"]);
    assert!(shop.codes(ListDiscounts { code: code("on"), ..Default::default() }).is_empty());
    assert!(shop.codes(ListDiscounts { code: code(""), ..Default::default() }).is_empty());
    assert_eq!(shop.codes(ListDiscounts { is_active: Some(false), ..Default::default() }), ["Two"]);
    assert_eq!(shop.codes(ListDiscounts { is_active: Some(true), ..of(event.id) }), ["One"]);
    assert!(shop.codes(of("event_0000000000001".parse().expect("an id"))).is_empty());
    let page =
        |page| shop.service.list_discounts(&shop.caller, ListDiscounts { page, ..of(event.id) }).expect("a page");
    let first = page(PageRequest::first(1));
    assert_eq!(first.data[0].code, "Two");
    let rest = page(PageRequest::first(1).after(first.next_cursor.expect("more")));
    assert_eq!((rest.data[0].code.as_str(), rest.next_cursor), ("One", None));
}

#[test]
fn of_the_reasons_against_a_code_the_first_is_given_to_validation_and_order_alike() {
    let (shop, event, seat) = sale();
    let box_seat = shop.ticket_type(&event, 1000, 100);
    let mut new = limited(percent_off(&event, "EARLY", 10), 1);
    new.minimum_purchase = Some(eur(2000));
    let of = shop.discount(new);
    let first = shop.order_with(&seat, 2, "EARLY");
    shop.service.mark_order_paid(&shop.caller, first.id).expect("paid");
    // Now everything speaks against it, and one reason after another goes.
    let change = |change: fn(&mut UpdateDiscount)| shop.update(&of, change).expect("a change");
    change(|of| of.is_active = Change::Set(false));
    let to_box = Change::Set(vec![box_seat.id]);
    shop.update(&of, |change| change.applicable_ticket_types = to_box).expect("a change");
    let judged = |seats: &TicketType, quantity| {
        let answer = shop.validate("early", &[(seats, quantity)]);
        let error = answer.error.expect("a refusal");
        assert!(!answer.valid && answer.discount.is_none());
        let is_below = error == DiscountRefusal::BelowMinimum;
        assert_eq!(answer.error_data.map(|data| data.amount), is_below.then_some(eur(2000)));
        assert_eq!(refused(shop.try_order_with(seats, quantity, "early")), error.to_string());
        error.to_string()
    };
    shop.turn("2025-12-31T23:59:59.999Z");
    assert_eq!(refused(shop.try_order_with(&seat, 1, "LATE")), "Discount code not found");
    assert_eq!(refused(shop.try_order_with(&seat, 1, "")), "Discount code not found");
    assert_eq!(judged(&seat, 1), "Discount code is not active");
    change(|of| of.is_active = Change::Set(true));
    assert_eq!(judged(&seat, 1), "Discount code is not valid yet");
    shop.turn("2026-01-01T00:00:00Z");
    assert_eq!(judged(&seat, 1), "Discount code usage limit reached");
    // Both ends of its time are to the millisecond, and what is over is told before what is used up.
    change(|of| of.valid_to = Change::Set(at("2026-01-02T00:00:00Z")));
    shop.turn("2026-01-01T23:59:59.999Z");
    assert_eq!(judged(&seat, 1), "Discount code usage limit reached");
    shop.turn("2026-01-02T00:00:00Z");
    assert_eq!(judged(&seat, 1), "Discount code has expired");
    change(|of| of.valid_to = Change::Set(at("2027-01-01T00:00:00Z")));
    change(|of| of.usage_limit = Change::Set(Some(2)));
    assert_eq!(judged(&seat, 1), "Minimum purchase amount not reached");
    assert_eq!(judged(&seat, 2), "Discount code does not apply to these tickets");
    assert!(shop.validate("early", &[(&box_seat, 2)]).valid, "exactly the minimum");
    assert_eq!(shop.order_with(&box_seat, 2, "early").discounted_amount, Some(eur(200)));
    assert_eq!(judged(&box_seat, 2), "Discount code usage limit reached");
}

#[test]
fn the_minimum_counts_the_whole_basket_before_the_discount() {
    let (shop, event, seat) = sale();
    let extra = shop.ticket_type(&event, 500, 100);
    let mut new = percent_off(&event, "EARLY", 50);
    (new.minimum_purchase, new.applicable_ticket_types) = (Some(eur(1500)), Some(vec![seat.id]));
    shop.discount(new);
    assert_eq!(shop.refusal("EARLY", &seat), Some(DiscountRefusal::BelowMinimum));
    let answer = shop.validate("EARLY", &[(&seat, 1), (&extra, 1)]);
    assert_eq!(answer.discount.map(|valid| valid.discounted_amount), Some(eur(500)));
}

#[test]
fn validation_believes_the_items_and_not_the_amount_and_refuses_what_is_malformed() {
    let (shop, event, seat) = sale();
    let elsewhere = shop.ticket_type(&shop.event(), 1000, 100);
    shop.discount(percent_off(&event, "EARLY", 10));
    let request = |change: &dyn Fn(&mut ValidateDiscount)| {
        let item = BasketItem { ticket_type_id: seat.id, quantity: 1, price: eur(7700) };
        let (code, order_amount) = ("EARLY".to_owned(), eur(1));
        let mut request = ValidateDiscount { event_id: event.id, code, order_amount, ticket_items: vec![item] };
        change(&mut request);
        shop.service.validate_discount(&shop.caller, request)
    };
    let taken_off = request(&|_| {}).expect("an answer").discount.expect("it applies").discounted_amount;
    assert_eq!(taken_off, eur(770), "a tenth of the price in the basket");
    let empty = request(&|new| new.ticket_items.clear()).expect("an answer");
    assert_eq!(empty.error, Some(DiscountRefusal::NotApplicable));
    let broken = request(&|new| {
        new.code.clear();
        new.order_amount = Amount::new(1, 3);
        new.ticket_items[0].quantity = 0;
        new.ticket_items.push(BasketItem { ticket_type_id: elsewhere.id, quantity: 1, price: Amount::new(1, 3) });
    });
    let mut found = paths(broken);
    found.sort_unstable();
    let all = ["code", "orderAmount", "ticketItems[0].quantity", "ticketItems[1].price", "ticketItems[1].ticketId"];
    assert_eq!(found, all);
    assert_eq!(paths(request(&|new| new.order_amount = eur(-1))), ["orderAmount"]);
    assert_eq!(paths(request(&|new| new.ticket_items[0].price = eur(-1))), ["ticketItems[0].price"]);
    assert_eq!(paths(request(&|new| new.ticket_items[0].quantity = i64::MAX)), ["ticketItems"]);
    assert_eq!(shop.stored("SELECT COUNT(*) FROM discounts WHERE used = 1 OR used_count > 0"), 0, "nothing is used");
}

#[test]
fn an_order_shows_the_stored_code_and_what_was_taken_off_and_keeps_both() {
    let (shop, event, seat) = sale();
    let of = shop.discount(percent_off(&event, "Early", 25));
    let order = shop.order_with(&seat, 2, "eARLY");
    assert_eq!((order.total, order.discounted_amount), (eur(1500), Some(eur(500))));
    assert_eq!(order.discount_code.as_deref(), Some("Early"));
    let item = &order.items[0].item;
    assert_eq!((item.item_subtotal, item.item_discount, item.final_amount), (eur(2000), eur(500), eur(1500)));
    assert_eq!(shop.gateway.checkouts()[0].amount, eur(1500));
    let used = shop.read_discount(of.id);
    assert_eq!(used, Discount { used_count: 1, ..of.clone() }, "a use is no change of the discount");

    shop.update(&of, |change| {
        (change.code, change.value) = (Change::Set("LATE".to_owned()), Change::Set(Amount::new(50, 0)));
    })
    .expect("a change");
    let read = shop.get(order.id);
    assert_eq!((read.total, read.discounted_amount), (eur(1500), Some(eur(500))));
    assert_eq!(read.discount_code.as_deref(), Some("Early"));
    shop.service.cancel_order(&shop.caller, order.id).expect("cancelled");
    assert_eq!(shop.used(&of), 0, "its use comes back under the new name");
    let plain = shop.order(&seat, 1);
    assert_eq!((plain.discounted_amount, plain.discount_code), (None, None));
}

#[test]
fn a_refused_code_is_told_after_everything_else_and_takes_nothing() {
    let shop = Shop::new();
    let event = shop.event_with(|new| new.accepts_company = Some(false));
    let seat = shop.ticket_type(&event, 1000, 2);
    let extra = shop.ticket_type(&event, 0, 5);
    let request = |quantity, company: Option<&str>| {
        let mut request = CreateOrder::new(event.id, ada(), seat.id, quantity);
        request.discount_code = Some("NOPE".to_owned());
        request.customer.company_name = company.map(str::to_owned);
        shop.service.create_order(&shop.caller, request).map(|placed| placed.order)
    };
    assert_eq!(reason(request(3, Some("Ada Ltd"))), Reason::SoldOut);
    assert_eq!(paths(request(1, Some("Ada Ltd"))), ["customer.companyName"]);
    assert_eq!(refused(request(1, None)), "Discount code not found");
    assert_eq!(refused(shop.try_order_with(&extra, 1, "NOPE")), "Discount code not found", "though it is free");
    assert_eq!(shop.stored("SELECT SUM(sold + held) FROM ticket_types"), 0);
    shop.move_event(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!(reason(request(1, None)), Reason::EventNotOnSale);
}

#[test]
fn all_off_makes_an_order_free_and_completes_it_at_once() {
    let (shop, event, seat) = sale();
    let of = shop.discount(percent_off(&event, "GIFT", 100));
    let order = shop.order_with(&seat, 2, "GIFT");
    assert_eq!((order.status, order.total), (OrderStatus::Completed, Amount::ZERO));
    assert_eq!(order.discounted_amount, Some(eur(2000)));
    assert_eq!(order.items[0].issued_tickets.len(), 2);
    assert!(order.payment_gateway.is_none() && shop.gateway.checkouts().is_empty());
    assert_eq!((shop.sold(&seat), shop.used(&of)), (2, 1));
    // So does an amount that is more than the order costs.
    shop.discount(amount_off(&event, "LOTS", eur(100_000)));
    let order = shop.order_with(&seat, 3, "LOTS");
    assert_eq!((order.status, order.discounted_amount), (OrderStatus::Completed, Some(eur(3000))));
    let back = shop.service.cancel_order(&shop.caller, order.id).expect("cancelled");
    assert!(!back.requires_manual_refund);
}

#[test]
fn a_named_code_that_takes_nothing_off_counts_and_shows_nothing_taken_off() {
    let (shop, event, seat) = sale();
    let of = shop.discount(percent_off(&event, "THANKS", 0));
    let order = shop.order_with(&seat, 1, "THANKS");
    assert_eq!((order.total, order.discounted_amount), (eur(1000), Some(Amount::ZERO)));
    assert_eq!((order.discount_code.as_deref(), shop.used(&of)), (Some("THANKS"), 1));
}

#[test]
fn without_a_code_the_automatic_discount_that_saves_most_applies() {
    let (shop, event, seat) = sale();
    let other = shop.ticket_type(&event, 1000, 100);
    let tenth = shop.discount(automatic(percent_off(&event, "TENTH", 10)));
    let three = shop.discount(limited(automatic(amount_off(&event, "THREE", eur(300))), 2));
    let most = CreateDiscount { is_active: Some(false), ..automatic(percent_off(&event, "OFF", 90)) };
    shop.discount(most);
    shop.discount(percent_off(&event, "NAMED", 50));
    let limited_to =
        CreateDiscount { applicable_ticket_types: Some(vec![other.id]), ..percent_off(&event, "OTHER", 80) };
    shop.discount(automatic(limited_to));
    let code = |order: &Order| order.discount_code.clone().unwrap_or_default();

    let order = shop.order(&seat, 1);
    assert_eq!((code(&order).as_str(), order.total), ("THREE", eur(700)));
    assert_eq!(code(&shop.order(&seat, 4)), "TENTH", "4.00 of 40.00 are more than 3.00");
    // A tie at 30.00: the oldest.
    assert_eq!(code(&shop.order(&seat, 3)), "TENTH");
    assert_eq!(code(&shop.order(&other, 1)), "OTHER");
    assert_eq!(code(&shop.order(&seat, 1)), "THREE");
    assert_eq!((shop.used(&three), shop.used(&tenth)), (2, 2));
    assert_eq!(code(&shop.order(&seat, 1)), "TENTH", "the uses of the better one are gone");
    // Who names one gets that one, whatever else there is, or none.
    assert_eq!(code(&shop.order_with(&seat, 1, "TENTH")), "TENTH");
    assert_eq!(code(&shop.order_with(&seat, 1, "NAMED")), "NAMED");
    assert_eq!(refused(shop.try_order_with(&seat, 1, "THREE")), "Discount code usage limit reached");
}

#[test]
fn an_automatic_discount_that_saves_nothing_is_not_used() {
    let (shop, event, seat) = sale();
    let free = shop.ticket_type(&event, 0, 100);
    let nothing = shop.discount(automatic(percent_off(&event, "NOTHING", 0)));
    let half = shop.discount(automatic(percent_off(&event, "HALF", 50)));
    let order = shop.order(&free, 1);
    assert_eq!((order.discount_code, order.discounted_amount), (None, None));
    shop.update(&half, |change| change.is_active = Change::Set(false)).expect("a change");
    assert_eq!(shop.order(&seat, 1).discounted_amount, None);
    assert_eq!((shop.used(&nothing), shop.used(&half)), (0, 0));
    shop.service.delete_discount(&shop.caller, nothing.id).expect("nobody used it");
}

#[test]
fn two_automatic_discounts_created_in_the_same_millisecond_are_told_apart_by_their_order() {
    let (shop, event, seat) = sale();
    for code in ["FIRST", "SECOND", "THIRD"] {
        shop.discount(automatic(percent_off(&event, code, 10)));
    }
    assert_eq!(shop.order(&seat, 1).discount_code.as_deref(), Some("FIRST"));
}

#[test]
fn an_automatic_discount_can_make_an_order_free() {
    let (shop, event, seat) = sale();
    shop.discount(automatic(percent_off(&event, "GIFT", 100)));
    assert_eq!(shop.order(&seat, 1).status, OrderStatus::Completed);
    assert_eq!(shop.sold(&seat), 1);
}

#[test]
fn a_use_comes_back_with_a_cancellation_once() {
    let (shop, event, seat) = sale();
    let of = shop.discount(limited(percent_off(&event, "ONCE", 10), 1));
    let pending = shop.order_with(&seat, 1, "ONCE");
    assert_eq!(shop.used(&of), 1);
    shop.service.cancel_order(&shop.caller, pending.id).expect("cancelled");
    assert_eq!(shop.used(&of), 0);
    let completed = shop.order_with(&seat, 1, "ONCE");
    shop.service.payment_completed(&shop.caller, completed.id).expect("paid");
    assert_eq!(refused(shop.try_order_with(&seat, 1, "ONCE")), "Discount code usage limit reached");
    shop.service.cancel_order(&shop.caller, completed.id).expect("cancelled");
    assert_eq!(shop.used(&of), 0);
    assert_eq!(reason(shop.service.cancel_order(&shop.caller, completed.id)), Reason::OrderNotCancellable);
    let expired = shop.order_with(&seat, 1, "ONCE");
    shop.let_holds_lapse();
    shop.service.cancel_order(&shop.caller, expired.id).expect("cancelled");
    assert_eq!(shop.used(&of), 0, "an expired order has none to give back");
}

#[test]
fn a_use_ends_at_the_instant_at_which_the_hold_does_whoever_comes_by() {
    let (shop, event, seat) = sale();
    let of = shop.discount(limited(percent_off(&event, "ONCE", 10), 1));
    let first = shop.order_with(&seat, 1, "ONCE");
    shop.clock.advance(HOLD - std::time::Duration::from_millis(1));
    assert_eq!(shop.refusal("ONCE", &seat), Some(DiscountRefusal::UsedUp));
    assert_eq!(refused(shop.try_order_with(&seat, 1, "ONCE")), "Discount code usage limit reached");
    shop.clock.advance(std::time::Duration::from_millis(1));
    let stored = "SELECT used_count FROM discounts";
    assert_eq!((shop.used(&of), shop.stored(stored)), (0, 1), "nobody wrote it down yet");
    assert_eq!(shop.codes_used(), [0]);
    assert_eq!(shop.refusal("ONCE", &seat), None);
    let second = shop.order_with(&seat, 1, "ONCE");
    assert_eq!((shop.used(&of), shop.stored(stored)), (1, 1));
    assert_eq!(shop.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 1, "who took the use wrote it");
    assert_eq!(
        (shop.order_status(first.id), shop.order_status(second.id)),
        (OrderStatus::Expired, OrderStatus::Pending)
    );

    shop.let_holds_lapse();
    shop.service.run_maintenance().expect("a run");
    assert_eq!((shop.used(&of), shop.stored(stored)), (0, 0));
    // The same where an order takes what applies by itself.
    shop.update(&of, |change| change.auto_apply = Change::Set(true)).expect("a change");
    assert_eq!(shop.order(&seat, 1).discount_code.as_deref(), Some("ONCE"));
    assert_eq!(shop.order(&seat, 1).discount_code, None);
    shop.let_holds_lapse();
    assert_eq!(shop.order(&seat, 1).discount_code.as_deref(), Some("ONCE"));
}

impl Shop {
    fn codes_used(&self) -> Vec<i64> {
        let page = self.service.list_discounts(&self.caller, ListDiscounts::default()).expect("a page");
        page.data.into_iter().map(|discount| discount.used_count).collect()
    }
}

#[test]
fn a_use_comes_back_where_the_gateway_gives_no_link() {
    let (shop, event, seat) = sale();
    let of = shop.discount(limited(percent_off(&event, "ONCE", 10), 1));
    shop.gateway.on_checkout(Mood::Refusing);
    assert!(matches!(shop.try_order_with(&seat, 1, "ONCE"), Err(ticketing::Error::PaymentGatewayFailed(_))));
    assert_eq!(shop.used(&of), 0);
    shop.gateway.on_checkout(Mood::Helpful);
    shop.order_with(&seat, 1, "ONCE");
}

#[test]
fn cancelling_an_event_returns_the_uses_of_what_was_pending_and_no_others() {
    let (shop, event, seat) = sale();
    let of = shop.discount(percent_off(&event, "EARLY", 10));
    shop.order_with(&seat, 1, "EARLY");
    shop.let_holds_lapse();
    shop.order_with(&seat, 1, "EARLY");
    let completed = shop.order_with(&seat, 1, "EARLY");
    shop.service.payment_completed(&shop.caller, completed.id).expect("paid");
    shop.move_event(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!((shop.used(&of), shop.stored("SELECT used_count FROM discounts")), (1, 1));
}

#[test]
fn a_late_payment_takes_its_use_anew_or_goes_back() {
    let (shop, event, seat) = sale();
    let of = shop.discount(limited(percent_off(&event, "ONCE", 10), 1));
    let late = shop.order_with(&seat, 1, "ONCE");
    shop.let_holds_lapse();
    // Only the limit is judged: the rest was in time.
    let (over, off) = (at("2026-05-01T00:00:00Z"), Change::Set(false));
    shop.update(&of, |change| (change.valid_to, change.is_active) = (Change::Set(over), off)).expect("a change");
    let revived = shop.service.payment_completed(&shop.caller, late.id).expect("a notice");
    assert_eq!((revived.status, shop.used(&of)), (OrderStatus::Completed, 1));
    assert_eq!((revived.total, revived.discounted_amount), (eur(900), Some(eur(100))));

    shop.service.cancel_order(&shop.caller, late.id).expect("cancelled");
    let end = at("2027-01-01T00:00:00Z");
    shop.update(&of, |change| (change.valid_to, change.is_active) = (Change::Set(end), Change::Set(true)))
        .expect("a change");
    let late = shop.order_with(&seat, 1, "ONCE");
    shop.let_holds_lapse();
    let taker = shop.order_with(&seat, 1, "ONCE");
    assert_eq!(reason(shop.service.mark_order_paid(&shop.caller, late.id)), Reason::DiscountUsedUp);
    assert_eq!(shop.order_status(late.id), OrderStatus::Expired);
    let lost = shop.service.payment_completed(&shop.caller, late.id).expect("a notice");
    assert_eq!(lost.status, OrderStatus::Expired);
    assert_eq!(shop.payment_status(late.id), Some(PaymentStatus::Refunded));
    let refund = shop.gateway.refunds().pop().expect("a refund");
    assert_eq!((refund.order_id, refund.amount), (late.id, eur(900)));
    assert_eq!((shop.used(&of), shop.order_status(taker.id)), (1, OrderStatus::Pending));
    assert_eq!(shop.stored("SELECT sold FROM ticket_types"), 0, "it took no place either");
    let refunds = shop.service.list_refunds(&shop.caller, ListRefunds::default()).expect("a page").data;
    assert!(refunds.iter().all(|refund| refund.status == RefundStatus::Done));
}

#[test]
fn an_expired_order_is_refused_for_its_event_its_places_and_its_use_in_this_order() {
    let shop = Shop::new();
    let event = shop.event();
    let (seat, spare) = (shop.ticket_type(&event, 1000, 1), shop.ticket_type(&event, 1000, 10));
    let of = shop.discount(limited(percent_off(&event, "ONCE", 10), 1));
    let late = shop.order_with(&seat, 1, "ONCE");
    shop.let_holds_lapse();
    let place = shop.order(&seat, 1);
    let using = shop.order_with(&spare, 1, "ONCE");
    let mark = || reason(shop.service.mark_order_paid(&shop.caller, late.id));
    assert_eq!(mark(), Reason::SoldOut);
    shop.service.cancel_order(&shop.caller, place.id).expect("cancelled");
    assert_eq!(mark(), Reason::DiscountUsedUp);
    shop.update(&of, |change| change.usage_limit = Change::Set(Some(2))).expect("a change");
    shop.service.mark_order_paid(&shop.caller, using.id).expect("paid");
    shop.service.mark_order_paid(&shop.caller, late.id).expect("there is a use again");
    assert_eq!(shop.used(&of), 2);

    let last = shop.order(&spare, 1);
    shop.let_holds_lapse();
    shop.move_event(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!(reason(shop.service.mark_order_paid(&shop.caller, last.id)), Reason::EventCancelled);
}

#[test]
fn a_lapsed_hold_gives_its_use_to_a_late_payment_that_comes_first() {
    let (shop, event, seat) = sale();
    let of = shop.discount(limited(percent_off(&event, "ONCE", 10), 1));
    let first = shop.order_with(&seat, 1, "ONCE");
    shop.let_holds_lapse();
    let second = shop.order_with(&seat, 1, "ONCE");
    shop.let_holds_lapse();
    // The second is expired and not written so; the first takes its use.
    shop.service.mark_order_paid(&shop.caller, first.id).expect("paid");
    assert_eq!(reason(shop.service.mark_order_paid(&shop.caller, second.id)), Reason::DiscountUsedUp);
    assert_eq!(shop.used(&of), 1);
}

#[test]
fn a_limit_below_what_is_used_lets_nobody_else_in() {
    let (shop, event, seat) = sale();
    let of = shop.discount(percent_off(&event, "EARLY", 10));
    let orders = [(); 3].map(|()| shop.order_with(&seat, 1, "EARLY"));
    let lowered = shop.update(&of, |change| change.usage_limit = Change::Set(Some(1))).expect("a change");
    assert_eq!((lowered.usage_limit, lowered.used_count), (Some(1), 3));
    assert_eq!(refused(shop.try_order_with(&seat, 1, "EARLY")), "Discount code usage limit reached");
    for order in &orders[..2] {
        shop.service.cancel_order(&shop.caller, order.id).expect("cancelled");
        assert_eq!(refused(shop.try_order_with(&seat, 1, "EARLY")), "Discount code usage limit reached");
    }
    shop.service.cancel_order(&shop.caller, orders[2].id).expect("cancelled");
    shop.order_with(&seat, 1, "EARLY");
}

#[test]
fn what_was_ever_used_is_not_deleted_and_an_event_takes_its_discounts_along() {
    let (shop, event, seat) = sale();
    let of = shop.discount(percent_off(&event, "EARLY", 10));
    let order = shop.order_with(&seat, 1, "EARLY");
    shop.service.cancel_order(&shop.caller, order.id).expect("cancelled");
    assert_eq!(shop.used(&of), 0);
    assert_eq!(reason(shop.service.delete_discount(&shop.caller, of.id)), Reason::InUse);
    assert_eq!(reason(shop.service.delete_event(&shop.caller, event.id)), Reason::InUse);
    let other = shop.event();
    let gone = shop.discount(percent_off(&other, "EARLY", 10));
    shop.service.delete_event(&shop.caller, other.id).expect("nobody ordered");
    is_not_found(shop.service.get_discount(&shop.caller, gone.id));
    // A refused order used nothing.
    let unused = shop.discount(percent_off(&event, "LATE", 10));
    assert_eq!(reason(shop.try_order_with(&shop.ticket_type(&event, 1, 1), 2, "LATE")), Reason::SoldOut);
    shop.service.delete_discount(&shop.caller, unused.id).expect("nobody used it");
}

#[test]
fn a_deleted_ticket_type_stays_in_the_list_which_never_becomes_empty_by_that() {
    let (shop, event, seat) = sale();
    let gone = shop.ticket_type(&event, 1000, 10);
    let elsewhere = shop.ticket_type(&shop.event(), 1000, 10);
    let listing =
        |types: Vec<_>| CreateDiscount { applicable_ticket_types: Some(types), ..percent_off(&event, "EARLY", 10) };
    let refused = shop.service.create_discount(&shop.caller, listing(vec![seat.id, elsewhere.id, gone.id]));
    assert_eq!(paths(refused), ["applicableTicketTypes[1]"]);
    let of = shop.discount(listing(vec![gone.id]));
    shop.service.delete_ticket_type(&shop.caller, gone.id).expect("nobody ordered it");
    assert_eq!(shop.read_discount(of.id).applicable_ticket_types, [gone.id]);
    assert_eq!(shop.refusal("EARLY", &seat), Some(DiscountRefusal::NotApplicable));
    // What is not named in an update is not judged; what is, is.
    shop.update(&of, |change| change.value = Change::Set(Amount::new(20, 0))).expect("a change");
    let again = shop.update(&of, |change| change.applicable_ticket_types = Change::Set(vec![gone.id]));
    assert_eq!(paths(again), ["applicableTicketTypes[0]"]);
    shop.update(&of, |change| change.applicable_ticket_types = Change::Set(Vec::new())).expect("a change");
    assert_eq!(shop.refusal("EARLY", &seat), None);
}

#[test]
fn a_currency_stays_once_a_discount_has_an_amount_in_it() {
    let shop = Shop::new();
    let event = shop.event();
    let to_yen = || {
        let changes = UpdateEvent { currency: Change::Set("JPY".to_owned()), ..Default::default() };
        let moved = shop.service.update_event(&shop.caller, event.id, changes);
        let back = UpdateEvent { currency: Change::Set("EUR".to_owned()), ..Default::default() };
        if moved.is_ok() {
            shop.service.update_event(&shop.caller, event.id, back).expect("and back");
        }
        moved.map(drop)
    };
    let of = shop.discount(percent_off(&event, "EARLY", 10));
    to_yen().expect("a percentage is of any currency");
    shop.update(&of, |change| change.minimum_purchase = Change::Set(Some(eur(500)))).expect("a change");
    assert_eq!(reason(to_yen()), Reason::InUse);
    shop.update(&of, |change| change.minimum_purchase = Change::Set(None)).expect("a change");
    to_yen().expect("no amount is left");
    let fixed = shop.discount(amount_off(&event, "FIVE", eur(500)));
    assert_eq!(reason(to_yen()), Reason::InUse);
    shop.service.delete_discount(&shop.caller, fixed.id).expect("nobody used it");
    to_yen().expect("no amount is left");
}

#[test]
fn two_entries_of_one_type_stay_two_items_and_each_gets_its_part() {
    let (shop, event, seat) = sale();
    shop.discount(amount_off(&event, "FIVE", eur(500)));
    let mut request = CreateOrder::new(event.id, ada(), seat.id, 1);
    request.items.push(NewOrderItem { ticket_type_id: seat.id, quantity: 2 });
    request.discount_code = Some("FIVE".to_owned());
    let order = shop.service.create_order(&shop.caller, request).expect("an order").order;
    let parts: Vec<_> = order.items.iter().map(|item| (item.item.quantity, item.item.item_discount)).collect();
    // 5.00 over 10.00 and 20.00: 1.67 and 3.33.
    assert_eq!(parts, [(1, eur(167)), (2, eur(333))]);
    assert_eq!(order.total, eur(2500));
}
