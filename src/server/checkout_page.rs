//! What the hosted checkout looks like. It loads nothing from anywhere and needs no script.

use std::fmt::{self, Write};

use axum::http::StatusCode;

use crate::model::order::{Order, OrderStatus, PaymentStatus};
use crate::service::HostedCheckout;

const STYLE: &str = include_str!("checkout.css");

/// The one style that the page's policy lets in: the SHA-256 of [`STYLE`].
pub(super) const STYLE_HASH: &str = "sha256-2dQ21WV3rVspUdRcQEin4lCv0rA9ZDdVrVwfUsoJNko=";

/// Where an order stands, as its customer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    ToPay,
    AttemptFailed,
    Paid,
    Refunded,
    RefundComing,
    Cancelled,
    Expired,
}

impl Standing {
    fn of(order: &Order) -> Self {
        let payment = order.payment_gateway.as_ref().map(|payment| payment.status);
        match (order.status, payment) {
            (OrderStatus::Pending, Some(PaymentStatus::Failed)) => Self::AttemptFailed,
            (OrderStatus::Pending, _) => Self::ToPay,
            (OrderStatus::Completed, _) => Self::Paid,
            (OrderStatus::Cancelled | OrderStatus::Expired, Some(PaymentStatus::Refunded)) => Self::Refunded,
            (OrderStatus::Cancelled | OrderStatus::Expired, Some(PaymentStatus::Completed)) => Self::RefundComing,
            (OrderStatus::Cancelled, _) => Self::Cancelled,
            (OrderStatus::Expired, _) => Self::Expired,
        }
    }

    /// What the page says about it: how it sounds, in a word, and in a sentence.
    const fn notice(self) -> Option<(&'static str, &'static str, &'static str)> {
        match self {
            Self::ToPay => None,
            Self::AttemptFailed => Some(("bad", "The payment failed", "Nothing was charged. You can try again.")),
            Self::Paid => Some(("good", "Paid", "Thank you! Your tickets are issued.")),
            Self::Refunded => Some(("calm", "Refunded", "This order is closed, and your payment was returned.")),
            Self::RefundComing => Some(("calm", "Closed", "This order is closed; your payment is to be returned.")),
            Self::Cancelled => Some(("calm", "Cancelled", "This order was cancelled. There is nothing to pay.")),
            Self::Expired => Some(("calm", "Expired", "This order was not paid in time. Please order again.")),
        }
    }

    const fn can_be_paid(self) -> bool {
        matches!(self, Self::ToPay | Self::AttemptFailed)
    }
}

/// Text that stays text in HTML.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            other => f.write_char(other),
        })
    }
}

/// The page of a checkout.
pub(super) fn render(checkout: &HostedCheckout) -> String {
    let (order, standing) = (&checkout.order, Standing::of(&checkout.order));
    let (title, currency) = (Escaped(&checkout.event_title), Escaped(&checkout.currency));
    let mut rows = String::new();
    for (item, name) in order.items.iter().zip(&checkout.item_names) {
        let (item, name) = (&item.item, Escaped(name));
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{name}</th><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            item.quantity, item.price
        );
    }
    let notice = standing.notice().map_or_else(String::new, |(tone, word, sentence)| {
        format!("<p class=\"notice {tone}\" role=\"status\"><strong>{word}</strong>{sentence}</p>")
    });
    let off = order.discounted_amount.filter(|off| off.minor() > 0).map_or_else(String::new, |off| {
        format!("<tr><td colspan=\"2\">Discount</td><td class=\"number\">&minus;{off}</td></tr>")
    });
    let total = order.total;
    let form = match standing.can_be_paid() {
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
             <th scope=\"col\" class=\"number\">Price</th></tr></thead><tbody>{rows}{off}</tbody>\
             <tfoot><tr><th scope=\"row\">Total</th><td colspan=\"2\" class=\"number\">{total} {currency}</td></tr></tfoot>\
             </table>{form}</main><p class=\"sandbox\">This is a sandbox: no money moves here.</p>"
        ),
    )
}

/// The page of a request that came to nothing.
pub(super) fn error(status: StatusCode) -> String {
    let (word, sentence) = match status {
        StatusCode::NOT_FOUND => ("There is no such checkout", "Please check the link that you were given."),
        StatusCode::SERVICE_UNAVAILABLE => ("Too much is going on", "Please try again in a moment."),
        status if status.is_client_error() => {
            ("That cannot be read", "Please go back to the checkout, and use one of its buttons.")
        }
        _ => ("Something went wrong", "Please try again later."),
    };
    document(word, &format!("<main><p class=\"over\">Checkout</p><h1>{word}</h1><p>{sentence}</p></main>"))
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
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_policy_lets_in_the_style_that_the_page_has() {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let encode = |bytes: &[u8]| {
            let bits = bytes.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (24 - 8 * bytes.len());
            let letter = |place: usize| char::from(LETTERS[(bits >> (18 - 6 * place) & 63) as usize]);
            (0..4).map(|place| if place <= bytes.len() { letter(place) } else { '=' }).collect::<String>()
        };
        let hash: String = Sha256::digest(STYLE).chunks(3).map(encode).collect();
        assert_eq!(STYLE_HASH, format!("sha256-{hash}"));
    }

    #[test]
    fn what_organizers_and_customers_write_stays_text() {
        let text = Escaped("<b onclick='x'>\"Tom & Jerry\"</b>").to_string();
        assert_eq!(text, "&lt;b onclick=&#39;x&#39;&gt;&quot;Tom &amp; Jerry&quot;&lt;/b&gt;");
    }
}
