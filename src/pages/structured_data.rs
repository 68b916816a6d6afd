//! What search engines and other sites read of the page of an event: JSON-LD (schema.org `Event`) and Open Graph.

use serde_json::{Value, json};

use super::heading::Heading;
use crate::documents::Cover;
use crate::error::Result;
use crate::model::sale::event::EventStatus;
use crate::model::sale::event_page::EventPage;
use crate::model::sale::ticket_type::{SaleState, TicketType};
use crate::model::values::timestamp::Timestamp;
use crate::rules::calendar::Zone;
use crate::rules::printed_text;

/// What other sites show of a link to the page: the tags of Open Graph.
pub(super) struct SocialCard {
    pub(super) url: String,
    pub(super) title: String,
    pub(super) description: String,
    /// The address of the cover, with its width and height.
    pub(super) picture: Option<(String, u32, u32)>,
}

/// How many characters of the description other sites get.
const DESCRIPTION: usize = 200;

impl SocialCard {
    pub(super) fn of(page: &EventPage, heading: &Heading<'_>, url: &str, cover: Option<&Cover>) -> Self {
        let description = page.event.description.as_deref().map(printed_text::line);
        let description = description.unwrap_or_else(|| {
            let facts = std::iter::once(heading.period.clone()).chain(heading.location.iter().cloned());
            facts.collect::<Vec<_>>().join(", ")
        });
        Self {
            url: url.to_owned(),
            title: heading.title.clone(),
            description: description.chars().take(DESCRIPTION).collect(),
            picture: cover.map(|cover| (format!("{url}/cover"), cover.width, cover.height)),
        }
    }
}

/// The event and its offers as JSON-LD, ready to stand in a `script` element: no `<` is in it.
pub(super) fn json_ld(page: &EventPage, url: &str, has_cover: bool) -> Result<String> {
    let event = &page.event;
    let zone = Zone::stored(&event.timezone)?;
    let status = if event.status == EventStatus::Cancelled { "EventCancelled" } else { "EventScheduled" };
    let mut described = json!({
        "@context": "https://schema.org",
        "@type": "Event",
        "name": printed_text::line(&event.title),
        "startDate": local(zone, event.start_date),
        "eventStatus": format!("https://schema.org/{status}"),
        "url": url,
        "organizer": {"@type": "Organization", "name": printed_text::line(&page.organization.name)},
        "offers": page.ticket_types.iter().map(|offered| offer(page, offered, url, zone)).collect::<Vec<_>>(),
    });
    let members = [
        ("endDate", event.end_date.map(|end| local(zone, end).into())),
        (
            "description",
            event.description.as_deref().map(|text| printed_text::lines(text).collect::<Vec<_>>().join("\n").into()),
        ),
        (
            "location",
            event.location.as_deref().map(|text| {
                let lines = printed_text::address(text);
                json!({"@type": "Place", "name": lines.first(), "address": lines.join(", ")})
            }),
        ),
        ("image", has_cover.then(|| format!("{url}/cover").into())),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            described[name] = value;
        }
    }
    if let Some(website) = &page.organization.website {
        described["organizer"]["url"] = website.as_str().into();
    }
    Ok(described.to_string().replace('<', "\\u003c"))
}

fn offer(page: &EventPage, offered: &TicketType, url: &str, zone: Zone) -> Value {
    let is_over = matches!(page.event.status, EventStatus::Expired | EventStatus::Cancelled);
    let availability = match offered.sale_state {
        SaleState::OnSale => "InStock",
        SaleState::SoldOut if !is_over => "SoldOut",
        SaleState::NotYet => "PreSale",
        _ => "OutOfStock",
    };
    let mut described = json!({
        "@type": "Offer",
        "name": printed_text::line(&offered.name),
        "price": offered.price.to_string(),
        "priceCurrency": page.event.currency,
        "availability": format!("https://schema.org/{availability}"),
        "url": url,
    });
    for (name, at) in [("validFrom", offered.sale_start_date), ("validThrough", offered.sale_end_date)] {
        if let Some(at) = at {
            described[name] = local(zone, at).into();
        }
    }
    described
}

/// A time with the offset of its zone: `2027-06-12T19:30:00+02:00`.
fn local(zone: Zone, at: Timestamp) -> String {
    zone.with_offset(at)
}
