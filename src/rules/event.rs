//! What an event may be, and which status may follow which.

use std::time::Duration;

use super::{Checked, calendar, money, text};
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::model::event::{CreateEvent, DeliveryMethod, Event, EventSettings, EventStatus, ListEvents, UpdateEvent};
use crate::model::organization::Organization;
use crate::model::timestamp::Timestamp;

/// How long an event lasts that has no end.
const WITHOUT_END: Duration = Duration::from_hours(24);

/// Everything that creating and updating an event decides.
#[derive(Debug, Clone)]
pub(crate) struct EventFields {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) currency: String,
    pub(crate) timezone: String,
    pub(crate) start_date: Timestamp,
    pub(crate) end_date: Option<Timestamp>,
    pub(crate) slug: String,
    pub(crate) cover_image: Option<String>,
    pub(crate) is_public: bool,
    pub(crate) status: EventStatus,
    pub(crate) delivery_method: DeliveryMethod,
    pub(crate) shipping_countries: Vec<String>,
    pub(crate) accepts_company: bool,
}

impl EventFields {
    /// A new event, with the organization's defaults.
    pub(crate) fn create(request: CreateEvent, organization: &Organization) -> Self {
        Self {
            title: request.title,
            description: request.description,
            location: request.location,
            currency: request.currency.unwrap_or_else(|| organization.currency.clone()),
            timezone: request.timezone.unwrap_or_else(|| organization.timezone.clone()),
            start_date: request.start_date,
            end_date: request.end_date,
            slug: request.slug,
            cover_image: request.cover_image,
            is_public: request.is_public.unwrap_or(true),
            status: request.status.unwrap_or(EventStatus::Drafted),
            delivery_method: request.delivery_method,
            shipping_countries: request.shipping_countries.unwrap_or_default(),
            accepts_company: request.accepts_company.unwrap_or(false),
        }
    }

    /// The event as it stands, with the changes laid over it.
    pub(crate) fn update(event: &Event, changes: UpdateEvent) -> Self {
        let mut fields = Self {
            title: event.title.clone(),
            description: event.description.clone(),
            location: event.location.clone(),
            currency: event.currency.clone(),
            timezone: event.timezone.clone(),
            start_date: event.start_date,
            end_date: event.end_date,
            slug: event.slug.clone(),
            cover_image: event.cover_image.clone(),
            is_public: event.is_public,
            status: event.status,
            delivery_method: event.delivery_method,
            shipping_countries: event.shipping_countries.clone(),
            accepts_company: event.accepts_company,
        };
        changes.title.apply(&mut fields.title);
        changes.description.apply(&mut fields.description);
        changes.location.apply(&mut fields.location);
        changes.currency.apply(&mut fields.currency);
        changes.timezone.apply(&mut fields.timezone);
        changes.start_date.apply(&mut fields.start_date);
        changes.end_date.map(Some).apply(&mut fields.end_date);
        changes.slug.apply(&mut fields.slug);
        changes.cover_image.map(Some).apply(&mut fields.cover_image);
        changes.is_public.apply(&mut fields.is_public);
        changes.status.apply(&mut fields.status);
        changes.delivery_method.apply(&mut fields.delivery_method);
        changes.shipping_countries.apply(&mut fields.shipping_countries);
        changes.accepts_company.apply(&mut fields.accepts_company);
        fields
    }

    /// When the event is over.
    pub(crate) fn over_at(&self) -> Timestamp {
        self.end_date.unwrap_or_else(|| self.start_date.plus(WITHOUT_END))
    }

    /// Title and slug in the form that a search looks through.
    pub(crate) fn search_text(&self) -> String {
        search_text(&self.title, &self.slug)
    }
}

pub(crate) fn check(fields: EventFields, mut errors: FieldErrors) -> Result<Checked<EventFields>> {
    text::check_text(&mut errors, "title", &fields.title, 3);
    text::check_optional(&mut errors, "description", fields.description.as_deref(), 5);
    text::check_optional(&mut errors, "location", fields.location.as_deref(), 3);
    money::check_currency(&mut errors, "currency", &fields.currency);
    calendar::check_zone(&mut errors, "timezone", &fields.timezone);
    let ends_after_start = fields.end_date.is_none_or(|end| end >= fields.start_date);
    errors.check(ends_after_start, "endDate", "must not be before startDate");
    let slug = "must be lower-case letters and digits, in groups joined by single hyphens";
    errors.check(is_slug(&fields.slug), "slug", slug);
    if let Some(uri) = &fields.cover_image {
        text::check_uri(&mut errors, "coverImage", uri);
    }
    text::check_list(&mut errors, "shippingCountries", &fields.shipping_countries);
    errors.into_result().map(|()| Checked(fields))
}

/// Title and slug in the form that a search looks through.
pub(crate) fn search_text(title: &str, slug: &str) -> String {
    format!("{}\n{}", search_line(title), search_line(slug))
}

/// A text that is searched, or searched for, as one line: nothing is found across two of them.
pub(crate) fn search_line(text: &str) -> String {
    text::fold(text).replace('\n', " ")
}

/// Whether a text has the form of a slug.
pub(crate) fn is_slug(slug: &str) -> bool {
    let group = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    slug.split('-').all(group)
}

pub(crate) fn check_settings(settings: EventSettings, mut errors: FieldErrors) -> Result<Checked<EventSettings>> {
    use crate::form::change::Change::Set;
    if let Set(tags) = &settings.tags {
        text::check_list(&mut errors, "tags", tags);
    }
    if let Set(value) = &settings.location_metadata {
        text::check_free_json(&mut errors, "locationMetadata", value);
    }
    if let Set(value) = &settings.tracking_pixels {
        text::check_free_json(&mut errors, "trackingPixels", value);
    }
    errors.into_result().map(|()| Checked(settings))
}

pub(crate) fn check_list(request: ListEvents, mut errors: FieldErrors) -> Result<Checked<ListEvents>> {
    super::page::check(&mut errors, &request.page);
    if let Some(q) = &request.q {
        text::check_plain(&mut errors, "q", q);
        errors.check(q.chars().count() <= 1000, "q", "must have at most 1000 characters");
    }
    errors.into_result().map(|()| Checked(request))
}

/// The status that an event reads and counts as.
pub(crate) fn status_at(stored: EventStatus, over_at: Timestamp, now: Timestamp) -> EventStatus {
    match stored {
        EventStatus::Published | EventStatus::SoldOut if now >= over_at => EventStatus::Expired,
        other => other,
    }
}

/// Whether an update may move an event from one status to another. `over_at` is the end it has after the update.
pub(crate) fn check_transition(
    from: EventStatus,
    to: EventStatus,
    over_at: Timestamp,
    now: Timestamp,
    has_live_orders_or_tickets: bool,
) -> Result<()> {
    use EventStatus::{Cancelled, Drafted, Expired, Published, SoldOut};
    let refuse = |why: &str| {
        let sentence = format!("an event cannot go from {from} to {to}{why}");
        Err(Error::conflict(Reason::InvalidTransition, sentence))
    };
    match (from, to) {
        (Published, Drafted) if has_live_orders_or_tickets => refuse(" once it has live orders or tickets"),
        (Expired, Published) if over_at <= now => refuse(" while its end is in the past"),
        (Drafted | SoldOut, Published | Expired | Cancelled)
        | (Published, Drafted | SoldOut | Expired | Cancelled)
        | (Expired, Published | Cancelled) => Ok(()),
        _ if from == to => Ok(()),
        _ => refuse(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_groups_joined_by_single_hyphens() {
        for slug in ["a", "a1", "summer-2026", "0-0-0"] {
            assert!(is_slug(slug), "{slug}");
        }
        for slug in ["", "-", "-a", "a-", "a--b", "A", "a_b", "a b", "ä", "a\n"] {
            assert!(!is_slug(slug), "{slug:?}");
        }
    }
}
