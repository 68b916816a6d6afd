//! The export of orders: a row for each item, in the order in which the orders were created.

use super::columns::{amount, columns, id, in_currency, instant, number, text};
use super::selection::{Selection, Statements};
use crate::error::Result;
use crate::model::sale::new_order::ShippingAddress;
use crate::model::sale::order::OrderStatus;
use crate::model::values::id::kind::{Customer, Event, Order, TicketType};
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::pricing::ItemPrice;
use crate::rules::order::{payment_method, status_at_hold};
use crate::store::order::order_details::{self, StoredDetails};
use crate::store::order::order_lists;
use crate::store::{Row, Transaction};

columns! {
    COLUMNS, columns_doc!, Item(row, details) {
        "orderId" Text "The order." => id::<Order>(row, "order_id")?;
        "reference" Text "The organization's own name for the order." => text(row, "reference")?;
        "status" Text "`PENDING`, `COMPLETED`, `CANCELLED` or `EXPIRED`." => status(row)?;
        "created" + "At" Instant "When the order was created. Dates select by it." => instant(row, "created_at")?;
        "completed" + "At" Instant "When it was completed." => instant(row, "completed_at")?;
        "cancelled" + "At" Instant "When it was cancelled." => instant(row, "cancelled_at")?;
        "paymentMethod" Text "`GATEWAY`, `MANUAL` or `FREE`, if it was completed." => paid_by(row)?;
        "paymentStatus" Text "The status of the payment through the gateway." => text(row, "payment_status")?;
        "customerId" Text "The customer." => id::<Customer>(row, "customer_id")?;
        "customerName" Text "The name that the customer gave." => text(row, "customer_name")?;
        "customerEmail" Text "The e-mail address of the customer." => text(row, "email")?;
        "companyName" Text "The company that buys." => details.company_name.as_deref();
        "shippingStreet" Text "Where physical tickets are sent." => address(details, |address| &address.street);
        "shippingZip" Text "The postal code." => address(details, |address| &address.zip);
        "shippingCity" Text "The town." => address(details, |address| &address.city);
        "shippingCountry" Text "The country, as two letters." => address(details, |address| &address.country);
        "language" Text "The language of the order." => details.language.as_deref();
        "affiliateCode" Text "The code of the affiliate who referred the customer." => text(row, "affiliate_code")?;
        "discountCode" Text "The code of the discount that applied." => text(row, "discount_code")?;
        "ticketTypeId" Text "The ticket type of the item." => id::<TicketType>(row, "ticket_type_id")?;
        "ticketTypeName" Text "The current name of the ticket type." => text(row, "ticket_type_name")?;
        "quantity" Number "The number of tickets of the item." => number(row, "quantity")?;
        "price" Amount "The price of one ticket." => amount(row, "price")?;
        "itemSubtotal" Amount "Price times quantity." => in_currency(row, item(row)?.subtotal())?;
        "itemDiscount" Amount "The reduction of the item by a discount." => amount(row, "discount")?;
        "finalAmount" Amount "The subtotal less the discount." => in_currency(row, item(row)?.final_amount())?;
        "orderTotal" Amount "What the customer pays for the whole order. It is in each of its rows." => amount(row, "total")?;
        "orderRefunded" Amount "What was decided to be given back of it. It is in each row." => amount(row, "refunded")?;
        "metadata" Text "What the organization has attached to the order, as JSON." => text(row, "metadata")?;
        "currency" Text "The currency of the amounts." => text(row, "currency")?;
        "eventId" Text "The event." => id::<Event>(row, "event_id")?;
    }
}

/// A part of the shipping address.
fn address(details: &StoredDetails, part: fn(&ShippingAddress) -> &String) -> Option<&str> {
    details.shipping_address.as_ref().map(|address| part(address).as_str())
}

/// The status at the instant of the export.
fn status(row: &Row<'_>) -> Result<&'static str> {
    let now = row.get("now")?;
    Ok(status_at_hold(row.get("status")?, row.get("hold_until")?, now).as_str())
}

fn paid_by(row: &Row<'_>) -> Result<Option<&'static str>> {
    let is_completed = row.get::<Option<Timestamp>>("completed_at")?.is_some();
    let (total, by_gateway): (i64, bool) = (row.get("total")?, row.get("paid_by_gateway")?);
    Ok(is_completed.then(|| payment_method(total == 0, by_gateway).as_str()))
}

fn item(row: &Row<'_>) -> Result<ItemPrice> {
    Ok(ItemPrice { quantity: row.get("quantity")?, price: row.get("price")?, discount: row.get("discount")? })
}

pub(super) fn statements(tx: &Transaction<'_>, selection: &Selection) -> Result<Statements> {
    let ranges = match selection.event {
        // Of each status, the orders of an event are in the order of their ids.
        Some(event) => {
            let range = |status: &OrderStatus| format!("o.event_id = {} AND o.status = '{status}'", event.raw());
            OrderStatus::ALL.iter().map(range).collect()
        }
        None => {
            let before = selection.before;
            let below =
                before.map(|before| order_lists::above_all_before(tx, selection.organization, before)).transpose()?;
            vec![selection.ids("o", below)]
        }
    };
    let (now, refunded) = (selection.now.millis(), order_details::refunded!());
    let mut parts = Vec::new();
    let mut counted = Vec::new();
    for range in ranges {
        let range = format!("{range}{}", selection.dates("o.created_at"));
        counted.push(format!("orders o CROSS JOIN order_items i WHERE i.order_id = o.id AND {range}"));
        parts.push(format!(
            "SELECT o.id AS order_id, i.id AS item_id, o.reference, e.timezone,
                o.status, o.hold_until, {now} AS now, o.created_at, o.completed_at, o.cancelled_at, o.paid_by_gateway,
                o.payment_status, o.customer_id, o.customer_name, c.email, o.details, o.affiliate_code, o.discount_code,
                i.ticket_type_id, t.name AS ticket_type_name, i.quantity, i.price, i.discount, o.total,
                {refunded} AS refunded,
                o.metadata, o.currency, o.event_id
            FROM orders o CROSS JOIN order_items i CROSS JOIN ticket_types t CROSS JOIN customers c CROSS JOIN events e
            WHERE i.order_id = o.id AND t.id = i.ticket_type_id AND c.id = o.customer_id AND e.id = o.event_id AND {range}"
        ));
    }
    Ok(Statements { rows: vec![format!("{} ORDER BY order_id, item_id", parts.join(" UNION ALL "))], counted })
}
