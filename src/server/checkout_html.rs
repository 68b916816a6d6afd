//! The HTML of the hosted checkout. It loads nothing from other origins and needs no script.

use std::fmt::{self, Write};

use axum::http::StatusCode;

use crate::model::checkout::HostedCheckout;
use crate::model::order::{Order, OrderStatus, PaymentStatus};

const STYLE: &str = include_str!("checkout.css");

/// The hash of [`STYLE`] for the page's content security policy.
pub(super) const STYLE_HASH: &str = "sha256-2dQ21WV3rVspUdRcQEin4lCv0rA9ZDdVrVwfUsoJNko=";

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
struct Notice {
    /// `good`, `bad` or `calm`: a class in the style sheet.
    tone: &'static str,
    title: &'static str,
    text: &'static str,
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

/// Text with HTML's special characters escaped.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// The page of a checkout.
pub(super) fn render(checkout: &HostedCheckout) -> String {
    let order = &checkout.order;
    let state = CheckoutState::of(order);
    let title = Escaped(&checkout.event_title);
    let currency = Escaped(&checkout.currency);
    let mut rows = String::new();
    for (item, name) in order.items.iter().zip(&checkout.item_names) {
        let item = &item.item;
        let name = Escaped(name);
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{name}</th><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            item.quantity, item.price
        );
    }
    let notice = state.notice().map_or_else(String::new, |Notice { tone, title, text }| {
        format!("<p class=\"notice {tone}\" role=\"status\"><strong>{title}</strong>{text}</p>")
    });
    let discount = order.discounted_amount.filter(|amount| amount.minor() > 0).map_or_else(String::new, |amount| {
        format!("<tr><td colspan=\"2\">Discount</td><td class=\"number\">&minus;{amount}</td></tr>")
    });
    let total = order.total;
    let form = match state.can_be_paid() {
        true => format!(
            "<form method=\"post\">\
             <button class=\"pay\" name=\"outcome\" value=\"success\">Pay {total} {currency}</button>\
             <button name=\"outcome\" value=\"failure\">Payment fails</button>\
             <button name=\"outcome\" value=\"cancel\">Cancel order</button></form>"
        ),
        false => String::new(),
    };
    document(
        &format!("Checkout: {title}"),
        &format!(
            "<main><p class=\"over\">Checkout</p><h1>{title}</h1>{notice}<table>\
             <thead><tr><th scope=\"col\">Ticket</th><th scope=\"col\" class=\"number\">Quantity</th>\
             <th scope=\"col\" class=\"number\">Price</th></tr></thead><tbody>{rows}{discount}</tbody>\
             <tfoot><tr><th scope=\"row\">Total</th><td colspan=\"2\" class=\"number\">{total} {currency}</td></tr></tfoot>\
             </table>{form}</main><p class=\"sandbox\">This is a sandbox. No money is charged.</p>"
        ),
    )
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
         <title>{title}</title><style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_hash_in_the_policy_is_that_of_the_style() {
        let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
        assert_eq!(STYLE_HASH, format!("sha256-{hash}"));
    }

    #[test]
    fn html_in_titles_and_names_is_escaped() {
        let text = Escaped("<b onclick='x'>\"Tom & Jerry\"</b>").to_string();
        assert_eq!(text, "&lt;b onclick=&#39;x&#39;&gt;&quot;Tom &amp; Jerry&quot;&lt;/b&gt;");
    }
}
