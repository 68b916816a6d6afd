//! What documents and pages say of a ticket besides the ticket, its type and its event.

use super::order_details;
use crate::error::{Error, ResourceKind, Result};
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrderId, OrganizationId, TicketId};
use crate::rules::money::pricing::ItemPrice;
use crate::store::Transaction;

const FACTS: &str = "SELECT t.order_id, t.locale, g.name AS organizer, o.details, e.currency,
        i.price, i.quantity, i.discount,
        (SELECT COUNT(*) FROM tickets n WHERE n.order_id = t.order_id) AS tickets_of_order,
        (SELECT COUNT(*) FROM tickets n WHERE n.order_id = t.order_id AND n.id <= t.id) AS number
    FROM tickets t JOIN organizations g ON g.id = t.organization_id JOIN events e ON e.id = t.event_id
        LEFT JOIN orders o ON o.id = t.order_id LEFT JOIN order_items i ON i.id = t.order_item_id
    WHERE t.id = ?1 AND t.organization_id = ?2";

/// Who sells a ticket, and what its order says of it.
#[derive(Debug)]
pub(crate) struct TicketFacts {
    /// The name of the organization.
    pub(crate) organizer: String,
    pub(crate) order: Option<OrderId>,
    /// The language tag of the buyer: the language of the order, else the locale of the customer or of the holder.
    pub(crate) language: Option<String>,
    /// What was paid for the ticket. `None` without an order, and if the tickets of its item did not cost the same.
    pub(crate) price: Option<Amount>,
    /// The number of the ticket in its order, from 1, and how many the order has.
    pub(crate) number: usize,
    pub(crate) tickets_of_order: usize,
}

pub(crate) fn facts(tx: &Transaction<'_>, organization: OrganizationId, id: TicketId) -> Result<TicketFacts> {
    let found = tx.query_opt(FACTS, &[id.into(), organization.into()], |row| {
        let price = match row.is_null("price")? {
            true => None,
            false => {
                ItemPrice { price: row.get("price")?, quantity: row.get("quantity")?, discount: row.get("discount")? }
                    .paid_for_each()
            }
        };
        let decimals = row.get("currency")?;
        let at_least_one = |count: i64| usize::try_from(count).unwrap_or_default().max(1);
        let locale: Option<String> = row.get("locale")?;
        Ok(TicketFacts {
            organizer: row.get("organizer")?,
            order: row.get("order_id")?,
            language: order_details::language(row)?.or(locale),
            price: price.map(|price| Amount::in_currency(price, decimals)),
            number: at_least_one(row.get("number")?),
            tickets_of_order: at_least_one(row.get("tickets_of_order")?),
        })
    })?;
    found.ok_or(Error::NotFound(ResourceKind::Ticket))
}
