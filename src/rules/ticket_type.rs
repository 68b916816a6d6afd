//! Validation of ticket types, and the conditions for ordering them.

use super::Checked;
use super::money::amount_limits;
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::model::sale::event::EventStatus;
use crate::model::sale::ticket_type::{SaleState, TicketTypeFields, TicketTypeStatus};
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::timestamp::Timestamp;

/// Checks a ticket type whose fields are within their limits, for an event whose currency has `decimals` decimals.
/// Converts its price into minor units of that currency.
pub(crate) fn check(
    mut fields: TicketTypeFields,
    decimals: Decimals,
    mut errors: FieldErrors,
) -> Result<Checked<TicketTypeFields>> {
    fields.price = Amount::in_currency(
        amount_limits::check_decimals(&mut errors, || "price".to_owned(), fields.price, decimals),
        decimals,
    );
    let validity_in_order = is_before(fields.valid_from, fields.valid_until);
    errors.check(validity_in_order, "validUntil", "must be after validFrom");
    let sale_in_order = is_before(fields.sale_start_date, fields.sale_end_date);
    errors.check(sale_in_order, "saleEndDate", "must be after saleStartDate");
    errors.into_result().map(|()| Checked(fields))
}

fn is_before(from: Option<Timestamp>, until: Option<Timestamp>) -> bool {
    from.zip(until).is_none_or(|(from, until)| from < until)
}

/// The fields of a ticket type that decide whether it can be ordered.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) name: String,
    /// The price in minor units.
    pub(crate) price: i64,
    pub(crate) max_per_order: i64,
    pub(crate) sale: TypeSale,
}

/// The fields of a ticket type that decide whether it is on sale, however many seats are left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypeSale {
    pub(crate) status: TicketTypeStatus,
    pub(crate) start: Option<Timestamp>,
    pub(crate) end: Option<Timestamp>,
}

/// Why a ticket type is not on sale, however many seats are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotOnSale {
    /// The event has this status.
    Event(EventStatus),
    /// The ticket type has this status.
    TicketType(TicketTypeStatus),
    BeginsAt(Timestamp),
    EndedAt(Timestamp),
}

impl NotOnSale {
    fn state(self) -> SaleState {
        match self {
            Self::Event(EventStatus::SoldOut) | Self::TicketType(TicketTypeStatus::DisplayAsSoldOut) => {
                SaleState::SoldOut
            }
            Self::Event(EventStatus::Expired) | Self::EndedAt(_) => SaleState::Ended,
            Self::BeginsAt(_) => SaleState::NotYet,
            Self::Event(_) | Self::TicketType(_) => SaleState::Closed,
        }
    }

    /// The conflict of an order. `name` is that of the ticket type.
    pub(crate) fn into_error(self, name: &str) -> Error {
        let (reason, detail) = match self {
            Self::Event(status) => (Reason::EventNotOnSale, format!("the event is {status}, not PUBLISHED")),
            Self::TicketType(status) => {
                (Reason::TicketTypeNotOnSale, format!("the ticket type {name} is {status}, not ON_SALE"))
            }
            Self::BeginsAt(start) => (Reason::SaleNotStarted, format!("the sale of {name} begins at {start}")),
            Self::EndedAt(end) => (Reason::SaleEnded, format!("the sale of {name} ended at {end}")),
        };
        Error::conflict(reason, detail)
    }
}

impl TypeSale {
    fn check_status(self) -> Result<(), NotOnSale> {
        if self.status == TicketTypeStatus::OnSale { Ok(()) } else { Err(NotOnSale::TicketType(self.status)) }
    }

    fn check_dates(self, now: Timestamp) -> Result<(), NotOnSale> {
        if let Some(start) = self.start.filter(|start| now < *start) {
            return Err(NotOnSale::BeginsAt(start));
        }
        self.end.filter(|end| now >= *end).map_or(Ok(()), |end| Err(NotOnSale::EndedAt(end)))
    }

    /// Whether one ticket can be ordered, by the checks of an order in their order. `of_event` is the result of
    /// [`check_on_sale`](super::event::check_on_sale) of its event.
    pub(crate) fn state(self, of_event: Result<(), NotOnSale>, available: i64, now: Timestamp) -> SaleState {
        match of_event.and_then(|()| self.check_status()).and_then(|()| self.check_dates(now)) {
            Err(refused) => refused.state(),
            Ok(()) if available < 1 => SaleState::SoldOut,
            Ok(()) => SaleState::OnSale,
        }
    }
}

impl Offer {
    pub(crate) fn check_on_sale(&self) -> Result<()> {
        self.sale.check_status().map_err(|refused| refused.into_error(&self.name))
    }

    pub(crate) fn check_sale_window(&self, now: Timestamp) -> Result<()> {
        self.sale.check_dates(now).map_err(|refused| refused.into_error(&self.name))
    }

    pub(crate) fn check_quantity(&self, quantity: i64) -> Result<()> {
        let most = self.max_per_order;
        if quantity <= most {
            return Ok(());
        }
        let detail = format!("an order may contain at most {most} tickets of the type {}", self.name);
        Err(Error::conflict(Reason::MaxPerOrderExceeded, detail))
    }
}
