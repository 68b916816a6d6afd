//! Checkout Sessions: `POST /v1/checkout/sessions`, and how a session ends.

use serde_json::{Value, json};

use super::answers::{Answer, Answered};
use super::currencies;
use super::form::Reader;
use super::state::{State, Stored};

const LOCALES: &[&str] = &[
    "auto", "bg", "cs", "da", "de", "el", "en", "en-GB", "es", "es-419", "et", "fi", "fil", "fr", "fr-CA", "hi-IN",
    "hr", "hu", "id", "it", "ja", "ko", "lt", "lv", "ms", "mt", "nb", "nl", "pl", "pt", "pt-BR", "ro", "ru", "sk",
    "sl", "sv", "th", "tr", "vi", "zh", "zh-HK", "zh-TW",
];

/// The payment methods of Stripe's parameter `excluded_payment_method_types`.
const PAYMENT_METHODS: &[&str] = &[
    "acss_debit",
    "affirm",
    "afterpay_clearpay",
    "alipay",
    "alma",
    "amazon_pay",
    "au_becs_debit",
    "bacs_debit",
    "bancontact",
    "billie",
    "bizum",
    "blik",
    "boleto",
    "card",
    "cashapp",
    "crypto",
    "customer_balance",
    "eps",
    "fpx",
    "giropay",
    "grabpay",
    "ideal",
    "kakao_pay",
    "klarna",
    "konbini",
    "kr_card",
    "mb_way",
    "mobilepay",
    "multibanco",
    "naver_pay",
    "nz_bank_account",
    "oxxo",
    "p24",
    "pay_by_bank",
    "payco",
    "paynow",
    "paypal",
    "paypay",
    "payto",
    "pix",
    "promptpay",
    "revolut_pay",
    "samsung_pay",
    "satispay",
    "scalapay",
    "sepa_debit",
    "sequra",
    "sofort",
    "sunbit",
    "swish",
    "twint",
    "upi",
    "us_bank_account",
    "wechat_pay",
    "zip",
];

const HALF_AN_HOUR: i64 = 30 * 60;
const DAY: i64 = 24 * 60 * 60;

struct LineItems {
    currency: String,
    total: i64,
    data: Vec<Value>,
}

/// Creates a session.
pub fn create(state: &mut State, account: Option<&str>, params: &Reader<'_>) -> Answered {
    let now = state.now_seconds();
    match params.word("mode", &["payment", "setup", "subscription"])? {
        Some("payment") => {}
        Some(other) => return Err(not_modelled(&format!("mode={other}"))),
        None => return Err(Answer::invalid("Missing required param: mode.", Some("mode"), Some("parameter_missing"))),
    }
    let items = line_items(params)?;
    let expires_at = expires_at(params, now)?;
    let success_url = url(params, "success_url")?;
    let cancel_url = url(params, "cancel_url")?;
    if success_url.is_none() {
        let message = "You must provide a success_url.";
        return Err(Answer::invalid(message, Some("success_url"), Some("parameter_missing")));
    }
    let client_reference_id = params.text("client_reference_id")?;
    if client_reference_id.is_some_and(|id| id.chars().count() > 200) {
        return Err(params.invalid("client_reference_id", "Invalid string: must be at most 200 characters"));
    }
    let customer_email = params.text("customer_email")?;
    if let Some(email) = customer_email
        && !is_email(email)
    {
        let message = format!("Invalid email address: {email}");
        return Err(Answer::invalid(message, Some("customer_email"), Some("email_invalid")));
    }
    let locale = params.word("locale", LOCALES)?;
    let metadata = params.metadata("metadata")?;
    let excluded = words_of(params, "excluded_payment_method_types", PAYMENT_METHODS)?;
    let chosen = words_of(params, "payment_method_types", PAYMENT_METHODS)?;
    params.word("submit_type", &["auto", "book", "donate", "pay", "subscribe"])?;
    params.word("customer_creation", &["always", "if_required"])?;
    params.word("billing_address_collection", &["auto", "required"])?;
    params.word("ui_mode", &["hosted_page"])?;
    params.boolean("allow_promotion_codes")?;
    if let Some(pricing) = params.group("adaptive_pricing")? {
        pricing.boolean("enabled")?;
        pricing.finish()?;
    }
    let payment = payment_intent_data(params, account, &items)?;
    super::api::check_expand(params, &["payment_intent", "line_items"])?;
    params.finish()?;
    let minimum = currencies::minimum(&items.currency);
    if state.has_minimums && items.total > 0 && items.total < minimum {
        let message =
            format!("The Checkout Session's total amount due must add up to at least {minimum} {}", items.currency);
        return Err(Answer::refused(message, None, Some("amount_too_small")));
    }
    let id = state.new_id(if state.is_live { "cs_live_a1" } else { "cs_test_a1" }, 58);
    let url = format!("{}/c/pay/{id}", state.base);
    let session = json!({
        "id": id,
        "object": "checkout.session",
        "amount_subtotal": items.total,
        "amount_total": items.total,
        "automatic_tax": { "enabled": false, "status": null },
        "cancel_url": cancel_url,
        "client_reference_id": client_reference_id,
        "created": now,
        "currency": items.currency,
        "customer": null,
        "customer_creation": "if_required",
        "customer_details": null,
        "customer_email": customer_email,
        "excluded_payment_method_types": excluded,
        "expires_at": expires_at,
        "livemode": false,
        "locale": locale,
        "metadata": metadata,
        "mode": "payment",
        // Since the version 2022-08-01, the payment is created when the customer pays.
        "payment_intent": null,
        "payment_method_types": if chosen.is_empty() { vec!["card"] } else { chosen },
        "payment_status": "unpaid",
        "status": "open",
        "success_url": success_url,
        "total_details": { "amount_discount": 0, "amount_shipping": 0, "amount_tax": 0 },
        "ui_mode": "hosted_page",
        "url": url,
    });
    let hidden = json!({ "payment_intent_data": payment, "line_items": items.data });
    state.insert(Stored { account: account.map(str::to_owned), value: session, hidden });
    Ok(state.get(&id).value.clone())
}

/// Expires a session on request.
pub fn expire(state: &mut State, id: &str) -> Answered {
    let status = state.text(id, "status");
    if status != "open" {
        let message = format!(
            "Only Checkout Sessions with a status in [\"open\"] can be expired. This Checkout Session has a status of \
            `{status}`."
        );
        return Err(Answer::refused(message, None, None));
    }
    Ok(end(state, id))
}

/// Expires the sessions whose time is over.
pub fn expire_due(state: &mut State) {
    for id in state.due_sessions() {
        end(state, &id);
    }
}

fn end(state: &mut State, id: &str) -> Value {
    let session = state.change(id, &json!({ "status": "expired", "url": null }));
    state.emit("checkout.session.expired", id);
    session
}

fn line_items(params: &Reader<'_>) -> Result<LineItems, Answer> {
    let Some((length, list)) = params.list("line_items")? else {
        let message = "You must provide line_items in payment mode.";
        return Err(Answer::invalid(message, Some("line_items"), Some("parameter_missing")));
    };
    if length == 0 || length > 100 {
        return Err(params.invalid("line_items", "There is a maximum of 100 line items."));
    }
    let mut items = LineItems { currency: String::new(), total: 0, data: Vec::new() };
    for index in 0..length {
        let item = list.group(&index.to_string())?.ok_or_else(|| list.invalid("0", "Invalid array"))?;
        let quantity = item.integer("quantity")?.ok_or_else(|| item.invalid("quantity", "Quantity is required."))?;
        if quantity < 1 {
            return Err(item.invalid("quantity", "This value must be greater than or equal to 1."));
        }
        let Some(price) = item.group("price_data")? else { return Err(not_modelled("line items without price_data")) };
        let currency = price.required("currency")?;
        let unit_amount = price.integer("unit_amount")?;
        let amount = unit_amount.ok_or_else(|| price.invalid("unit_amount", "unit_amount is required."))?;
        currencies::check(currency, amount, &price.name("unit_amount"))?;
        let Some(product) = price.group("product_data")? else {
            return Err(price.invalid("product_data", "One of product or product_data is required."));
        };
        let name = product.required("name")?;
        product.text("description")?;
        product.metadata("metadata")?;
        product.finish()?;
        price.word("tax_behavior", &["exclusive", "inclusive", "unspecified"])?;
        price.finish()?;
        item.finish()?;
        if !items.currency.is_empty() && items.currency != currency {
            return Err(price.invalid("currency", "All line items must have the same currency."));
        }
        currency.clone_into(&mut items.currency);
        items.total += amount * quantity;
        items.data.push(json!({ "description": name, "amount_total": amount * quantity, "quantity": quantity }));
    }
    list.finish()?;
    currencies::check(&items.currency, items.total, "line_items")?;
    Ok(items)
}

/// "It can be anywhere from 30 minutes to 24 hours after Checkout Session creation. By default, this value is 24 hours
/// from creation."
fn expires_at(params: &Reader<'_>, now: i64) -> Result<i64, Answer> {
    let Some(at) = params.integer("expires_at")? else { return Ok(now + DAY) };
    let bound = match at - now {
        ..HALF_AN_HOUR => "at least 30 minutes",
        HALF_AN_HOUR..DAY => return Ok(at),
        _ => "less than 24 hours",
    };
    let message = format!("The `expires_at` timestamp must be {bound} from Checkout Session creation.");
    Err(params.invalid("expires_at", message))
}

fn payment_intent_data(params: &Reader<'_>, account: Option<&str>, items: &LineItems) -> Result<Value, Answer> {
    let Some(data) = params.group("payment_intent_data")? else { return Ok(json!({ "metadata": {} })) };
    let metadata = data.metadata("metadata")?;
    let description = data.text("description")?;
    let fee = data.integer("application_fee_amount")?;
    if let Some(fee) = fee {
        if account.is_none() {
            let message = "Can only apply an application_fee_amount when the PaymentIntent is attempting a direct \
                payment (using an OAuth key or Stripe-Account header) or destination payment.";
            return Err(data.invalid("application_fee_amount", message));
        }
        if fee <= 0 || fee > items.total {
            return Err(data.invalid("application_fee_amount", "The application fee must be at most the total."));
        }
        currencies::check(&items.currency, fee, "application_fee_amount")?;
    }
    let suffix = data.text("statement_descriptor_suffix")?;
    if suffix.is_some_and(|suffix| suffix.chars().count() > 22) {
        return Err(data.invalid("statement_descriptor_suffix", "Must be at most 22 characters"));
    }
    data.text("receipt_email")?;
    data.finish()?;
    Ok(json!({ "metadata": metadata, "description": description, "application_fee_amount": fee }))
}

fn words_of<'a>(params: &Reader<'a>, name: &str, allowed: &[&str]) -> Result<Vec<&'a str>, Answer> {
    let words = params.words(name)?;
    match words.iter().find(|word| !allowed.contains(word)) {
        None => Ok(words),
        Some(word) => Err(params.invalid(name, format!("Invalid {name}: {word}"))),
    }
}

fn url<'a>(params: &Reader<'a>, name: &str) -> Result<Option<&'a str>, Answer> {
    let Some(url) = params.text(name)? else { return Ok(None) };
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    if host.is_some_and(|host| !host.is_empty()) && !url.contains(char::is_whitespace) {
        return Ok(Some(url));
    }
    let message = "Not a valid URL. An explicit scheme (such as https) must be provided.";
    Err(Answer::invalid(message, Some(name), Some("url_invalid")))
}

/// Stripe refuses addresses that cannot receive email, such as those without a top-level domain.
fn is_email(email: &str) -> bool {
    let Some((local, domain)) = email.rsplit_once('@') else { return false };
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'@');
    let Some((_, top)) = domain.rsplit_once('.') else { return false };
    is_word(local)
        && local.len() <= 64
        && domain.split('.').all(is_word)
        && top.len() >= 2
        && top.bytes().all(|byte| byte.is_ascii_alphabetic())
}

pub fn not_modelled(what: &str) -> Answer {
    Answer::invalid(format!("The fake does not model this: {what}"), None, None)
}
