//! The HTML of the hosted checkout. It loads nothing from other origins and needs no script.

use std::fmt::{self, Write};

use axum::http::StatusCode;

use crate::form::limits::LINE_LENGTH;
use crate::model::amount::Amount;
use crate::model::checkout::HostedCheckout;
use crate::model::order::{Order, OrderStatus, PaymentStatus};
use crate::model::timestamp::Timestamp;
use crate::rules::calendar::Zone;
use crate::rules::html::Escaped;
use crate::words;

const STYLE: &str = include_str!("checkout.css");

/// The hash of [`STYLE`] for the page's content security policy.
pub(super) const STYLE_HASH: &str = "sha256-vOOXj9ZBR7AXDEScZhVtOt2dV3/Hj/F68/3KyKQRRTg=";

/// The page's icon, a ticket. Without an icon in the page, browsers ask the server for `/favicon.ico`.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
    %3Cpath fill='%233b48d6' d='M1 3h14v3a2 2 0 0 0 0 4v3H1v-3a2 2 0 0 0 0-4z'/%3E%3C/svg%3E";

/// The state of an order as the page shows it to the customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckoutState {
    Open,
    PaymentFailed,
    Paid,
    Refunded,
    RefundDue,
    Cancelled,
    Expired,
}

/// A notice at the top of the page.
pub(super) struct Notice {
    /// `good`, `bad` or `calm`: a class in the style sheet.
    pub(super) tone: &'static str,
    pub(super) title: &'static str,
    pub(super) text: &'static str,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tone, title, text } = self;
        write!(f, "<p class=\"notice {tone}\" role=\"status\"><strong>{title}</strong>{text}</p>")
    }
}

impl CheckoutState {
    fn of(order: &Order) -> Self {
        let payment = order.payment_gateway.as_ref().map(|payment| payment.status);
        match (order.status, payment) {
            (OrderStatus::Pending, Some(PaymentStatus::Failed)) => Self::PaymentFailed,
            (OrderStatus::Pending, _) => Self::Open,
            (OrderStatus::Completed, _) => Self::Paid,
            (OrderStatus::Cancelled | OrderStatus::Expired, Some(PaymentStatus::Refunded)) => Self::Refunded,
            (OrderStatus::Cancelled | OrderStatus::Expired, Some(PaymentStatus::Completed)) => Self::RefundDue,
            (OrderStatus::Cancelled, _) => Self::Cancelled,
            (OrderStatus::Expired, _) => Self::Expired,
        }
    }

    const fn notice(self) -> Option<Notice> {
        let (tone, title, text) = match self {
            Self::Open => return None,
            Self::PaymentFailed => ("bad", "Payment failed", "You have not been charged. You can try again."),
            Self::Paid => ("good", "Paid", "Thank you! Your tickets have been issued."),
            Self::Refunded => ("calm", "Refunded", "This order is closed, and your payment has been refunded."),
            Self::RefundDue => ("calm", "Closed", "This order is closed. Your payment will be refunded."),
            Self::Cancelled => ("calm", "Cancelled", "This order was cancelled. There is nothing to pay."),
            Self::Expired => ("calm", "Expired", "This order was not paid in time. Please order again."),
        };
        Some(Notice { tone, title, text })
    }

    const fn can_be_paid(self) -> bool {
        matches!(self, Self::Open | Self::PaymentFailed)
    }
}

/// An amount of money, with commas between the thousands: `1,199.99 EUR`.
struct Money<'a> {
    amount: Amount,
    currency: &'a str,
}

impl fmt::Display for Money<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.amount.to_string();
        let whole = text.split('.').next().unwrap_or_default();
        for (index, character) in text.char_indices() {
            let digits_left = whole.len().saturating_sub(index);
            if index > 0 && digits_left > 0 && digits_left % 3 == 0 {
                f.write_char(',')?;
            }
            f.write_char(character)?;
        }
        write!(f, " {}", Escaped(self.currency))
    }
}

/// The page of a checkout, at the time `now`.
pub(super) fn render(checkout: &HostedCheckout, now: Timestamp) -> String {
    let order = &checkout.order;
    let state = CheckoutState::of(order);
    let title = Escaped(shortened(&checkout.event_title));
    let notice = state.notice().map_or_else(String::new, |notice| notice.to_string());
    let event = event(checkout);
    let items = items(checkout);
    let facts = facts(checkout, state, now);
    let total = Money { amount: order.total, currency: &checkout.currency };
    let form = match state.can_be_paid() {
        true => format!(
            "<form method=\"post\">\
             <button class=\"pay\" name=\"outcome\" value=\"success\">Pay {total}</button>\
             <button name=\"outcome\" value=\"failure\">Payment fails</button>\
             <button name=\"outcome\" value=\"cancel\">Cancel order</button></form>"
        ),
        false => String::new(),
    };
    document(
        &format!("Checkout: {title}"),
        &format!(
            "<main><p class=\"over\">Checkout</p><h1>{title}</h1>{event}{notice}{items}{facts}{form}</main>\
             <footer>This is a sandbox. No money is charged.</footer>"
        ),
    )
}

/// The page for a customer who comes back from the gateway's page, if the order names no pages of its own.
pub(super) fn render_return(order: &Order, notice: &Notice) -> String {
    let mut tickets = String::new();
    for item in &order.items {
        let name = Escaped(&item.ticket_type_name);
        // Writing to a string cannot fail.
        let _ = write!(tickets, "<tr><th scope=\"row\">{name}</th><td>{}</td></tr>", item.quantity);
    }
    document(
        notice.title,
        &format!(
            "<main><p class=\"over\">Checkout</p><h1>Your order</h1>{notice}\
             <table><thead><tr><th scope=\"col\">Tickets</th><th scope=\"col\">Quantity</th></tr></thead>\
             <tbody>{tickets}</tbody></table><dl><div><dt>Order</dt><dd>{}</dd></div></dl></main>",
            order.id
        ),
    )
}

/// When and where the event takes place.
fn event(checkout: &HostedCheckout) -> String {
    let start = local_time(checkout.event_start, &checkout.timezone);
    let location = checkout.event_location.as_deref().map_or_else(String::new, |location| {
        let location = Escaped(shortened(location));
        format!("<br>{location}")
    });
    format!("<p class=\"event\">{start}{location}</p>")
}

/// The items, whose amounts less the discount add up to the total.
fn items(checkout: &HostedCheckout) -> String {
    let order = &checkout.order;
    let money = |amount| Money { amount, currency: &checkout.currency };
    let mut rows = String::new();
    for item in &order.items {
        let name = Escaped(&item.ticket_type_name);
        let price = money(item.price);
        let amount = money(item.item_subtotal);
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{name}<span>{} &times; {price}</span></th><td>{amount}</td></tr>",
            item.quantity
        );
    }
    if let Some(discount) = order.discounted_amount.filter(|amount| amount.minor_units() > 0) {
        let discount = money(discount);
        let _ = write!(rows, "<tr><th scope=\"row\">Discount</th><td>&minus;{discount}</td></tr>");
    }
    let total = money(order.total);
    format!(
        "<table><thead><tr><th scope=\"col\">Tickets</th><th scope=\"col\">Amount</th></tr></thead><tbody>{rows}</tbody>\
         <tfoot><tr><th scope=\"row\">Total</th><td>{total}</td></tr></tfoot></table>"
    )
}

/// The beginning of a text. Those of version 0.1 may have any length.
fn shortened(name: &str) -> &str {
    name.char_indices().nth(LINE_LENGTH).map_or(name, |(end, _)| &name[..end])
}

/// The number of the order, until when it can be paid, and how many minutes are left.
fn facts(checkout: &HostedCheckout, state: CheckoutState, now: Timestamp) -> String {
    let hold_until = checkout.hold_until.filter(|_| state.can_be_paid()).map_or_else(String::new, |hold_until| {
        let minutes = hold_until.duration_since(now).unwrap_or_default().as_secs().div_ceil(60);
        let hold_until = local_time(hold_until, &checkout.timezone);
        format!(
            "<div><dt>Held until</dt><dd>{hold_until}</dd></div><div><dt>Time left</dt><dd>{minutes} min</dd></div>"
        )
    });
    format!("<dl><div><dt>Order</dt><dd>{}</dd></div>{hold_until}</dl>", checkout.order.id)
}

/// The date and time in a time zone, with the name of the zone.
fn local_time(at: Timestamp, timezone: &str) -> String {
    let Some(zone) = Zone::of(timezone) else { return at.to_string() };
    let timezone = Escaped(timezone);
    format!("<time datetime=\"{at}\">{} ({timezone})</time>", words::moment(words::of(None), zone, at))
}

/// The page for a request that failed.
pub(super) fn error(status: StatusCode) -> String {
    let (title, text) = match status {
        StatusCode::NOT_FOUND => ("Checkout not found", "Please check the link that you were given."),
        StatusCode::SERVICE_UNAVAILABLE => ("The server is busy", "Please try again in a moment."),
        status if status.is_client_error() => {
            ("Invalid request", "Please go back to the checkout page and use one of its buttons.")
        }
        _ => ("Something went wrong", "Please try again later."),
    };
    document(title, &format!("<main><p class=\"over\">Checkout</p><h1>{title}</h1><p>{text}</p></main>"))
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><link rel=\"icon\" href=\"{ICON}\"><style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::html::style_hash;

    #[test]
    fn the_hash_in_the_policy_is_that_of_the_style() {
        assert_eq!(STYLE_HASH, style_hash(STYLE));
    }

    #[test]
    fn amounts_have_commas_between_the_thousands() {
        for (minor, decimals, text) in [
            (0, 2, "0.00"),
            (1250, 2, "12.50"),
            (99_999, 2, "999.99"),
            (119_999, 2, "1,199.99"),
            (100_000, 0, "100,000"),
            (1_234_567_890, 3, "1,234,567.890"),
        ] {
            let amount = Amount::new(minor, decimals).unwrap();
            assert_eq!(Money { amount, currency: "EUR" }.to_string(), format!("{text} EUR"));
        }
    }
}
