//! What a ticket type may be, and whether it can be ordered.

use super::{Checked, money, text};
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::model::amount::Amount;
use crate::model::ticket_type::{CreateTicketType, ListTicketTypes, TicketType, TicketTypeStatus, UpdateTicketType};
use crate::model::timestamp::Timestamp;

/// The highest number of places, and of uses of a discount.
pub(super) const MAX_QUANTITY: i64 = 10_000_000;

/// Everything that creating and updating a ticket type decides.
#[derive(Debug, Clone)]
pub(crate) struct TicketTypeFields {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    price: Amount,
    /// The price in minor units, known once it was checked.
    pub(crate) price_minor: i64,
    pub(crate) quantity: i64,
    pub(crate) status: TicketTypeStatus,
    pub(crate) display_remaining: bool,
    pub(crate) valid_from: Option<Timestamp>,
    pub(crate) valid_until: Option<Timestamp>,
    pub(crate) allowed_dates: Vec<Timestamp>,
    pub(crate) validity_days: Option<i64>,
    pub(crate) validity_hours: Option<i64>,
    pub(crate) access_areas: Vec<String>,
    pub(crate) max_per_order: i64,
    pub(crate) sale_start_date: Option<Timestamp>,
    pub(crate) sale_end_date: Option<Timestamp>,
    pub(crate) sort_order: i64,
    pub(crate) ticket_text: Option<String>,
    pub(crate) ticket_logo: Option<String>,
}

impl TicketTypeFields {
    /// A new ticket type, with the defaults.
    pub(crate) fn create(request: CreateTicketType) -> Self {
        Self {
            name: request.name,
            description: request.description,
            price: request.price,
            price_minor: 0,
            quantity: request.quantity,
            status: request.status.unwrap_or(TicketTypeStatus::OnSale),
            display_remaining: request.display_remaining.unwrap_or(false),
            valid_from: request.valid_from,
            valid_until: request.valid_until,
            allowed_dates: request.allowed_dates.unwrap_or_default(),
            validity_days: request.validity_days,
            validity_hours: request.validity_hours,
            access_areas: request.access_areas.unwrap_or_default(),
            max_per_order: request.max_per_order.unwrap_or(10),
            sale_start_date: request.sale_start_date,
            sale_end_date: request.sale_end_date,
            sort_order: request.sort_order.unwrap_or(0),
            ticket_text: request.ticket_text,
            ticket_logo: request.ticket_logo,
        }
    }

    /// The ticket type as it stands, with the changes laid over it.
    pub(crate) fn update(current: &TicketType, changes: UpdateTicketType) -> Self {
        let mut fields = Self {
            name: current.name.clone(),
            description: current.description.clone(),
            price: current.price,
            price_minor: 0,
            quantity: current.quantity,
            status: current.status,
            display_remaining: current.display_remaining,
            valid_from: current.valid_from,
            valid_until: current.valid_until,
            allowed_dates: current.allowed_dates.clone(),
            validity_days: current.validity_days,
            validity_hours: current.validity_hours,
            access_areas: current.access_areas.clone(),
            max_per_order: current.max_per_order,
            sale_start_date: current.sale_start_date,
            sale_end_date: current.sale_end_date,
            sort_order: current.sort_order,
            ticket_text: current.ticket_text.clone(),
            ticket_logo: current.ticket_logo.clone(),
        };
        changes.name.apply(&mut fields.name);
        changes.description.map(Some).apply(&mut fields.description);
        changes.price.apply(&mut fields.price);
        changes.quantity.apply(&mut fields.quantity);
        changes.status.apply(&mut fields.status);
        changes.display_remaining.apply(&mut fields.display_remaining);
        changes.valid_from.apply(&mut fields.valid_from);
        changes.valid_until.apply(&mut fields.valid_until);
        changes.allowed_dates.apply(&mut fields.allowed_dates);
        changes.validity_days.apply(&mut fields.validity_days);
        changes.validity_hours.apply(&mut fields.validity_hours);
        changes.access_areas.apply(&mut fields.access_areas);
        changes.max_per_order.apply(&mut fields.max_per_order);
        changes.sale_start_date.apply(&mut fields.sale_start_date);
        changes.sale_end_date.apply(&mut fields.sale_end_date);
        changes.sort_order.apply(&mut fields.sort_order);
        changes.ticket_text.apply(&mut fields.ticket_text);
        changes.ticket_logo.apply(&mut fields.ticket_logo);
        fields
    }
}

/// Checks a ticket type of an event whose currency has `decimals` decimals.
pub(crate) fn check(
    mut fields: TicketTypeFields,
    decimals: u8,
    mut errors: FieldErrors,
) -> Result<Checked<TicketTypeFields>> {
    text::check_text(&mut errors, "name", &fields.name, 2);
    fields.price_minor = money::check_price(&mut errors, "price", fields.price, decimals);
    errors.check(fields.quantity >= 1, "quantity", "must be at least 1");
    errors.check(fields.quantity <= MAX_QUANTITY, "quantity", "must be at most 10000000");
    text::check_optional(&mut errors, "description", fields.description.as_deref(), 0);
    errors.check(fields.validity_days.is_none_or(|days| days > 0), "validityDays", "must be above 0");
    errors.check(fields.validity_hours.is_none_or(|hours| hours > 0), "validityHours", "must be above 0");
    text::check_list(&mut errors, "accessAreas", &fields.access_areas);
    errors.check((1..=100).contains(&fields.max_per_order), "maxPerOrder", "must be from 1 to 100");
    text::check_optional(&mut errors, "ticketText", fields.ticket_text.as_deref(), 0);
    if let Some(uri) = &fields.ticket_logo {
        text::check_uri(&mut errors, "ticketLogo", uri);
    }
    let ordered =
        |from: Option<Timestamp>, until: Option<Timestamp>| from.zip(until).is_none_or(|(from, until)| from < until);
    errors.check(ordered(fields.valid_from, fields.valid_until), "validUntil", "must be after validFrom");
    let sale = ordered(fields.sale_start_date, fields.sale_end_date);
    errors.check(sale, "saleEndDate", "must be after saleStartDate");
    errors.into_result().map(|()| Checked(fields))
}

pub(crate) fn check_list(request: ListTicketTypes, mut errors: FieldErrors) -> Result<Checked<ListTicketTypes>> {
    super::page::check(&mut errors, &request.page);
    errors.into_result().map(|()| Checked(request))
}

/// What decides whether a ticket type can be ordered.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) name: String,
    /// In minor units.
    pub(crate) price: i64,
    pub(crate) status: TicketTypeStatus,
    pub(crate) max_per_order: i64,
    pub(crate) sale_start: Option<Timestamp>,
    pub(crate) sale_end: Option<Timestamp>,
}

impl Offer {
    pub(crate) fn check_on_sale(&self) -> Result<()> {
        if self.status == TicketTypeStatus::OnSale {
            return Ok(());
        }
        Err(Error::conflict(Reason::TicketTypeNotOnSale, format!("{} is not on sale", self.name)))
    }

    pub(crate) fn check_sale_window(&self, now: Timestamp) -> Result<()> {
        if let Some(start) = self.sale_start.filter(|start| now < *start) {
            return Err(Error::conflict(
                Reason::SaleNotStarted,
                format!("the sale of {} begins at {start}", self.name),
            ));
        }
        if let Some(end) = self.sale_end.filter(|end| now >= *end) {
            return Err(Error::conflict(Reason::SaleEnded, format!("the sale of {} ended at {end}", self.name)));
        }
        Ok(())
    }

    pub(crate) fn check_quantity(&self, quantity: i64) -> Result<()> {
        if quantity <= self.max_per_order {
            return Ok(());
        }
        let sentence = format!("one order may hold at most {} of {}", self.max_per_order, self.name);
        Err(Error::conflict(Reason::MaxPerOrderExceeded, sentence))
    }
}
