//! The page of an event, on which customers choose tickets.

use askama::Template;

use super::document::render;
use super::heading::Heading;
use super::page_notice::Notice;
use super::seller::Seller;
use super::structured_data::{self, SocialCard};
use crate::documents::Cover;
use crate::error::Result;
use crate::model::sale::event::EventStatus;
use crate::model::sale::event_page::EventPage;
use crate::model::sale::ticket_type::{SaleState, TicketType, TicketTypeStatus};
use crate::model::values::amount::Amount;
use crate::rules::calendar::Zone;
use crate::rules::printed_text;
use crate::words::{self, Words};

/// What the description of a ticket type has at most on the page, in characters.
const MAX_TYPE_DESCRIPTION: usize = 500;

/// The languages of the page, for search engines.
pub(super) const LANGUAGES: [&str; 6] = ["de", "en", "es", "fr", "it", "nl"];

/// What a link to the page has chosen already.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Prefilled {
    /// Tickets by the texts of the parameters, which name types.
    pub(crate) quantities: Vec<(String, i64)>,
    pub(crate) code: Option<String>,
    pub(crate) referrer: Option<String>,
    /// The language that the link names.
    pub(crate) language: Option<String>,
    /// Whether the customer has gone on without choosing a ticket.
    pub(crate) has_chosen_nothing: bool,
}

#[derive(Template)]
#[template(path = "event.html")]
struct EventHtml<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    notice: Option<Notice>,
    cover: Option<&'a Cover>,
    /// The paragraphs of the description. Their addresses are links.
    description: Vec<Vec<Piece>>,
    offers: Vec<OfferLine>,
    is_on_sale: bool,
    /// The last part of the path of the page: its links are relative.
    slug: &'a str,
    prefilled: &'a Prefilled,
    seller: Seller<'a>,
    card: SocialCard,
    json_ld: String,
}

/// A piece of a description.
pub(super) enum Piece {
    Text(String),
    /// An `https` URL.
    Link(String),
    LineBreak,
}

/// A ticket type, with a field for the quantity if it can be ordered.
struct OfferLine {
    id: String,
    name: String,
    price: String,
    description: Option<String>,
    /// Whether it can be had, and until when.
    state: Option<String>,
    /// The greatest quantity. 0 if it cannot be ordered.
    most: i64,
    /// The quantity that the link has chosen.
    chosen: i64,
}

impl OfferLine {
    /// The ids of the texts about it.
    fn described_by(&self) -> Option<String> {
        let about = self.description.as_ref().map(|_| format!("about-{}", self.id));
        let state = self.state.as_ref().map(|_| format!("state-{}", self.id));
        let ids: Vec<_> = about.into_iter().chain(state).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}

impl EventHtml<'_> {
    fn title(&self) -> &str {
        &self.heading.title
    }
}

/// Renders the page of an event. `pages_url` is the address of the page without a query, and `cover` its picture if it
/// is known. `languages` are those that the reader wants, the most wanted first.
pub(crate) fn event_page(
    page: &EventPage,
    pages_url: &str,
    cover: Option<&Cover>,
    prefilled: &Prefilled,
    languages: &[String],
) -> Result<String> {
    let words = words::for_reader(None, languages);
    let EventPage { event, ticket_types, organization } = page;
    let zone = Zone::stored(&event.timezone)?;
    let offers: Vec<_> = ticket_types.iter().map(|offered| offer(page, offered, zone, prefilled, words)).collect();
    let heading = Heading::of(event, words, None)?;
    let notice = match event.status {
        EventStatus::Cancelled => Some(Notice::new("bad", words.tickets.event_cancelled, "")),
        EventStatus::Expired => Some(Notice::new("calm", words.tickets.event_over, "")),
        EventStatus::SoldOut => Some(Notice::new("calm", words.event.sold_out, "")),
        _ if prefilled.has_chosen_nothing => Some(Notice::new("bad", words.form.nothing_chosen, "")),
        _ if offers.is_empty() => Some(Notice::new("calm", words.event.nothing_on_sale, "")),
        _ => None,
    };
    let card = SocialCard::of(page, &heading, pages_url, cover);
    render(&EventHtml {
        words,
        json_ld: structured_data::json_ld(page, pages_url, cover.is_some())?,
        card,
        heading,
        notice,
        cover,
        description: event.description.as_deref().map(paragraphs).unwrap_or_default(),
        is_on_sale: page.is_on_sale() && offers.iter().any(|offer| offer.most > 0),
        offers: if matches!(event.status, EventStatus::Cancelled | EventStatus::Expired) { Vec::new() } else { offers },
        slug: &event.slug,
        prefilled,
        seller: Seller::of(organization, words),
    })
}

fn offer(page: &EventPage, offered: &TicketType, zone: Zone, prefilled: &Prefilled, words: &Words) -> OfferLine {
    let id = offered.id.to_string();
    let most = page.most(offered);
    let chosen = prefilled.quantities.iter().find(|(known, _)| *known == id).map_or(0, |(_, quantity)| *quantity);
    OfferLine {
        name: printed_text::line(&offered.name),
        price: price(offered.price, &page.event.currency, words),
        description: offered.description.as_deref().map(short).filter(|text| !text.is_empty()),
        state: state(offered, zone, words),
        most,
        chosen: chosen.clamp(0, most),
        id,
    }
}

pub(super) fn price(amount: Amount, currency: &str, words: &Words) -> String {
    if amount.is_zero() { words.event.free.to_owned() } else { words::money(words, amount, currency) }
}

/// Whether tickets of a type can be had, and how many.
fn state(offered: &TicketType, zone: Zone, words: &Words) -> Option<String> {
    let words_of_event = &words.event;
    let moment = |at| words::moment(words, zone, at);
    match offered.sale_state {
        SaleState::OnSale => {
            let is_nearly_sold_out = offered.available.saturating_mul(10) < offered.quantity;
            let left = match offered.display_remaining {
                true => Some((words_of_event.left)(offered.available)),
                false if is_nearly_sold_out => Some(words_of_event.few_left.to_owned()),
                false => None,
            };
            let until = offered.sale_end_date.map(|end| (words_of_event.on_sale_until)(&moment(end)));
            let parts: Vec<_> = left.into_iter().chain(until).collect();
            (!parts.is_empty()).then(|| parts.join(" · "))
        }
        SaleState::NotYet => Some(match offered.sale_start_date {
            Some(start) => (words_of_event.on_sale_from)(&moment(start)),
            None => words_of_event.unavailable.to_owned(),
        }),
        SaleState::Ended => Some(words_of_event.sale_ended.to_owned()),
        SaleState::SoldOut => Some(words_of_event.sold_out.to_owned()),
        SaleState::Closed if offered.status == TicketTypeStatus::DisplayAsSoldOut => {
            Some(words_of_event.sold_out.to_owned())
        }
        SaleState::Closed => Some(words_of_event.unavailable.to_owned()),
    }
}

/// The beginning of a description, on one line.
fn short(text: &str) -> String {
    let text = printed_text::line(text);
    match text.char_indices().nth(MAX_TYPE_DESCRIPTION) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

/// The paragraphs of a description: empty lines separate them. Its `https` URLs are links.
pub(super) fn paragraphs(text: &str) -> Vec<Vec<Piece>> {
    let mut paragraphs = vec![Vec::new()];
    for line in printed_text::lines(text) {
        let is_first = paragraphs.last().is_none_or(Vec::is_empty);
        if line.is_empty() {
            if !is_first {
                paragraphs.push(Vec::new());
            }
        } else if let Some(paragraph) = paragraphs.last_mut() {
            if !is_first {
                paragraph.push(Piece::LineBreak);
            }
            pieces(&line, paragraph);
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// Adds the pieces of a line.
fn pieces(line: &str, paragraph: &mut Vec<Piece>) {
    let mut rest = line;
    while let Some(start) = rest.find("https://") {
        let url = &rest[start..];
        let end =
            url.find(|letter: char| letter.is_whitespace() || "<>\"'`{}|\\^".contains(letter)).unwrap_or(url.len());
        // What ends a sentence is not part of the address.
        let url = url[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '…']);
        let has_host = url.len() > "https://".len() && url.is_ascii();
        let taken = if has_host { url.len() } else { "https://".len() };
        if start > 0 {
            paragraph.push(Piece::Text(rest[..start].to_owned()));
        }
        let piece = rest[start..start + taken].to_owned();
        paragraph.push(if has_host { Piece::Link(piece) } else { Piece::Text(piece) });
        rest = &rest[start + taken..];
    }
    if !rest.is_empty() {
        paragraph.push(Piece::Text(rest.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let pieces = paragraphs(text).into_iter().map(|paragraph| {
            let pieces = paragraph.into_iter().map(|piece| match piece {
                Piece::Text(text) => text,
                Piece::Link(url) => format!("[{url}]"),
                Piece::LineBreak => "/".to_owned(),
            });
            pieces.collect()
        });
        pieces.collect()
    }

    #[test]
    fn empty_lines_separate_paragraphs_and_addresses_are_links() {
        assert_eq!(shown("One\ntwo\n\n\nthree\n"), ["One/two", "three"]);
        assert_eq!(
            shown("See https://example.com/a?b=1&c=(2). Or (https://example.com)!"),
            ["See [https://example.com/a?b=1&c=(2]). Or ([https://example.com])!"]
        );
        assert_eq!(
            shown("http://example.com javascript:alert(1) https:// https://\"x"),
            ["http://example.com javascript:alert(1) https:// https://\"x"]
        );
        assert_eq!(shown("https://a.example<https://b.example"), ["[https://a.example]<[https://b.example]"]);
    }
}
