//! Discounts: validation, when a code applies, automatic discounts, and when a use is claimed and released.

use ticketing::discount::{
    BasketItem, CreateDiscount, Discount, DiscountRefusal, DiscountValidationResponse, DiscountValue, ListDiscounts,
    Percentage, UpdateDiscount, ValidateDiscount,
};
use ticketing::error::Reason;
use ticketing::event::{Event, EventStatus, UpdateEvent};
use ticketing::order::{CreateOrder, NewOrderItem, Order, OrderStatus, PaymentStatus};
use ticketing::payment::ManualMethod;
use ticketing::payment::{ListRefunds, RefundStatus};
use ticketing::request::Request;
use ticketing::ticket_type::TicketType;
use ticketing::{Amount, Change, Result};

use crate::common::*;

impl Fixture {
    fn update(&self, discount: &Discount, change: impl FnOnce(&mut UpdateDiscount)) -> Result<Discount> {
        let mut changes = UpdateDiscount::default();
        change(&mut changes);
        self.service.update_discount(&self.caller, discount.id, changes)
    }

    fn update_from_json(&self, discount: &Discount, changes: &str) -> Result<Discount> {
        let changes = Request::<UpdateDiscount>::from_json(changes.as_bytes()).expect("JSON");
        self.service.update_discount(&self.caller, discount.id, changes)
    }

    pub fn validate(&self, code: &str, basket: &[(&TicketType, i64)]) -> DiscountValidationResponse {
        let event_id = basket[0].0.event_id;
        let items =
            basket.iter().map(|(ticket_type, quantity)| BasketItem::new(ticket_type.id, *quantity, ticket_type.price));
        let code = code.to_owned();
        let request = ValidateDiscount::new(event_id, code, items);
        self.service.validate_discount(&self.caller, request).expect("an answer")
    }

    fn refusal(&self, code: &str, ticket_type: &TicketType) -> Option<DiscountRefusal> {
        self.validate(code, &[(ticket_type, 1)]).error
    }
}

/// Creates an event with a ticket type at 10.00 EUR.
fn sale() -> (Fixture, Event, TicketType) {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1000, 100);
    (fixture, event, ticket_type)
}

fn limited(new: CreateDiscount, limit: i64) -> CreateDiscount {
    new.usage_limit(limit)
}

fn automatic(new: CreateDiscount) -> CreateDiscount {
    new.auto_apply(true)
}

/// Returns the message of the field error with which a discount code was refused.
#[track_caller]
fn refused(result: Result<Order>) -> String {
    let error = result.expect_err("a refusal");
    let [field] = error.fields() else { panic!("expected one field error, got {error:?}") };
    assert_eq!(field.path, "discountCode");
    field.message.clone()
}

#[test]
fn a_discount_made_of_a_code_and_a_value_applies_at_any_time() {
    let (fixture, event, ticket_type) = sale();
    fixture.discount(CreateDiscount::percentage("TENTH", 10).event(event.id));
    fixture.discount(CreateDiscount::fixed_amount("FOUR", Amount::whole(4)).event(event.id));
    for now in ["1970-01-01T00:00:00Z", "2026-06-01T12:00:00Z"] {
        fixture.set_clock(now);
        let of = |code| fixture.validate(code, &[(&ticket_type, 1)]).discount.map(|applied| applied.discounted_amount);
        assert_eq!((of("tenth"), of("four")), (Some(eur(100)), Some(eur(400))), "{now}");
    }
}

#[test]
fn a_discount_is_created_with_defaults_read_updated_and_deleted() {
    let (fixture, event, _) = sale();
    let created = fixture.discount(percent_off(&event, "Early", 10));
    let expected = from_json::<Discount>(json!({
        "id": created.id,
        "eventId": event.id,
        "code": "Early",
        "type": "PERCENTAGE",
        "value": 10,
        "description": null,
        "autoApply": false,
        "usageLimit": null,
        "usedCount": 0,
        "validFrom": at("2026-01-01T00:00:00Z"),
        "validTo": at("2027-01-01T00:00:00Z"),
        "isActive": true,
        "minimumPurchase": null,
        "applicableTicketTypes": [],
        "createdAt": at(NOW),
        "updatedAt": at(NOW),
        "revision": 1
    }));
    assert_eq!(created, expected);
    assert_eq!(fixture.read_discount(created.id), expected);

    fixture.set_clock("2026-06-02T00:00:00Z");
    let changed = fixture.update(&created, |change| {
        change.description = Change::Set("For friends".to_owned());
        change.usage_limit = Change::Set(Some(7));
        change.minimum_purchase = Change::Set(Some(eur(550)));
        change.auto_apply = Change::Set(true);
    });
    let expected = with!(
        expected,
        description = Some("For friends".to_owned()),
        usage_limit = Some(7),
        minimum_purchase = Some(eur(550)),
        auto_apply = true,
        updated_at = at("2026-06-02T00:00:00Z"),
        revision = 2
    );
    assert_eq!(changed, Ok(expected.clone()));
    let cleared = fixture.update(&created, |change| {
        change.usage_limit = Change::Set(None);
        change.minimum_purchase = Change::Set(None);
    });
    let expected = with!(expected, usage_limit = None, minimum_purchase = None, revision = 3);
    assert_eq!(cleared, Ok(expected));

    fixture.service.delete_discount(&fixture.caller, created.id).expect("an unused discount");
    assert_not_found(fixture.service.get_discount(&fixture.caller, created.id));
    assert_not_found(fixture.service.delete_discount(&fixture.caller, created.id));
    assert_not_found(fixture.update(&created, |_| {}));
}

#[test]
fn an_update_is_validated_together_with_the_unchanged_fields() {
    let (fixture, event, _) = sale();
    let discount = fixture.discount(percent_off(&event, "EARLY", 0).value("12.345".parse::<Percentage>().expect("it")));
    let fixed = fixture.update_from_json(&discount, r#"{"type": "FIXED_AMOUNT"}"#);
    assert_eq!(paths(fixed), ["value"], "12.345 is not an amount in EUR");
    let fixed = fixture.update(&discount, |change| *change = change.clone().value(eur(15_000)));
    assert_eq!(fixed.expect("an amount").value, DiscountValue::FixedAmount(eur(15_000)));
    let fixed = fixture.update_from_json(&discount, r#"{"value": 160}"#);
    assert_eq!(fixed.expect("an amount").value, DiscountValue::FixedAmount(eur(16_000)));
    let percent = fixture.update_from_json(&discount, r#"{"type": "PERCENTAGE"}"#);
    assert_eq!(paths(percent), ["value"], "160 percent is too much");
    assert_eq!(
        paths(fixture.update(&discount, |change| change.valid_from = Change::Set(discount.valid_to))),
        ["validTo"]
    );
    assert_eq!(
        paths(fixture.update(&discount, |change| change.valid_to = Change::Set(discount.valid_from))),
        ["validTo"]
    );
}

#[test]
fn a_code_is_unique_in_its_event_however_its_letters_are_encoded() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(percent_off(&event, "Größe", 10));
    for code in ["Größe", "GRÖßE", "größe"] {
        let again = fixture.service.create_discount(&fixture.caller, percent_off(&event, code, 5));
        assert_eq!(reason(again), Reason::CodeTaken, "{code}");
        assert_eq!(fixture.refusal(code, &ticket_type), None, "{code}");
    }
    // Full case folding (the Unicode Standard, section 3.13) makes ß ss, and ς σ. NFKC composes accents, and makes
    // full-width letters plain.
    for (stored, typed) in [
        ("CAFÉ", "cafe\u{301}"),
        ("E\u{301}TE\u{301}", "été"),
        ("ABC1", "ＡＢＣ１"),
        ("STRASSE", "straße"),
        ("ΣΟΦΟΣ", "σοφος"),
        ("SAVE10", " save10\u{a0}"),
        ("ﬁrst", "FIRST"),
    ] {
        let kept = fixture.discount(percent_off(&event, stored, 10));
        assert_eq!(kept.code, stored);
        let again = fixture.service.create_discount(&fixture.caller, percent_off(&event, typed, 5));
        assert_eq!(reason(again), Reason::CodeTaken, "{typed}");
        let validated = fixture.validate(typed, &[(&ticket_type, 1)]).discount.map(|discount| discount.code);
        assert_eq!(validated.as_deref(), Some(stored), "{typed}");
        assert_eq!(fixture.order_with_code(&ticket_type, 1, typed).discount_code.as_deref(), Some(stored));
        let filter = ListDiscounts::default().code(typed);
        let listed = fixture.service.list_discounts(&fixture.caller, filter).expect("a page").data;
        assert_eq!(listed.iter().map(|found| found.id).collect::<Vec<_>>(), [kept.id], "{typed}");
    }
    // A code in another event, and codes of other letters.
    fixture.discount(percent_off(&fixture.event(), "Größe", 5));
    let other = fixture.discount(percent_off(&event, "Grosse", 5));
    assert_eq!(fixture.refusal("Gr öße", &ticket_type), Some(DiscountRefusal::NotFound));
    assert_eq!(
        reason(fixture.update(&other, |change| change.code = Change::Set("GRÖßE".to_owned()))),
        Reason::CodeTaken
    );
    let own = fixture.update(&discount, |change| change.code = Change::Set("GRÖßE".to_owned()));
    assert_eq!(own.expect("its own code, in upper case").code, "GRÖßE");
}

#[test]
fn validation_and_order_return_the_same_first_reason_against_a_code() {
    let (fixture, event, ticket_type) = sale();
    let box_type = fixture.ticket_type(&event, 1000, 100);
    let mut new = limited(percent_off(&event, "EARLY", 10), 1);
    new.minimum_purchase = Some(eur(2000));
    let discount = fixture.discount(new);
    let first = fixture.order_with_code(&ticket_type, 2, "EARLY");
    fixture.service.mark_order_paid(&fixture.caller, first.id, ManualMethod::Cash).expect("paid");
    // Now all reasons against the code apply. Each step removes one.
    let change = |change: fn(&mut UpdateDiscount)| fixture.update(&discount, change).expect("a change");
    change(|discount| discount.is_active = Change::Set(false));
    let to_box = Change::Set(vec![box_type.id]);
    fixture.update(&discount, |change| change.applicable_ticket_types = to_box).expect("a change");
    let refusal_of = |ticket_type: &TicketType, quantity| {
        let answer = fixture.validate("early", &[(ticket_type, quantity)]);
        let error = answer.error.expect("a refusal");
        assert!(!answer.valid && answer.discount.is_none());
        let is_below = error == DiscountRefusal::BelowMinimum;
        assert_eq!(answer.error_data.map(|data| data.amount), is_below.then_some(eur(2000)));
        assert_eq!(refused(fixture.try_order_with_code(ticket_type, quantity, "early")), error.to_string());
        error.to_string()
    };
    fixture.set_clock("2025-12-31T23:59:59.999Z");
    assert_eq!(refused(fixture.try_order_with_code(&ticket_type, 1, "LATE")), "Discount code not found");
    assert_eq!(refused(fixture.try_order_with_code(&ticket_type, 1, "")), "Discount code not found");
    assert_eq!(refusal_of(&ticket_type, 1), "Discount code is not active");
    change(|discount| discount.is_active = Change::Set(true));
    assert_eq!(refusal_of(&ticket_type, 1), "Discount code is not valid yet");
    fixture.set_clock("2026-01-01T00:00:00Z");
    assert_eq!(refusal_of(&ticket_type, 1), "Discount code usage limit reached");
    // Both ends of its validity are exact to the millisecond, and expiry comes before the usage limit.
    change(|discount| discount.valid_to = Change::Set(at("2026-01-02T00:00:00Z")));
    fixture.set_clock("2026-01-01T23:59:59.999Z");
    assert_eq!(refusal_of(&ticket_type, 1), "Discount code usage limit reached");
    fixture.set_clock("2026-01-02T00:00:00Z");
    assert_eq!(refusal_of(&ticket_type, 1), "Discount code has expired");
    change(|discount| discount.valid_to = Change::Set(at("2027-01-01T00:00:00Z")));
    change(|discount| discount.usage_limit = Change::Set(Some(2)));
    assert_eq!(refusal_of(&ticket_type, 1), "Minimum purchase amount not reached");
    assert_eq!(refusal_of(&ticket_type, 2), "Discount code does not apply to these tickets");
    assert!(fixture.validate("early", &[(&box_type, 2)]).valid, "exactly the minimum");
    assert_eq!(fixture.order_with_code(&box_type, 2, "early").discounted_amount, Some(eur(200)));
    assert_eq!(refusal_of(&box_type, 2), "Discount code usage limit reached");
}

#[test]
fn the_minimum_counts_the_whole_basket_before_the_discount() {
    let (fixture, event, ticket_type) = sale();
    let extra = fixture.ticket_type(&event, 500, 100);
    let mut new = percent_off(&event, "EARLY", 50);
    new.minimum_purchase = Some(eur(1500));
    new.applicable_ticket_types = Some(vec![ticket_type.id]);
    fixture.discount(new);
    assert_eq!(fixture.refusal("EARLY", &ticket_type), Some(DiscountRefusal::BelowMinimum));
    let answer = fixture.validate("EARLY", &[(&ticket_type, 1), (&extra, 1)]);
    assert_eq!(answer.discount.map(|valid| valid.discounted_amount), Some(eur(500)));
}

#[test]
fn validation_uses_the_items_instead_of_the_order_amount() {
    let (fixture, event, ticket_type) = sale();
    let other_type = fixture.ticket_type(&fixture.event(), 1000, 100);
    fixture.discount(percent_off(&event, "EARLY", 10));
    let request = |change: &dyn Fn(&mut ValidateDiscount)| {
        let item = BasketItem::new(ticket_type.id, 1, eur(7700));
        let code = "EARLY".to_owned();
        let order_amount = eur(1);
        let mut request = ValidateDiscount::new(event.id, code, [item]).order_amount(order_amount);
        change(&mut request);
        fixture.service.validate_discount(&fixture.caller, request)
    };
    let discounted_amount = request(&|_| {}).expect("an answer").discount.expect("it applies").discounted_amount;
    assert_eq!(discounted_amount, eur(770), "10 % of the price in the basket");
    // What does not count is not judged: 7 * 19.99 in floating point, and the largest number.
    for ignored in [amount(13_992_999_999_999_998, 14), amount(1, 18), Amount::whole(i64::MAX)] {
        let answer = request(&|new| new.order_amount = ignored).expect("an answer");
        assert_eq!(answer.discount.expect("it applies").discounted_amount, eur(770), "{ignored}");
    }
    let empty = request(&|new| new.ticket_items.clear()).expect("an answer");
    assert_eq!(empty.error, Some(DiscountRefusal::NotApplicable));
    let broken = request(&|new| {
        new.code.clear();
        new.ticket_items.push(BasketItem::new(other_type.id, 1, amount(1, 3)));
    });
    let mut found = paths(broken);
    found.sort_unstable();
    assert_eq!(found, ["code", "ticketItems[1].price", "ticketItems[1].ticketId"]);
    assert_eq!(
        fixture.stored("SELECT COUNT(*) FROM discounts WHERE used = 1 OR used_count > 0"),
        0,
        "a validation uses nothing"
    );
}

#[test]
fn an_order_keeps_the_stored_code_and_the_discounted_amount() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(percent_off(&event, "Early", 25));
    let order = fixture.order_with_code(&ticket_type, 2, "eARLY");
    assert_eq!((order.total, order.discounted_amount), (eur(1500), Some(eur(500))));
    assert_eq!(order.discount_code.as_deref(), Some("Early"));
    let item = &order.items[0];
    assert_eq!((item.item_subtotal, item.item_discount, item.final_amount), (eur(2000), eur(500), eur(1500)));
    assert_eq!(fixture.gateway.checkouts()[0].amount, eur(1500));
    let used = fixture.read_discount(discount.id);
    assert_eq!(used, with!(discount.clone(), used_count = 1), "a use does not change the revision");

    fixture
        .update(&discount, |change| {
            change.code = Change::Set("LATE".to_owned());
            *change = change.clone().value(percent(50));
        })
        .expect("a change");
    let read = fixture.read_order(order.id);
    assert_eq!((read.total, read.discounted_amount), (eur(1500), Some(eur(500))));
    assert_eq!(read.discount_code.as_deref(), Some("Early"));
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!(fixture.discount_uses(&discount), 0, "the use is released although the code has changed");
    let plain = fixture.order(&ticket_type, 1);
    assert_eq!((plain.discounted_amount, plain.discount_code), (None, None));
}

#[test]
fn the_discount_code_is_checked_last_and_a_refusal_reserves_nothing() {
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| new.accepts_company = Some(false));
    let ticket_type = fixture.ticket_type(&event, 1000, 2);
    let extra = fixture.ticket_type(&event, 0, 5);
    let request = |quantity, company: Option<&str>| {
        let mut request = CreateOrder::new(event.id, new_customer(), ticket_type.id, quantity);
        request.discount_code = Some("NOPE".to_owned());
        request.customer.company_name = company.map(str::to_owned);
        fixture.service.create_order(&fixture.caller, request).map(|created| created.order)
    };
    assert_eq!(reason(request(3, Some("Ada Ltd"))), Reason::SoldOut);
    assert_eq!(paths(request(1, Some("Ada Ltd"))), ["customer.companyName"]);
    assert_eq!(refused(request(1, None)), "Discount code not found");
    assert_eq!(
        refused(fixture.try_order_with_code(&extra, 1, "NOPE")),
        "Discount code not found",
        "even if the order is free"
    );
    assert_eq!(fixture.stored("SELECT SUM(sold + held) FROM ticket_types"), 0);
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!(reason(request(1, None)), Reason::EventNotOnSale);
}

#[test]
fn a_full_discount_completes_the_order_at_once() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(percent_off(&event, "GIFT", 100));
    let order = fixture.order_with_code(&ticket_type, 2, "GIFT");
    assert_eq!((order.status, order.total), (OrderStatus::Completed, Amount::ZERO));
    assert_eq!(order.discounted_amount, Some(eur(2000)));
    assert_eq!(order.items[0].issued_tickets.len(), 2);
    assert!(order.payment_gateway.is_none() && fixture.gateway.checkouts().is_empty());
    assert_eq!((fixture.sold(&ticket_type), fixture.discount_uses(&discount)), (2, 1));
    // So does a fixed amount that is more than the order costs.
    fixture.discount(amount_off(&event, "LOTS", eur(100_000)));
    let order = fixture.order_with_code(&ticket_type, 3, "LOTS");
    assert_eq!((order.status, order.discounted_amount), (OrderStatus::Completed, Some(eur(3000))));
    let back = fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert!(!back.requires_manual_refund);
}

#[test]
fn a_code_that_saves_nothing_counts_as_used() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(percent_off(&event, "THANKS", 0));
    let order = fixture.order_with_code(&ticket_type, 1, "THANKS");
    assert_eq!((order.total, order.discounted_amount), (eur(1000), Some(Amount::ZERO)));
    assert_eq!((order.discount_code.as_deref(), fixture.discount_uses(&discount)), (Some("THANKS"), 1));
}

#[test]
fn without_a_code_the_automatic_discount_that_saves_most_applies() {
    let (fixture, event, ticket_type) = sale();
    let other = fixture.ticket_type(&event, 1000, 100);
    let tenth = fixture.discount(automatic(percent_off(&event, "TENTH", 10)));
    let three = fixture.discount(limited(automatic(amount_off(&event, "THREE", eur(300))), 2));
    let most = automatic(percent_off(&event, "OFF", 90)).is_active(false);
    fixture.discount(most);
    fixture.discount(percent_off(&event, "NAMED", 50));
    let limited_to = percent_off(&event, "OTHER", 80).applicable_ticket_types([other.id]);
    fixture.discount(automatic(limited_to));
    let code = |order: &Order| order.discount_code.clone().unwrap_or_default();

    let order = fixture.order(&ticket_type, 1);
    assert_eq!((code(&order).as_str(), order.total), ("THREE", eur(700)));
    assert_eq!(code(&fixture.order(&ticket_type, 4)), "TENTH", "4.00 of 40.00 is more than 3.00");
    // A tie at 30.00: the older one.
    assert_eq!(code(&fixture.order(&ticket_type, 3)), "TENTH");
    assert_eq!(code(&fixture.order(&other, 1)), "OTHER");
    assert_eq!(code(&fixture.order(&ticket_type, 1)), "THREE");
    assert_eq!((fixture.discount_uses(&three), fixture.discount_uses(&tenth)), (2, 2));
    assert_eq!(code(&fixture.order(&ticket_type, 1)), "TENTH", "the better one is used up");
    // A request with a code gets that discount or an error, even if a better one would apply automatically.
    assert_eq!(code(&fixture.order_with_code(&ticket_type, 1, "TENTH")), "TENTH");
    assert_eq!(code(&fixture.order_with_code(&ticket_type, 1, "NAMED")), "NAMED");
    assert_eq!(refused(fixture.try_order_with_code(&ticket_type, 1, "THREE")), "Discount code usage limit reached");
}

#[test]
fn an_automatic_discount_that_saves_nothing_is_not_used() {
    let (fixture, event, ticket_type) = sale();
    let free = fixture.ticket_type(&event, 0, 100);
    let nothing = fixture.discount(automatic(percent_off(&event, "NOTHING", 0)));
    let half = fixture.discount(automatic(percent_off(&event, "HALF", 50)));
    let order = fixture.order(&free, 1);
    assert_eq!((order.discount_code, order.discounted_amount), (None, None));
    fixture.update(&half, |change| change.is_active = Change::Set(false)).expect("a change");
    assert_eq!(fixture.order(&ticket_type, 1).discounted_amount, None);
    assert_eq!((fixture.discount_uses(&nothing), fixture.discount_uses(&half)), (0, 0));
    fixture.service.delete_discount(&fixture.caller, nothing.id).expect("an unused discount");
}

#[test]
fn of_automatic_discounts_from_the_same_millisecond_the_first_applies() {
    let (fixture, event, ticket_type) = sale();
    for code in ["FIRST", "SECOND", "THIRD"] {
        fixture.discount(automatic(percent_off(&event, code, 10)));
    }
    assert_eq!(fixture.order(&ticket_type, 1).discount_code.as_deref(), Some("FIRST"));
}

#[test]
fn a_cancellation_releases_the_use_once() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(limited(percent_off(&event, "ONCE", 10), 1));
    let pending = fixture.order_with_code(&ticket_type, 1, "ONCE");
    assert_eq!(fixture.discount_uses(&discount), 1);
    fixture.service.cancel_order(&fixture.caller, pending.id).expect("cancelled");
    assert_eq!(fixture.discount_uses(&discount), 0);
    let completed = fixture.order_with_code(&ticket_type, 1, "ONCE");
    fixture.service.payment_completed(&fixture.caller, completed.id).expect("paid");
    assert_eq!(refused(fixture.try_order_with_code(&ticket_type, 1, "ONCE")), "Discount code usage limit reached");
    fixture.service.cancel_order(&fixture.caller, completed.id).expect("cancelled");
    assert_eq!(fixture.discount_uses(&discount), 0);
    assert_eq!(reason(fixture.service.cancel_order(&fixture.caller, completed.id)), Reason::OrderNotCancellable);
    let expired = fixture.order_with_code(&ticket_type, 1, "ONCE");
    fixture.expire_holds();
    fixture.service.cancel_order(&fixture.caller, expired.id).expect("cancelled");
    assert_eq!(fixture.discount_uses(&discount), 0, "an expired order has no use to release");
}

#[test]
fn a_use_is_released_at_the_instant_the_hold_ends() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(limited(percent_off(&event, "ONCE", 10), 1));
    let first = fixture.order_with_code(&ticket_type, 1, "ONCE");
    fixture.clock.advance(HOLD - std::time::Duration::from_millis(1));
    assert_eq!(fixture.refusal("ONCE", &ticket_type), Some(DiscountRefusal::UsedUp));
    assert_eq!(refused(fixture.try_order_with_code(&ticket_type, 1, "ONCE")), "Discount code usage limit reached");
    fixture.clock.advance(std::time::Duration::from_millis(1));
    let stored = "SELECT used_count FROM discounts";
    assert_eq!((fixture.discount_uses(&discount), fixture.stored(stored)), (0, 1), "the expiry is not stored yet");
    assert_eq!(fixture.codes_used(), [0]);
    assert_eq!(fixture.refusal("ONCE", &ticket_type), None);
    let second = fixture.order_with_code(&ticket_type, 1, "ONCE");
    assert_eq!((fixture.discount_uses(&discount), fixture.stored(stored)), (1, 1));
    assert_eq!(
        fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"),
        1,
        "the order that claimed the use stored the expiry"
    );
    assert_eq!(
        (fixture.order_status(first.id), fixture.order_status(second.id)),
        (OrderStatus::Expired, OrderStatus::Pending)
    );

    fixture.expire_holds();
    fixture.service.run_maintenance().expect("a run");
    assert_eq!((fixture.discount_uses(&discount), fixture.stored(stored)), (0, 0));
    // The same for an automatic discount.
    fixture.update(&discount, |change| change.auto_apply = Change::Set(true)).expect("a change");
    assert_eq!(fixture.order(&ticket_type, 1).discount_code.as_deref(), Some("ONCE"));
    assert_eq!(fixture.order(&ticket_type, 1).discount_code, None);
    fixture.expire_holds();
    assert_eq!(fixture.order(&ticket_type, 1).discount_code.as_deref(), Some("ONCE"));
}

impl Fixture {
    fn codes_used(&self) -> Vec<i64> {
        let page = self.service.list_discounts(&self.caller, ListDiscounts::default()).expect("a page");
        page.data.into_iter().map(|discount| discount.used_count).collect()
    }
}

#[test]
fn a_use_is_released_if_the_gateway_returns_no_link() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(limited(percent_off(&event, "ONCE", 10), 1));
    fixture.gateway.on_checkout(GatewayBehavior::Refuse);
    assert!(matches!(
        fixture.try_order_with_code(&ticket_type, 1, "ONCE"),
        Err(ticketing::Error::PaymentGatewayFailed(_))
    ));
    assert_eq!(fixture.discount_uses(&discount), 0);
    fixture.gateway.on_checkout(GatewayBehavior::Succeed);
    fixture.order_with_code(&ticket_type, 1, "ONCE");
}

#[test]
fn cancelling_an_event_releases_the_uses_of_its_pending_orders_only() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(percent_off(&event, "EARLY", 10));
    fixture.order_with_code(&ticket_type, 1, "EARLY");
    fixture.expire_holds();
    fixture.order_with_code(&ticket_type, 1, "EARLY");
    let completed = fixture.order_with_code(&ticket_type, 1, "EARLY");
    fixture.service.payment_completed(&fixture.caller, completed.id).expect("paid");
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!((fixture.discount_uses(&discount), fixture.stored("SELECT used_count FROM discounts")), (1, 1));
}

#[test]
fn a_late_payment_claims_a_use_again_or_is_refunded() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(limited(percent_off(&event, "ONCE", 10), 1));
    let late = fixture.order_with_code(&ticket_type, 1, "ONCE");
    fixture.expire_holds();
    // Only the usage limit is checked again: everything else was valid when the order was created.
    let over = at("2026-05-01T00:00:00Z");
    let off = Change::Set(false);
    fixture
        .update(&discount, |change| {
            change.valid_to = Change::Set(over);
            change.is_active = off;
        })
        .expect("a change");
    let revived = fixture.service.payment_completed(&fixture.caller, late.id).expect("recorded");
    assert_eq!((revived.status, fixture.discount_uses(&discount)), (OrderStatus::Completed, 1));
    assert_eq!((revived.total, revived.discounted_amount), (eur(900), Some(eur(100))));

    fixture.service.cancel_order(&fixture.caller, late.id).expect("cancelled");
    let end = at("2027-01-01T00:00:00Z");
    fixture
        .update(&discount, |change| {
            change.valid_to = Change::Set(end);
            change.is_active = Change::Set(true);
        })
        .expect("a change");
    let late = fixture.order_with_code(&ticket_type, 1, "ONCE");
    fixture.expire_holds();
    let other = fixture.order_with_code(&ticket_type, 1, "ONCE");
    assert_eq!(
        reason(fixture.service.mark_order_paid(&fixture.caller, late.id, ManualMethod::Cash)),
        Reason::DiscountUsedUp
    );
    assert_eq!(fixture.order_status(late.id), OrderStatus::Expired);
    let lost = fixture.service.payment_completed(&fixture.caller, late.id).expect("recorded");
    assert_eq!(lost.status, OrderStatus::Expired);
    assert_eq!(fixture.payment_status(late.id), Some(PaymentStatus::Refunded));
    let refund = fixture.gateway.refunds().pop().expect("a refund");
    assert_eq!((refund.order_id, refund.amount), (late.id, eur(900)));
    assert_eq!((fixture.discount_uses(&discount), fixture.order_status(other.id)), (1, OrderStatus::Pending));
    assert_eq!(fixture.stored("SELECT sold FROM ticket_types"), 0, "it took no seat either");
    let refunds = fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data;
    assert!(refunds.iter().all(|refund| refund.status == RefundStatus::Done));
}

#[test]
fn a_late_payment_is_refused_for_event_seats_and_use_in_this_order() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1000, 1);
    let spare = fixture.ticket_type(&event, 1000, 10);
    let discount = fixture.discount(limited(percent_off(&event, "ONCE", 10), 1));
    let late = fixture.order_with_code(&ticket_type, 1, "ONCE");
    fixture.expire_holds();
    let last_seat = fixture.order(&ticket_type, 1);
    let using = fixture.order_with_code(&spare, 1, "ONCE");
    let mark = || reason(fixture.service.mark_order_paid(&fixture.caller, late.id, ManualMethod::Cash));
    assert_eq!(mark(), Reason::SoldOut);
    fixture.service.cancel_order(&fixture.caller, last_seat.id).expect("cancelled");
    assert_eq!(mark(), Reason::DiscountUsedUp);
    fixture.update(&discount, |change| change.usage_limit = Change::Set(Some(2))).expect("a change");
    fixture.service.mark_order_paid(&fixture.caller, using.id, ManualMethod::Cash).expect("paid");
    fixture.service.mark_order_paid(&fixture.caller, late.id, ManualMethod::Cash).expect("a use is free again");
    assert_eq!(fixture.discount_uses(&discount), 2);

    let last = fixture.order(&spare, 1);
    fixture.expire_holds();
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!(
        reason(fixture.service.mark_order_paid(&fixture.caller, last.id, ManualMethod::Cash)),
        Reason::EventCancelled
    );
}

#[test]
fn a_late_payment_takes_over_the_use_of_an_expired_hold() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(limited(percent_off(&event, "ONCE", 10), 1));
    let first = fixture.order_with_code(&ticket_type, 1, "ONCE");
    fixture.expire_holds();
    let second = fixture.order_with_code(&ticket_type, 1, "ONCE");
    fixture.expire_holds();
    // The second order has expired too, but this is not stored yet. The first order takes over its use.
    fixture.service.mark_order_paid(&fixture.caller, first.id, ManualMethod::Cash).expect("paid");
    assert_eq!(
        reason(fixture.service.mark_order_paid(&fixture.caller, second.id, ManualMethod::Cash)),
        Reason::DiscountUsedUp
    );
    assert_eq!(fixture.discount_uses(&discount), 1);
}

#[test]
fn a_usage_limit_below_the_used_count_allows_no_further_use() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(percent_off(&event, "EARLY", 10));
    let orders = [(); 3].map(|()| fixture.order_with_code(&ticket_type, 1, "EARLY"));
    let lowered = fixture.update(&discount, |change| change.usage_limit = Change::Set(Some(1))).expect("a change");
    assert_eq!((lowered.usage_limit, lowered.used_count), (Some(1), 3));
    assert_eq!(refused(fixture.try_order_with_code(&ticket_type, 1, "EARLY")), "Discount code usage limit reached");
    for order in &orders[..2] {
        fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
        assert_eq!(refused(fixture.try_order_with_code(&ticket_type, 1, "EARLY")), "Discount code usage limit reached");
    }
    fixture.service.cancel_order(&fixture.caller, orders[2].id).expect("cancelled");
    fixture.order_with_code(&ticket_type, 1, "EARLY");
}

#[test]
fn a_used_discount_is_not_deleted_and_an_event_deletes_its_unused_ones() {
    let (fixture, event, ticket_type) = sale();
    let discount = fixture.discount(percent_off(&event, "EARLY", 10));
    let order = fixture.order_with_code(&ticket_type, 1, "EARLY");
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!(fixture.discount_uses(&discount), 0);
    assert_eq!(reason(fixture.service.delete_discount(&fixture.caller, discount.id)), Reason::InUse);
    assert_eq!(reason(fixture.service.delete_event(&fixture.caller, event.id)), Reason::InUse);
    let other = fixture.event();
    let deleted = fixture.discount(percent_off(&other, "EARLY", 10));
    fixture.service.delete_event(&fixture.caller, other.id).expect("an event without orders");
    assert_not_found(fixture.service.get_discount(&fixture.caller, deleted.id));
    // A refused order uses nothing.
    let unused = fixture.discount(percent_off(&event, "LATE", 10));
    assert_eq!(reason(fixture.try_order_with_code(&fixture.ticket_type(&event, 1, 1), 2, "LATE")), Reason::SoldOut);
    fixture.service.delete_discount(&fixture.caller, unused.id).expect("an unused discount");
}

#[test]
fn a_deleted_ticket_type_stays_among_the_applicable_ones() {
    let (fixture, event, ticket_type) = sale();
    let deleted = fixture.ticket_type(&event, 1000, 10);
    let other_type = fixture.ticket_type(&fixture.event(), 1000, 10);
    let listing = |types: Vec<_>| percent_off(&event, "EARLY", 10).applicable_ticket_types(types);
    let refused =
        fixture.service.create_discount(&fixture.caller, listing(vec![ticket_type.id, other_type.id, deleted.id]));
    assert_eq!(paths(refused), ["applicableTicketTypes[1]"]);
    let discount = fixture.discount(listing(vec![deleted.id]));
    fixture.service.delete_ticket_type(&fixture.caller, deleted.id).expect("an unused ticket type");
    assert_eq!(fixture.read_discount(discount.id).applicable_ticket_types, [deleted.id]);
    assert_eq!(fixture.refusal("EARLY", &ticket_type), Some(DiscountRefusal::NotApplicable));
    // An update checks only the fields that it sets.
    fixture.update(&discount, |change| *change = change.clone().value(percent(20))).expect("a change");
    let again = fixture.update(&discount, |change| change.applicable_ticket_types = Change::Set(vec![deleted.id]));
    assert_eq!(paths(again), ["applicableTicketTypes[0]"]);
    fixture.update(&discount, |change| change.applicable_ticket_types = Change::Set(Vec::new())).expect("a change");
    assert_eq!(fixture.refusal("EARLY", &ticket_type), None);
}

#[test]
fn the_currency_cannot_change_while_a_discount_has_an_amount() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let to_yen = || {
        let changes = UpdateEvent::default().currency("JPY");
        let moved = fixture.service.update_event(&fixture.caller, event.id, changes);
        let back = UpdateEvent::default().currency("EUR");
        if moved.is_ok() {
            fixture.service.update_event(&fixture.caller, event.id, back).expect("and back");
        }
        moved.map(drop)
    };
    let discount = fixture.discount(percent_off(&event, "EARLY", 10));
    to_yen().expect("a percentage fits every currency");
    fixture.update(&discount, |change| change.minimum_purchase = Change::Set(Some(eur(500)))).expect("a change");
    assert_eq!(reason(to_yen()), Reason::InUse);
    fixture.update(&discount, |change| change.minimum_purchase = Change::Set(None)).expect("a change");
    to_yen().expect("no amount is left");
    let fixed = fixture.discount(amount_off(&event, "FIVE", eur(500)));
    assert_eq!(reason(to_yen()), Reason::InUse);
    fixture.service.delete_discount(&fixture.caller, fixed.id).expect("an unused discount");
    to_yen().expect("no amount is left");
}

#[test]
fn two_entries_of_one_type_stay_two_items_with_their_own_discounts() {
    let (fixture, event, ticket_type) = sale();
    fixture.discount(amount_off(&event, "FIVE", eur(500)));
    let mut request = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1);
    request.items.push(NewOrderItem::new(ticket_type.id, 2));
    request.discount_code = Some("FIVE".to_owned());
    let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
    let parts: Vec<_> = order.items.iter().map(|item| (item.quantity, item.item_discount)).collect();
    // 5.00 over 10.00 and 20.00: 1.67 and 3.33.
    assert_eq!(parts, [(1, eur(167)), (2, eur(333))]);
    assert_eq!(order.total, eur(2500));
}
