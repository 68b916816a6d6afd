//! The parameters with which a Checkout Session is created.

use std::time::Duration;

use crate::model::values::percentage::Percentage;
use crate::model::values::timestamp::Timestamp;
use crate::payment::{CheckoutRequest, CheckoutTerms};
use crate::stripe::account::ConnectedAccount;
use crate::stripe::amounts;
use crate::stripe::api::form::Form;
use crate::stripe::email;
use crate::stripe::locale::checkout_locale;

/// A session stays open for at least this time. Stripe requires 30 minutes, by its own clock when it reads the request.
pub(in crate::stripe) const SHORTEST: Duration = Duration::from_mins(31);

/// The longest time for which a session can be open. Stripe allows 24 hours.
const LONGEST: Duration = Duration::from_mins(24 * 60 - 1);

/// The names of the metadata that tell which order a session, a payment or a refund is for.
pub(in crate::stripe) const ORDER: &str = "order";
pub(in crate::stripe) const ORGANIZATION: &str = "organization";

/// The name of the metadata that tells the sessions of an order apart, for those who look at them in the Dashboard. The
/// first one does not have it.
const CHECKOUT: &str = "checkout";

/// The payment methods whose outcome Stripe tells after the customer has left its page: in a minute, hours or days.
/// Seats are reserved for minutes.
const DELAYED_METHODS: [&str; 14] = [
    "acss_debit",
    "au_becs_debit",
    "bacs_debit",
    "boleto",
    "customer_balance",
    "konbini",
    "multibanco",
    "nz_bank_account",
    "oxxo",
    "pay_by_bank",
    "payto",
    "sepa_debit",
    "sofort",
    "us_bank_account",
];

/// The longest name and description of a line on the checkout page, in characters.
const LONGEST_TEXT: usize = 250;

/// Checks whether a session can be created for an order.
///
/// # Errors
/// Why not, as a clause that completes "items …".
pub(in crate::stripe) fn check(terms: &CheckoutTerms) -> Result<(), String> {
    amounts::to_stripe(terms.amount, &terms.currency)?;
    for amount in &terms.items {
        amounts::to_stripe(*amount, &terms.currency)?;
    }
    if terms.hold > LONGEST {
        return Err("must be reserved for less than 24 hours to be paid with Stripe".to_owned());
    }
    Ok(())
}

/// The parameters of a session. They follow from the request alone, so that a repeated request has the same ones.
///
/// # Errors
/// Why Stripe cannot take the payment.
pub(in crate::stripe) fn parameters(
    request: &CheckoutRequest,
    account: Option<&ConnectedAccount>,
) -> Result<Form, String> {
    let mut form = Form::default();
    form.add("mode", "payment");
    form.add("client_reference_id", request.order_id);
    for prefix in ["metadata", "payment_intent_data[metadata]"] {
        form.add(format!("{prefix}[{ORDER}]"), request.order_id);
        form.add(format!("{prefix}[{ORGANIZATION}]"), request.organization_id);
    }
    if request.renewed_at.is_some() {
        form.add(format!("metadata[{CHECKOUT}]"), &request.idempotency_key);
    }
    add_items(&mut form, request)?;
    form.add("expires_at", expires_at(started_at(request), request.hold_until)?);
    // The currency and the amount of a session are then those of the order.
    form.add("adaptive_pricing[enabled]", false);
    for (index, method) in DELAYED_METHODS.iter().enumerate() {
        form.add(format!("excluded_payment_method_types[{index}]"), method);
    }
    form.add("locale", checkout_locale(request.locale.as_deref()));
    if let Some(email) = request.customer.mailbox().filter(|email| email::is_accepted(email)) {
        form.add("customer_email", email);
    }
    // Stripe replaces what is in braces by the id of the session. Its documentation says that of this URL only.
    let success_url = return_url(request, "{CHECKOUT_SESSION_ID}");
    form.add("cancel_url", request.return_url.as_ref().unwrap_or(&success_url));
    form.add("success_url", success_url);
    if let Some(account) = account {
        let total = amounts::to_stripe(request.amount, &request.currency)?;
        let fee = application_fee(total, account.application_fee, amounts::step(&request.currency));
        if fee > 0 {
            form.add("payment_intent_data[application_fee_amount]", fee);
        }
    }
    Ok(form)
}

/// The page to which Stripe sends the customer back.
pub(in crate::stripe) fn return_url(request: &CheckoutRequest, session: &str) -> String {
    format!("{}/checkout/return/{session}", request.public_url)
}

/// When the session was first asked for.
fn started_at(request: &CheckoutRequest) -> Timestamp {
    request.renewed_at.unwrap_or(request.created_at)
}

/// Adds a line for each item. The amount of each line is what all its tickets cost less the discount, so its quantity
/// is 1, and the number of tickets is in its name.
fn add_items(form: &mut Form, request: &CheckoutRequest) -> Result<(), String> {
    let total = amounts::to_stripe(request.amount, &request.currency)?;
    let mut lines = Vec::new();
    let mut sum = 0_i64;
    for item in &request.items {
        let units = amounts::to_stripe(item.amount, &request.currency)?;
        sum = sum.saturating_add(units);
        lines.push((format!("{} × {}", item.quantity, item.name), units));
    }
    if sum != total || lines.is_empty() {
        lines = vec![(format!("Order {}", request.order_id), total)];
    }
    let currency = request.currency.to_ascii_lowercase();
    for (index, (name, units)) in lines.iter().enumerate() {
        let line = format!("line_items[{index}]");
        form.add(format!("{line}[quantity]"), 1);
        form.add(format!("{line}[price_data][currency]"), &currency);
        form.add(format!("{line}[price_data][unit_amount]"), units);
        form.add(format!("{line}[price_data][product_data][name]"), shortened(name));
        if !request.event_title.trim().is_empty() {
            let title = shortened(&request.event_title);
            form.add(format!("{line}[price_data][product_data][description]"), title);
        }
    }
    Ok(())
}

/// When the session expires, in Unix seconds: at the end of the hold, but not before Stripe allows it.
fn expires_at(created_at: Timestamp, hold_until: Timestamp) -> Result<i64, String> {
    let latest = created_at.saturating_add(LONGEST);
    if hold_until > latest {
        return Err("the order reserves its seats for longer than a session can be open".to_owned());
    }
    let at = hold_until.max(created_at.saturating_add(SHORTEST));
    // Rounded up: the session must not end before the hold.
    Ok((at.millis() + 999).div_euclid(1000))
}

/// The fee for a payment in the units of Stripe, rounded down to a multiple of `step`.
fn application_fee(units: i64, fee: Percentage, step: i64) -> i64 {
    let whole = 100 * 10_i128.pow(u32::from(fee.decimals()));
    let fee = i64::try_from(i128::from(units) * i128::from(fee.units()) / whole).unwrap_or(0);
    fee - fee % step
}

/// The text, with at most [`LONGEST_TEXT`] characters.
fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST_TEXT {
        return text.to_owned();
    }
    text.chars().take(LONGEST_TEXT - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::sale::customer::Customer;
    use crate::model::values::amount::Amount;
    use crate::model::values::id::{CustomerId, OrderId};
    use crate::payment::CheckoutItem;

    fn order() -> OrderId {
        "order_1NR6E9XB00000".parse().expect("an id")
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn request() -> CheckoutRequest {
        CheckoutRequest::new(order(), Amount::cents(3000), "EUR")
            .created_at(at("2026-06-01T18:00:00Z"))
            .hold_until(at("2026-06-01T18:15:00Z"))
            .customer(Customer::new(CustomerId::UNKNOWN, "Ada", "ada@example.com"))
            .event_title("Summer Night")
            .items([
                CheckoutItem::new("Seat", 2, Amount::cents(2500)),
                CheckoutItem::new("Drink", 1, Amount::cents(500)),
            ])
            .locale("de-AT")
            .public_url("https://tickets.example.com")
    }

    #[test]
    fn a_session_has_a_line_for_each_item_and_leads_back_to_the_return_page() {
        let form = parameters(&request(), None).expect("parameters");
        let order = order().to_string();
        for (name, value) in [
            ("mode", "payment"),
            ("client_reference_id", order.as_str()),
            ("metadata[order]", &order),
            ("payment_intent_data[metadata][order]", &order),
            ("line_items[0][quantity]", "1"),
            ("line_items[0][price_data][currency]", "eur"),
            ("line_items[0][price_data][unit_amount]", "2500"),
            ("line_items[0][price_data][product_data][name]", "2 × Seat"),
            ("line_items[0][price_data][product_data][description]", "Summer Night"),
            ("line_items[1][price_data][unit_amount]", "500"),
            ("line_items[1][price_data][product_data][name]", "1 × Drink"),
            // 2026-06-01T18:31:00Z, because the hold ends before.
            ("expires_at", "1780338660"),
            ("adaptive_pricing[enabled]", "false"),
            ("excluded_payment_method_types[0]", "acss_debit"),
            ("excluded_payment_method_types[13]", "us_bank_account"),
            ("locale", "de"),
            ("customer_email", "ada@example.com"),
            ("success_url", "https://tickets.example.com/checkout/return/{CHECKOUT_SESSION_ID}"),
            ("cancel_url", "https://tickets.example.com/checkout/return/{CHECKOUT_SESSION_ID}"),
        ] {
            assert_eq!(form.get(name), Some(value), "{name}");
        }
        assert_eq!(form.get("payment_intent_data[application_fee_amount]"), None);
        assert_eq!(parameters(&request(), None), Ok(form));
    }

    #[test]
    fn what_stripe_would_refuse_is_left_out_or_shortened() {
        let mut strange = request().locale("tlh").event_title(" ");
        strange.items[0].name = "ü".repeat(300);
        for email in ["ada@localhost", "customer_1NR6E9XB00000@walk-in.invalid", "ada@INVALID"] {
            strange.customer.email = email.to_owned();
            assert_eq!(parameters(&strange, None).expect("parameters").get("customer_email"), None, "{email}");
        }
        let form = parameters(&strange, None).expect("parameters");
        assert_eq!(form.get("locale"), Some("auto"));
        assert_eq!(form.get("line_items[0][price_data][product_data][description]"), None);
        let name = form.get("line_items[0][price_data][product_data][name]").expect("a name");
        assert_eq!(name.chars().count(), 250);
        assert!(name.starts_with("2 × ü") && name.ends_with('…'));
    }

    #[test]
    fn one_line_has_the_total_if_the_items_are_not_known() {
        let form = parameters(&request().items([]), None).expect("parameters");
        assert_eq!(form.get("line_items[0][price_data][unit_amount]"), Some("3000"));
        assert_eq!(form.get("line_items[0][price_data][product_data][name]"), Some("Order order_1NR6E9XB00000"));
        assert_eq!(form.get("line_items[1][quantity]"), None);
    }

    #[test]
    fn a_session_expires_with_the_hold_but_not_before_31_minutes_and_not_after_24_hours() {
        let created = at("2026-06-01T18:00:00.500Z");
        for (hold_until, expected) in [
            ("2026-06-01T18:00:01Z", Ok("2026-06-01T18:31:01Z")),
            ("2026-06-01T18:31:00.500Z", Ok("2026-06-01T18:31:01Z")),
            ("2026-06-01T19:00:00Z", Ok("2026-06-01T19:00:00Z")),
            ("2026-06-01T19:00:00.001Z", Ok("2026-06-01T19:00:01Z")),
            ("2026-06-02T17:59:00.500Z", Ok("2026-06-02T17:59:01Z")),
            ("2026-06-02T17:59:00.501Z", Err(())),
        ] {
            let seconds = expires_at(created, at(hold_until)).map_err(drop);
            assert_eq!(seconds, expected.map(|text| at(text).millis() / 1000), "{hold_until}");
        }
    }

    #[test]
    fn terms_that_stripe_cannot_take_are_refused() {
        let terms = |amount: &str, currency: &str| CheckoutTerms::new(amount.parse().expect("an amount"), currency);
        assert_eq!(check(&terms("12.50", "EUR")), Ok(()));
        assert_eq!(check(&terms("12.50", "EUR").hold(LONGEST)), Ok(()));
        assert!(check(&terms("12.50", "EUR").hold(LONGEST + Duration::from_millis(1))).is_err());
        assert!(check(&terms("12.505", "KWD")).is_err());
        // The total is a multiple of 10, but the items are not.
        let parts = ["6.255", "6.255"].map(|part| part.parse().expect("an amount"));
        assert!(check(&terms("12.510", "KWD").items(parts)).is_err());
    }
}
