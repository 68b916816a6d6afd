//! The amounts of discounts: examples in currencies with zero, two and three decimals, and random baskets compared
//! with a second implementation.

use proptest::prelude::*;
use ticketing::discount::{
    BasketItem, CreateDiscount, DiscountRefusal, DiscountValidationResponse, DiscountValue, Percentage,
    ValidateDiscount,
};
use ticketing::event::Event;
use ticketing::order::{CreateOrder, NewOrderItem, Order, PaymentChoice};
use ticketing::ticket_type::{CreateTicketType, TicketType};
use ticketing::{Amount, Result};

use crate::common::long_runs::default_cases;
use crate::common::*;

/// Creates an event in this currency, with ticket types at these prices in minor units.
fn event_in(fixture: &Fixture, currency: &str, decimals: u8, prices: &[i64]) -> (Event, Vec<TicketType>) {
    let event = fixture.event_with(|new| new.currency = Some(currency.to_owned()));
    let price = |minor: &i64| {
        let mut new = CreateTicketType::new("Seat", amount(*minor, decimals), 10_000);
        new.max_per_order = Some(100);
        fixture.service.create_ticket_type(&fixture.caller, event.id, new).expect("a type")
    };
    let types = prices.iter().map(price).collect();
    (event, types)
}

fn try_order(fixture: &Fixture, code: Option<&str>, basket: &[(&TicketType, i64)]) -> Result<Order> {
    let (first, _) = basket[0];
    let mut request = CreateOrder::new(first.event_id, new_customer(), first.id, 1);
    let entry = |(ticket_type, quantity): &(&TicketType, i64)| NewOrderItem::new(ticket_type.id, *quantity);
    request.items = basket.iter().map(entry).collect();
    request.discount_code = code.map(str::to_owned);
    fixture.service.create_order(&fixture.caller, request).map(|created| created.order)
}

fn validate(fixture: &Fixture, code: &str, basket: &[(&TicketType, i64)]) -> DiscountValidationResponse {
    let entry =
        |(ticket_type, quantity): &(&TicketType, i64)| BasketItem::new(ticket_type.id, *quantity, ticket_type.price);
    let (first, _) = basket[0];
    let request = ValidateDiscount::new(first.event_id, code, basket.iter().map(entry));
    fixture.service.validate_discount(&fixture.caller, request).expect("an answer")
}

/// Orders the basket with the code. Returns the discount of each item and the total, in minor units. Asserts that all
/// amounts of the order and of a validation agree with them.
fn order_amounts(fixture: &Fixture, code: &str, basket: &[(&TicketType, i64)]) -> (Vec<i64>, i64) {
    let validated = validate(fixture, code, basket).discount.expect("it applies").discounted_amount;
    let order = try_order(fixture, Some(code), basket).expect("an order");
    let parts: Vec<_> = order.items.iter().map(|item| item.item_discount.minor_units()).collect();
    for (item, (ticket_type, quantity)) in order.items.iter().zip(basket) {
        assert_eq!((item.ticket_type_id, item.quantity, item.price), (ticket_type.id, *quantity, ticket_type.price));
        assert_eq!(item.item_subtotal.minor_units(), ticket_type.price.minor_units() * quantity);
        assert_eq!(
            item.final_amount.minor_units(),
            item.item_subtotal.minor_units() - item.item_discount.minor_units()
        );
        assert!(item.item_discount.minor_units() >= 0 && item.final_amount.minor_units() >= 0);
    }
    let discounted = order.discounted_amount.expect("a discount applied");
    assert_eq!(discounted.minor_units(), parts.iter().sum::<i64>());
    assert_eq!(order.total.minor_units(), order.items.iter().map(|item| item.final_amount.minor_units()).sum::<i64>());
    assert_eq!(validated, discounted, "validation and order agree");
    assert_eq!(fixture.read_order(order.id), order);
    (parts, order.total.minor_units())
}

fn percent_text_off(event: &Event, code: &str, text: &str) -> CreateDiscount {
    percent_off(event, code, 0).value(text.parse::<Percentage>().expect(text))
}

#[test]
fn a_percentage_is_rounded_half_up_for_each_item() {
    let fixture = Fixture::new();
    let (event, types) = event_in(&fixture, "EUR", 2, &[999, 1, 333]);
    let [ticket, cent, third] = types.as_slice() else { panic!("three") };
    fixture.discount(percent_text_off(&event, "TENTH", "10"));
    fixture.discount(percent_text_off(&event, "HALF", "50"));
    fixture.discount(percent_text_off(&event, "ODD", "33.3333"));
    fixture.discount(percent_text_off(&event, "JUST-BELOW-HALF", "49.999999999999"));
    // 0.999, 0.001, 0.333 and twice 9.99: 1.998.
    assert_eq!(
        order_amounts(&fixture, "TENTH", &[(ticket, 1), (cent, 1), (third, 1), (ticket, 2)]),
        ([100, 0, 33, 200].into(), 3331 - 333)
    );
    // 4.995, 0.005 and 1.665: each half is rounded up.
    assert_eq!(order_amounts(&fixture, "HALF", &[(ticket, 1), (cent, 1), (third, 1)]), ([500, 1, 167].into(), 665));
    // Two entries of one cent are rounded separately; one entry of two cents needs no rounding.
    assert_eq!(order_amounts(&fixture, "HALF", &[(cent, 1), (cent, 1)]), ([1, 1].into(), 0));
    assert_eq!(order_amounts(&fixture, "HALF", &[(cent, 2)]), ([1].into(), 1));
    // 3.32999667 and 0.00333333.
    assert_eq!(order_amounts(&fixture, "ODD", &[(ticket, 1), (cent, 1)]), ([333, 0].into(), 667));
    assert_eq!(order_amounts(&fixture, "JUST-BELOW-HALF", &[(cent, 1), (ticket, 1)]), ([0, 499].into(), 501));
}

#[test]
fn discounts_in_a_currency_without_decimals_are_whole_units() {
    let fixture = Fixture::new();
    let (event, types) = event_in(&fixture, "JPY", 0, &[1005, 333]);
    let [ticket, other] = types.as_slice() else { panic!("two") };
    fixture.discount(percent_text_off(&event, "TENTH", "10"));
    fixture.discount(amount_off(&event, "FIVE", Amount::ZERO).value(Amount::whole(500)));
    // 100.5 and 33.3.
    assert_eq!(order_amounts(&fixture, "TENTH", &[(ticket, 1), (other, 1)]), ([101, 33].into(), 1204));
    // 500 over 1005 and 999: 250.748 and 249.251; the remaining unit goes to the larger remainder.
    assert_eq!(order_amounts(&fixture, "FIVE", &[(ticket, 1), (other, 3)]), ([251, 249].into(), 1504));
    let half_yen = amount_off(&event, "HALF", Amount::ZERO).value(amount(5, 1));
    assert_eq!(paths(fixture.service.create_discount(&fixture.caller, half_yen)), ["value"]);
    let mut minimum = percent_text_off(&event, "MINIMUM", "0.5");
    minimum.minimum_purchase = Some(amount(5, 1));
    assert_eq!(paths(fixture.service.create_discount(&fixture.caller, minimum)), ["minimumPurchase"]);
}

#[test]
fn discounts_in_a_currency_with_three_decimals_are_thousandths() {
    let fixture = Fixture::new();
    let (event, types) = event_in(&fixture, "KWD", 3, &[1_250, 2_005]);
    let [ticket, other] = types.as_slice() else { panic!("two") };
    fixture.discount(percent_text_off(&event, "SOME", "12.5"));
    fixture.discount(amount_off(&event, "ONE", Amount::ZERO).value(amount(1_001, 3)));
    // 0.15625 and 0.250625.
    assert_eq!(order_amounts(&fixture, "SOME", &[(ticket, 1), (other, 1)]), ([156, 251].into(), 2848));
    // 1.001 over 1.250 and 2.005: 0.384408 and 0.616591.
    assert_eq!(order_amounts(&fixture, "ONE", &[(ticket, 1), (other, 1)]), ([384, 617].into(), 2254));
}

#[test]
fn a_fixed_amount_is_spread_over_its_items_by_largest_remainder() {
    let fixture = Fixture::new();
    let (event, types) = event_in(&fixture, "EUR", 2, &[1000, 1000, 0]);
    let [one, two, free] = types.as_slice() else { panic!("three") };
    fixture.discount(amount_off(&event, "ONE-EUR", eur(100)));
    fixture.discount(amount_off(&event, "A-CENT", eur(1)));
    fixture.discount(amount_off(&event, "LOTS", eur(100_000)));
    let only = amount_off(&event, "ONLY", eur(1500)).applicable_ticket_types([one.id]);
    fixture.discount(only);
    // A third of 1.00 each: the remaining cent goes to the first.
    assert_eq!(order_amounts(&fixture, "ONE-EUR", &[(one, 1), (two, 1), (one, 1)]), ([34, 33, 33].into(), 2900));
    assert_eq!(order_amounts(&fixture, "ONE-EUR", &[(free, 1), (one, 1), (two, 2)]), ([0, 33, 67].into(), 2900));
    assert_eq!(order_amounts(&fixture, "A-CENT", &[(one, 1), (two, 1)]), ([1, 0].into(), 1999));
    assert_eq!(order_amounts(&fixture, "A-CENT", &[(one, 1), (two, 2)]), ([0, 1].into(), 2999));
    assert_eq!(order_amounts(&fixture, "LOTS", &[(one, 1), (two, 2)]), ([1000, 2000].into(), 0));
    assert_eq!(order_amounts(&fixture, "LOTS", &[(free, 1)]), ([0].into(), 0));
    // The discount is at most the price of the items that it applies to.
    assert_eq!(order_amounts(&fixture, "ONLY", &[(two, 1), (one, 1), (two, 1)]), ([0, 1000, 0].into(), 2000));
    assert_eq!(order_amounts(&fixture, "ONLY", &[(one, 1), (two, 1), (one, 1)]), ([750, 0, 750].into(), 1500));
    let refused = try_order(&fixture, Some("ONLY"), &[(two, 1)]);
    assert_eq!(paths(refused), ["discountCode"]);
}

/// A random discount. `value` has `decimals` decimals.
#[derive(Debug, Clone)]
struct DiscountCase {
    percentage: bool,
    value: i64,
    decimals: u8,
    /// Which of the three ticket types it applies to; to all if none is set.
    types: [bool; 3],
    minimum: Option<i64>,
}

fn discount_case() -> impl Strategy<Value = DiscountCase> {
    let percent = (0..=12_u8).prop_flat_map(|decimals| (0..=100 * 10_i64.pow(u32::from(decimals)), Just(decimals)));
    let amount = (prop_oneof![0..100_i64, 0..100_000_i64, 0..=100_000_000_000_i64], Just(2_u8));
    let value = prop_oneof![percent.prop_map(|value| (true, value)), amount.prop_map(|value| (false, value))];
    (value, any::<[bool; 3]>(), proptest::option::weighted(0.2, 0..100_000_i64)).prop_map(
        |((percentage, (value, decimals)), types, minimum)| DiscountCase {
            percentage,
            value,
            decimals,
            types,
            minimum,
        },
    )
}

fn prices() -> impl Strategy<Value = [i64; 3]> {
    let price = || prop_oneof![Just(0_i64), 1..20_i64, 1..10_000_i64, 1..=100_000_000_000_i64];
    [price(), price(), price()]
}

fn entries() -> impl Strategy<Value = Vec<(usize, i64)>> {
    proptest::collection::vec((0..3_usize, 1..=16_i64), 1..=6)
}

impl DiscountCase {
    fn request(&self, event: &Event, types: &[TicketType], code: &str) -> CreateDiscount {
        let listed = types.iter().zip(self.types).filter(|(_, listed)| *listed).map(|(ticket_type, _)| ticket_type.id);
        let value = match self.percentage {
            true => Percentage::new(self.value, self.decimals).expect("a percentage").into(),
            false => DiscountValue::FixedAmount(amount(self.value, self.decimals)),
        };
        let mut request = percent_off(event, code, 0).value(value).applicable_ticket_types(listed);
        request.minimum_purchase = self.minimum.map(eur);
        request
    }

    fn applies_to(&self, index: usize) -> bool {
        self.types[index] || self.types == [false; 3]
    }

    /// The second implementation: the discount of each entry. Each entry gets its part rounded down, and then the
    /// remaining units go one at a time to the entry that is short of the most.
    fn parts(&self, prices: &[i64; 3], entries: &[(usize, i64)]) -> std::result::Result<Vec<i64>, DiscountRefusal> {
        let wide = |number: i64| u128::try_from(number).expect("not negative");
        let subtotals: Vec<u128> =
            entries.iter().map(|(index, quantity)| wide(prices[*index]) * wide(*quantity)).collect();
        if self.minimum.is_some_and(|least| subtotals.iter().sum::<u128>() < wide(least)) {
            return Err(DiscountRefusal::BelowMinimum);
        }
        let applicable: Vec<u128> = entries
            .iter()
            .zip(&subtotals)
            .map(|((index, _), all)| if self.applies_to(*index) { *all } else { 0 })
            .collect();
        if !entries.iter().any(|(index, _)| self.applies_to(*index)) {
            return Err(DiscountRefusal::NotApplicable);
        }
        let value = wide(self.value);
        let parts: Vec<u128> = if self.percentage {
            let whole = 100 * 10_u128.pow(u32::from(self.decimals));
            applicable
                .iter()
                .map(|subtotal| subtotal * value / whole + u128::from(subtotal * value % whole * 2 >= whole))
                .collect()
        } else {
            let sum: u128 = applicable.iter().sum();
            let value = value.min(sum);
            let mut parts: Vec<u128> =
                applicable.iter().map(|subtotal| (subtotal * value).checked_div(sum).unwrap_or(0)).collect();
            while parts.iter().sum::<u128>() < value {
                // In fractions of a minor unit with the denominator `sum`. `max_by_key` returns the last maximum, so
                // that the reversed order prefers the earlier entry.
                let missing = |index: &usize| {
                    i128::try_from(applicable[*index] * value).unwrap() - i128::try_from(parts[*index] * sum).unwrap()
                };
                let next = (0..parts.len()).rev().max_by_key(missing).expect("there are entries");
                parts[next] += 1;
            }
            parts
        };
        Ok(parts.into_iter().map(|part| i64::try_from(part).expect("small")).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: default_cases(48), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn item_discounts_are_those_of_a_second_implementation(
        prices in prices(), entries in entries(), discount_case in discount_case(),
    ) {
        let fixture = Fixture::new();
        let (event, types) = event_in(&fixture, "EUR", 2, &prices);
        fixture.discount(discount_case.request(&event, &types, "EARLY"));
        let basket: Vec<_> = entries.iter().map(|(index, quantity)| (&types[*index], *quantity)).collect();
        match discount_case.parts(&prices, &entries) {
            Ok(expected_parts) => {
                let (parts, _) = order_amounts(&fixture, "early", &basket);
                prop_assert_eq!(parts, expected_parts);
            }
            Err(refusal) => {
                prop_assert_eq!(validate(&fixture, "early", &basket).error, Some(refusal));
                let refused = try_order(&fixture, Some("early"), &basket).expect_err("a refusal");
                prop_assert_eq!(&refused.fields()[0].message, &refusal.to_string());
            }
        }
    }

    #[test]
    fn the_automatic_discount_is_the_one_that_saves_most(
        prices in prices(), entries in entries(), cases in proptest::collection::vec(discount_case(), 0..5),
    ) {
        let fixture = Fixture::new();
        let (event, types) = event_in(&fixture, "EUR", 2, &prices);
        let code = |index: usize| format!("CODE-{index}");
        for (index, discount_case) in cases.iter().enumerate() {
            let request = discount_case.request(&event, &types, &code(index));
            fixture.discount(request.auto_apply(true));
        }
        let basket: Vec<_> = entries.iter().map(|(index, quantity)| (&types[*index], *quantity)).collect();
        let mut best: Option<(i64, String)> = None;
        for index in 0..cases.len() {
            let saved = validate(&fixture, &code(index), &basket).discount.map_or(0, |valid| valid.discounted_amount.minor_units());
            if saved > best.as_ref().map_or(0, |(most, _)| *most) {
                best = Some((saved, code(index)));
            }
        }
        let order = try_order(&fixture, None, &basket).expect("an order");
        let applied = order.discounted_amount.map(Amount::minor_units).zip(order.discount_code.clone());
        prop_assert_eq!(applied, best);
        prop_assert_eq!(order.discounted_amount.is_some(), order.discount_code.is_some());
    }
}

/// A fixture whose gateway takes only multiples of this number of minor units.
fn fixture_with_step(step: i64) -> Fixture {
    let fixture = Fixture::new();
    fixture.gateway.set_refund_step(step);
    fixture
}

#[test]
fn a_discount_is_rounded_up_to_what_the_gateway_can_take() {
    // 33 % of 333 ariary is 109.89. With 110 off, 223 are left; the gateway takes whole ariary.
    let fixture = fixture_with_step(100);
    let (event, types) = event_in(&fixture, "MGA", 2, &[33_300]);
    fixture.discount(percent_off(&event, "THIRD", 33));
    assert_eq!(order_amounts(&fixture, "THIRD", &[(&types[0], 1)]), (vec![11_000], 22_300));
    // 33 % of 9.990 dinars is 3.297. With 3.300 off, 6.690 are left; the gateway takes multiples of 0.010.
    let fixture = fixture_with_step(10);
    let (event, types) = event_in(&fixture, "KWD", 3, &[9_990, 4_990]);
    fixture.discount(percent_off(&event, "THIRD", 33));
    fixture.discount(amount_off(&event, "ODD", amount(1_005, 3)));
    let basket = [(&types[0], 1), (&types[1], 2)];
    // 33 % of 9.980 is 3.293, which leaves 6.687: 6.680.
    assert_eq!(order_amounts(&fixture, "THIRD", &basket), (vec![3_300, 3_300], 6_690 + 6_680));
    // 1.005 becomes 1.010, of which 9.990 / 19.970 are 0.5053: 51 and 50 steps.
    assert_eq!(order_amounts(&fixture, "ODD", &basket), (vec![510, 500], 19_970 - 1_010));
}

#[test]
fn a_discount_of_an_order_that_the_gateway_does_not_get_is_exact() {
    let fixture = fixture_with_step(10);
    let (event, types) = event_in(&fixture, "KWD", 3, &[9_990]);
    fixture.discount(percent_off(&event, "THIRD", 33));
    for by_hand in [PaymentChoice::Manual, PaymentChoice::Paid] {
        let order = new_order(event.id, types[0].id, 1).discount_code("third").payment(by_hand);
        let order = fixture.service.create_order(&fixture.caller, order).expect("an order").order;
        assert_eq!((order.discounted_amount, order.total), (Some(amount(3_297, 3)), amount(6_693, 3)));
    }
    let without = Fixture::without_gateway();
    let (event, types) = event_in(&without, "KWD", 3, &[9_990]);
    without.discount(percent_off(&event, "THIRD", 33));
    assert_eq!(order_amounts(&without, "THIRD", &[(&types[0], 1)]), (vec![3_297], 6_693));
}

#[test]
fn the_automatic_discount_that_saves_most_is_chosen_by_its_rounded_amount() {
    let fixture = fixture_with_step(10);
    let (event, types) = event_in(&fixture, "KWD", 3, &[10_000]);
    // 3.291 off becomes 3.300, as much as 33 % off: the older one is chosen.
    fixture.discount(amount_off(&event, "AMOUNT", amount(3_291, 3)).auto_apply(true));
    fixture.discount(percent_off(&event, "THIRD", 33).auto_apply(true));
    let order = try_order(&fixture, None, &[(&types[0], 1)]).expect("an order");
    assert_eq!((order.discount_code.as_deref(), order.total), (Some("AMOUNT"), amount(6_700, 3)));
}

#[test]
fn a_basket_below_what_the_gateway_takes_is_refused_before_anything_is_created() {
    let fixture = Fixture::new();
    fixture.gateway.set_smallest_payment(50);
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1000, 10);
    for (code, percent) in [("NEARLY", 97), ("JUST", 95), ("FREE", 100)] {
        fixture.discount(percent_off(&event, code, percent));
    }
    // 97 % of 10.00 are 9.70, which leaves 0.30.
    let before = fixture.all_rows();
    let refused = fixture.try_order_with_code(&ticket_type, 1, "NEARLY").expect_err("0.30 is too little");
    let field = &refused.fields()[0];
    assert_eq!(
        (field.path.as_str(), field.message.as_str()),
        ("items", "must cost at least 0.50 EUR in total, not 0.30")
    );
    assert_eq!(fixture.all_rows(), before, "no order, no customer and no use");
    let answer = fixture.validate("NEARLY", &[(&ticket_type, 1)]);
    let said = (answer.valid, answer.error, answer.error_data.map(|data| data.amount));
    assert_eq!(said, (true, None, Some(eur(50))), "the discount applies, and the basket cannot be paid");

    // Two of them cost 0.60, 5 % of 10.00 are exactly 0.50, and nothing has to be paid for a free order.
    for (quantity, code, total) in [(2, "NEARLY", 60), (1, "JUST", 50), (1, "FREE", 0)] {
        let answer = fixture.validate(code, &[(&ticket_type, quantity)]);
        assert_eq!((answer.valid, answer.error_data), (true, None), "{code}");
        assert_eq!(fixture.order_with_code(&ticket_type, quantity, code).total, eur(total), "{code}");
    }
    // Without the gateway, every amount can be paid.
    for by_hand in [PaymentChoice::Manual, PaymentChoice::Paid] {
        let order = new_order(event.id, ticket_type.id, 1).discount_code("NEARLY").payment(by_hand);
        let order = fixture.service.create_order(&fixture.caller, order).expect("an order").order;
        assert_eq!(order.total, eur(30));
    }
}
