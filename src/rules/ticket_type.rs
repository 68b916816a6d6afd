//! Validation of ticket types, and the conditions for ordering them.

use super::Checked;
use super::money::amount_limits;
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::model::sale::ticket_type::{TicketTypeFields, TicketTypeStatus};
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
        Err(Error::conflict(
            Reason::TicketTypeNotOnSale,
            format!("the ticket type {} is {}, not ON_SALE", self.name, self.status),
        ))
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
        let most = self.max_per_order;
        if quantity <= most {
            return Ok(());
        }
        let detail = format!("an order may contain at most {most} tickets of the type {}", self.name);
        Err(Error::conflict(Reason::MaxPerOrderExceeded, detail))
    }
}
