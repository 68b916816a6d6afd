//! The HTML of the pages of tickets and orders.

use std::fmt::Write;

use super::super::content::{Content, TicketToPrint, in_groups};
use super::super::{clean, qr};
use crate::error::Result;
use crate::model::event::{Event, EventStatus};
use crate::model::linked::{LinkedOrder, LinkedTicket};
use crate::model::order::OrderStatus;
use crate::model::ticket::{IssuedTicket, TicketStatus};
use crate::model::ticket_type::TicketType;
use crate::rules::calendar::Zone;
use crate::rules::html::Escaped;
use crate::words::{self, TicketPages, Words};

const STYLE: &str = include_str!("page.css");

/// The hash of [`STYLE`] for the content security policy of the pages.
pub(crate) const STYLE_HASH: &str = "sha256-acVtaJdxkFb1MDTgAhnuCdwezrApW/Gv9OoRRIggIcM=";

/// The icon of the pages, a ticket. Without an icon in the page, browsers ask the server for `/favicon.ico`.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
    %3Cpath fill='%231f4b99' d='M1 3h14v3a2 2 0 0 0 0 4v3H1v-3a2 2 0 0 0 0-4z'/%3E%3C/svg%3E";

/// The light modules that a QR code needs on all sides.
const QUIET_ZONE: usize = 4;

/// Text being written. Writing to a string cannot fail.
macro_rules! put {
    ($out:expr, $($arguments:tt)*) => {{ let _ = write!($out, $($arguments)*); }};
}

/// The page of a ticket, which shows no logo. Its links are relative: `token` is the last part of its path.
pub(crate) fn ticket_page(linked: LinkedTicket, token: &str) -> Result<String> {
    let LinkedTicket { ticket, ticket_type, event, order_id: order, language } = linked;
    let words = words::of(language.as_deref());
    let page_words = &words.tickets;
    let printed = TicketToPrint {
        event: &event,
        ticket_type: &ticket_type,
        ticket: &ticket,
        order,
        language: language.as_deref(),
    };
    let content = Content::of(printed)?;
    let mut main = heading(&content);
    put!(main, "{}", event_notice(&event, page_words));
    put!(main, "{}", card(&content, &ticket, &event, page_words)?);
    if ticket.status != TicketStatus::Cancelled && event.status != EventStatus::Cancelled {
        put!(
            main,
            "<nav><a href=\"{token}/ticket.pdf\">{}</a><a href=\"{token}/event.ics\">{}</a></nav>",
            page_words.download_ticket,
            page_words.add_to_calendar
        );
    }
    Ok(document(words.language, &content.title, &format!("<main>{main}</main>{}", footer(&content))))
}

/// The page of an order with all its tickets. Its links are relative: `token` is the last part of its path.
pub(crate) fn order_page(linked: LinkedOrder, token: &str) -> Result<String> {
    let LinkedOrder { order, event, ticket_types, tickets, language } = linked;
    let words = words::of(language.as_deref());
    let page_words = &words.tickets;
    let zone = Zone::stored(&event.timezone)?;
    let title = clean::line(&event.title);
    let mut main = format!("<header>{}", headline(&title));
    let (from, until) = (event.start_date, event.end_date);
    put!(main, "<p class=\"when\">{}</p>", words::period(words, zone, from, until));
    put!(main, "<p class=\"zone\">{}</p>", Escaped(&words::zone_at(zone, &event.timezone, from)));
    if let Some(location) = &event.location {
        put!(main, "<p class=\"where\">{}</p>", Escaped(&clean::line(location)));
    }
    main.push_str("</header>");
    let is_cancelled = order.status == OrderStatus::Cancelled;
    if is_cancelled && event.status != EventStatus::Cancelled {
        main.push_str(&notice("bad", page_words.order_cancelled, page_words.no_entry));
    } else {
        main.push_str(&event_notice(&event, page_words));
    }
    let is_valid = |ticket: &IssuedTicket| {
        ticket.status != TicketStatus::Cancelled && event.status != EventStatus::Cancelled && !is_cancelled
    };
    if tickets.iter().any(is_valid) {
        put!(main, "<nav><a href=\"{token}/tickets.pdf\">{}</a>", page_words.download_tickets);
        if let Some(ticket) = tickets.iter().find(|ticket| is_valid(ticket)).and_then(link_token) {
            put!(main, "<a href=\"../tickets/{ticket}/event.ics\">{}</a>", page_words.add_to_calendar);
        }
        main.push_str("</nav>");
    }
    for ticket in &tickets {
        let Some(ticket_type) = type_of(ticket, &ticket_types) else { continue };
        let printed = TicketToPrint { event: &event, ticket_type, ticket, order: None, language: language.as_deref() };
        put!(main, "{}", card(&Content::of(printed)?, ticket, &event, page_words)?);
    }
    let body = format!("<main>{main}</main><footer>{} {}</footer>", words.ticket.order, order.id);
    Ok(document(words.language, &format!("{}: {}", page_words.your_tickets, title), &body))
}

fn type_of<'a>(ticket: &IssuedTicket, types: &'a [TicketType]) -> Option<&'a TicketType> {
    types.iter().find(|ticket_type| ticket_type.id == ticket.ticket_type_id)
}

/// The token in the link of a ticket's document.
fn link_token(ticket: &IssuedTicket) -> Option<&str> {
    ticket.download_ticket_url.as_deref()?.rsplit('/').nth(1)
}

/// A title longer than this is written in smaller letters.
const LONG_TITLE: usize = 80;

fn headline(title: &str) -> String {
    let class = if title.chars().count() > LONG_TITLE { " class=\"long\"" } else { "" };
    format!("<h1{class}>{}</h1>", Escaped(title))
}

/// When and where the event takes place.
fn heading(content: &Content) -> String {
    let mut heading = format!(
        "<header>{}<p class=\"when\">{}</p><p class=\"zone\">{}</p>",
        headline(&content.title),
        Escaped(&content.period),
        Escaped(&content.zone)
    );
    if let Some(location) = &content.location {
        put!(heading, "<p class=\"where\">{}</p>", Escaped(location));
    }
    heading.push_str("</header>");
    heading
}

fn event_notice(event: &Event, words: &TicketPages) -> String {
    match event.status {
        EventStatus::Cancelled => notice("bad", words.event_cancelled, words.no_entry),
        EventStatus::Expired => notice("calm", words.event_over, ""),
        _ => String::new(),
    }
}

fn notice(tone: &str, title: &str, text: &str) -> String {
    format!("<p class=\"notice {tone}\"><strong>{}</strong>{}</p>", Escaped(title), Escaped(text))
}

/// A ticket with its QR code, unless it is cancelled.
fn card(content: &Content, ticket: &IssuedTicket, event: &Event, words: &TicketPages) -> Result<String> {
    let mut card = "<section class=\"card\">".to_owned();
    let zone = Zone::stored(&event.timezone)?;
    match (event.status, ticket.status) {
        (EventStatus::Cancelled, _) => {}
        (_, TicketStatus::Cancelled) => card.push_str(&notice("bad", words.ticket_cancelled, words.no_entry)),
        (_, status) => {
            if let (TicketStatus::CheckedIn, Some(at)) = (status, ticket.check_in_date) {
                card.push_str(&notice("good", words.checked_in, &words::moment(content.words, zone, at)));
            }
            put!(
                card,
                "<div class=\"qr\">{}<p class=\"code\">{}</p><p class=\"hint\">{}</p></div>",
                qr_code(&content.code, content.words)?,
                in_groups(&content.code),
                Escaped(words.show_at_entrance)
            );
        }
    }
    put!(card, "<h2>{}</h2>", Escaped(&content.ticket_type));
    if !content.fields.is_empty() {
        card.push_str("<dl>");
        for (label, lines) in &content.fields {
            let lines: Vec<_> = lines.iter().map(|line| format!("<dd>{}</dd>", Escaped(line))).collect();
            put!(card, "<dt>{}</dt>{}", Escaped(label), lines.concat());
        }
        card.push_str("</dl>");
    }
    if content.text.iter().any(|line| !line.is_empty()) {
        put!(card, "<p class=\"text\">{}</p>", Escaped(&content.text.join("\n")));
    }
    card.push_str("</section>");
    Ok(card)
}

/// The QR code as SVG, with the quiet zone around it.
fn qr_code(code: &str, words: &Words) -> Result<String> {
    let side = qr::SIDE + 2 * QUIET_ZONE;
    let mut dark = String::new();
    for run in qr::dark_runs(code)? {
        put!(dark, "M{} {}h{}v1h-{}z", run.column + QUIET_ZONE, run.row + QUIET_ZONE, run.length, run.length);
    }
    Ok(format!(
        "<svg viewBox=\"0 0 {side} {side}\" role=\"img\" aria-label=\"{}\" shape-rendering=\"crispEdges\">\
         <path fill=\"#fff\" d=\"M0 0h{side}v{side}h-{side}z\"/><path fill=\"#000\" d=\"{dark}\"/></svg>",
        Escaped(words.ticket.qr_code)
    ))
}

fn footer(content: &Content) -> String {
    match &content.order {
        Some(order) => format!("<footer>{} {}</footer>", content.words.ticket.order, Escaped(order)),
        None => String::new(),
    }
}

/// The page for a request that failed with this status.
pub(crate) fn problem_page(status: u16) -> String {
    let (title, text) = match status {
        405 => ("Method not allowed", "Please open the link that you were given in a browser."),
        404 => ("Not found", "Please check the link that you were given, or ask the organizer for a new one."),
        409 => ("Not paid yet", "This order is not paid. It has no tickets."),
        410 => ("Cancelled", "This ticket, order or event is cancelled, so there is nothing to download."),
        429 => ("Too many requests", "Please try again in a minute."),
        503 => ("The server is busy", "Please try again in a moment."),
        400..=499 => ("Invalid request", "Please use the link that you were given."),
        _ => ("Something went wrong", "Please try again later."),
    };
    document("en", title, &format!("<main><header><h1>{title}</h1></header><p>{text}</p></main>"))
}

fn document(language: &str, title: &str, body: &str) -> String {
    let title = Escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"{language}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"robots\" content=\"noindex\"><title>{title}</title>\
         <link rel=\"icon\" href=\"{ICON}\"><style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
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
    fn every_problem_has_a_page() {
        for status in [400, 404, 405, 409, 410, 429, 500, 503] {
            let page = problem_page(status);
            assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<h1>"), "{page}");
        }
    }
}
