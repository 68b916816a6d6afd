//! The items of orders.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::error::Result;
use crate::model::sale::order::OrderItemSummary;
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{OrderId, OrderItemId, TicketTypeId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::pricing::ItemPrice;
use crate::rules::money::refund_share::ticket_share;
use crate::store::columns::row_struct;
use crate::store::lists::list_query::{ListQuery, children};
use crate::store::{LockedEvent, Row, Transaction};

const INSERT: &str = "INSERT INTO order_items (id, order_id, ticket_type_id, quantity, price, discount)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING";
pub(in crate::store) const BY_ORDERS: &str =
    "SELECT id, order_id, ticket_type_id, quantity, price, discount FROM order_items WHERE order_id";
/// Names of early versions may have any length, and there is one for each item: only 255 characters are read.
pub(in crate::store) const WITH_NAMES: &str =
    "SELECT i.id, i.order_id, i.ticket_type_id, i.quantity, i.price, i.discount,
        SUBSTR(t.name, 1, 255) AS name
    FROM order_items i JOIN ticket_types t ON t.id = i.ticket_type_id WHERE i.order_id = ?1 ORDER BY i.id";
/// Few orders have cancelled tickets, and only their tickets are read.
const CANCELLED_TICKETS: &str = "SELECT order_item_id, earlier FROM (
    SELECT order_item_id, status, ROW_NUMBER() OVER (PARTITION BY order_item_id ORDER BY id) - 1 AS earlier
    FROM tickets WHERE order_id IN (SELECT order_id FROM tickets WHERE status = 'CANCELLED' AND order_id";
pub(in crate::store) static CANCELLED: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::new(CANCELLED_TICKETS, ")) numbered WHERE status = 'CANCELLED'"));
static OF_ORDERS: LazyLock<ListQuery> = LazyLock::new(|| ListQuery::new(BY_ORDERS, "ORDER BY id"));

row_struct! {
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct StoredItem(row) {
        pub(crate) id: OrderItemId,
        pub(crate) order_id: OrderId,
        pub(crate) ticket_type_id: TicketTypeId,
        pub(crate) price: ItemPrice = ItemPrice {
            quantity: row.get("quantity")?,
            price: row.get("price")?,
            discount: row.get("discount")?,
        },
    }
}

impl StoredItem {
    /// Returns the item of an order that was created at `created_at`, in a currency with `decimals` decimals.
    /// `cancelled` are the numbers of its cancelled tickets among its tickets, from 0.
    pub(crate) fn summary(
        self,
        decimals: Decimals,
        created_at: Timestamp,
        cancelled: impl IntoIterator<Item = usize>,
    ) -> OrderItemSummary {
        let amount = |minor| Amount::in_currency(minor, decimals);
        let shares = cancelled.into_iter().map(|index| ticket_share(self.price, index, 1));
        let (cancelled, cancelled_amount) = shares.fold((0, 0), |(number, sum), share| (number + 1, sum + share));
        OrderItemSummary {
            id: self.id,
            quantity: self.price.quantity,
            price: amount(self.price.price),
            item_subtotal: amount(self.price.subtotal()),
            item_discount: amount(self.price.discount),
            final_amount: amount(self.price.final_amount()),
            cancelled_quantity: cancelled,
            cancelled_amount: amount(cancelled_amount),
            order_id: self.order_id,
            ticket_type_id: self.ticket_type_id,
            created_at,
            updated_at: created_at,
        }
    }
}

pub(crate) fn insert(
    tx: &LockedEvent<'_>,
    order_id: OrderId,
    ticket_type_id: TicketTypeId,
    price: ItemPrice,
) -> Result<StoredItem> {
    let binds =
        [order_id.into(), ticket_type_id.into(), price.quantity.into(), price.price.into(), price.discount.into()];
    Ok(StoredItem { id: tx.insert(INSERT, &binds)?, order_id, ticket_type_id, price })
}

/// Returns the items of these orders as [`of_orders`] does, or `None` if there are more than `most`.
pub(crate) fn of_orders_up_to(
    tx: &Transaction<'_>,
    orders: &[OrderId],
    most: usize,
) -> Result<Option<Vec<StoredItem>>> {
    let items = children(tx, &OF_ORDERS, orders, most + 1, StoredItem::read)?;
    Ok((items.len() <= most).then_some(items))
}

/// Returns the items of these orders. The items of an order are in the order of its request.
pub(crate) fn of_orders(tx: &Transaction<'_>, orders: &[OrderId]) -> Result<Vec<StoredItem>> {
    children(tx, &OF_ORDERS, orders, usize::MAX, StoredItem::read)
}

/// Returns the numbers of the cancelled tickets of these orders among the tickets of their item, from 0.
pub(crate) fn cancelled_of_orders(
    tx: &Transaction<'_>,
    orders: &[OrderId],
) -> Result<HashMap<OrderItemId, Vec<usize>>> {
    let mut cancelled: HashMap<OrderItemId, Vec<usize>> = HashMap::new();
    let read = |row: &Row<'_>| Ok((row.get("order_item_id")?, row.count("earlier")?));
    for (item, earlier) in children(tx, &CANCELLED, orders, usize::MAX, read)? {
        cancelled.entry(item).or_default().push(usize::try_from(earlier).unwrap_or(usize::MAX));
    }
    Ok(cancelled)
}

/// Returns the items of an order with the names of their ticket types, in the order of its request.
pub(crate) fn with_names(tx: &Transaction<'_>, order: OrderId) -> Result<Vec<(StoredItem, String)>> {
    tx.query_all(WITH_NAMES, &[order.into()], |row| Ok((StoredItem::read(row)?, row.get("name")?)))
}
