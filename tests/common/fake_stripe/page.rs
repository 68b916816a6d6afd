//! The payment page, `GET /c/pay/{session}`: its buttons pay, are declined, or pay later.

use super::payments::{self, NotPayable};
use super::request::Request;
use super::sessions;
use super::state::State;

/// A page, or a redirect to a URL.
pub enum Page {
    Html(u16, String),
    Redirect(String),
}

/// Answers a request to the page. A form with `outcome=success` pays; other outcomes are `declined`, and the names of
/// delayed payment methods.
pub fn open(state: &mut State, request: &Request, session: &str) -> Page {
    sessions::expire_due(state);
    let Some(stored) = state.find(session) else { return text(404, "No such page.") };
    let value = &stored.value;
    if request.method == "GET" {
        return match value["status"].as_str() {
            Some("open") => form(stored),
            Some("expired") => text(200, "This page has expired."),
            _ => text(200, "You have paid already."),
        };
    }
    let success_url = value["success_url"].as_str().unwrap_or_default().replace("{CHECKOUT_SESSION_ID}", session);
    let body = String::from_utf8_lossy(&request.body);
    let paid = match body.strip_prefix("outcome=").unwrap_or_default() {
        "success" => payments::pay(state, session),
        "declined" => {
            return match payments::decline(state, session) {
                Ok(_) => text(402, "Your card was declined. Go back and try again."),
                Err(ended) => refuse(&ended),
            };
        }
        "" => return text(400, "The form has no outcome."),
        method => payments::pay_later(state, session, method),
    };
    match paid {
        Ok(_) => Page::Redirect(success_url),
        Err(ended) => refuse(&ended),
    }
}

fn refuse(reason: &NotPayable) -> Page {
    match reason {
        NotPayable::NoSuchSession => text(404, "No such page."),
        NotPayable::Ended(status) => text(410, &format!("You cannot pay any more: this session is {status}.")),
        NotPayable::NotOffered => text(400, "This payment method is not offered."),
    }
}

fn form(stored: &super::state::Stored) -> Page {
    let value = &stored.value;
    let items = stored.hidden["line_items"].as_array().map_or(&[][..], Vec::as_slice);
    let rows: String = items
        .iter()
        .map(|item| {
            let (name, amount) = (item["description"].as_str().unwrap_or_default(), &item["amount_total"]);
            format!("<li>{}: {amount}</li>", escape(name))
        })
        .collect();
    let button =
        |outcome: &str| format!("<form method=post><button name=outcome value={outcome}>{outcome}</button></form>");
    // "To use information from the successful Checkout Session on your page": only the success_url has placeholders.
    let cancel = value["cancel_url"].as_str();
    let cancel = cancel.map_or_else(String::new, |url| format!("<a href=\"{}\">Back</a>", escape(url)));
    let (total, currency) = (&value["amount_total"], value["currency"].as_str().unwrap_or_default());
    let buttons = ["success", "declined", "sepa_debit"].map(button).concat();
    let html = format!("<!doctype html><title>Pay</title><ul>{rows}</ul><p>{total} {currency}</p>{buttons}{cancel}");
    Page::Html(200, html)
}

fn text(status: u16, text: &str) -> Page {
    Page::Html(status, format!("<!doctype html><title>Pay</title><p>{}</p>", escape(text)))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
