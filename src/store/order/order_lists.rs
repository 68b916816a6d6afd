//! Lists of orders.
//!
//! The ids of orders grow with time, and bound the filters by time. The indexes `orders_with_later_id` and
//! `orders_changed_early` have only the orders whose ids do not, because the clock was set back. Without them, an
//! organizer who exports the orders up to the end of a day would miss those that were created in the time which the
//! clock showed twice. They cost half a percent of creating an order.

use std::time::Duration;

use super::orders::{ALL, PAGE, decode};
use crate::enums::text_enum::TextEnum;
use crate::environment::first_of;
use crate::error::Result;
use crate::model::sale::order::{ListOrders, OrderStatus, OrderSummary};
use crate::model::values::currency::Decimals;
use crate::model::values::id::{CustomerId, EventId, OrderId, OrganizationId};
use crate::model::values::page::{ListRequest, Page};
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::store::lists::list_query::{can_sort, cursor_bound, limit_plus_one};
use crate::store::lists::page_ids::{self, PageIds, ranges, select_ids};
use crate::store::lists::pages::PageItems;
use crate::store::sale::order_items::{self, StoredItem};
use crate::store::sale::{customers, events, ticket_types};
use crate::store::{RowLength, Transaction};

/// How many items of all orders on a page are read at once. Orders of early versions may have more: their items are read
/// order by order, until the page is full.
const MAX_ITEMS_AT_ONCE: usize = 10_000;

/// No item of an order has more bytes as JSON.
const MAX_ITEM_BYTES: usize = 512;

/// Orders that changed later than this after their creation are in an index by the time of the change. A sale changes
/// an order sooner.
const LATE: Duration = Duration::from_hours(1);

/// The conditions of all filters. The parameters 1 to 3 are those of [`PageIds`].
macro_rules! filters {
    () => {
        "o.organization_id = ?4
            AND (CAST(?5 AS TEXT) IS NULL OR ?5 =
                CASE WHEN o.status = 'PENDING' AND o.hold_until <= ?6 THEN 'EXPIRED' ELSE o.status END)
            AND (CAST(?7 AS BIGINT) IS NULL OR o.created_at >= ?7)
            AND (CAST(?8 AS BIGINT) IS NULL OR o.created_at < ?8)
            AND (CAST(?9 AS BIGINT) IS NULL OR o.event_id = ?9)
            AND (CAST(?10 AS BIGINT) IS NULL OR o.customer_id = ?10)
            AND (CAST(?11 AS BIGINT) IS NULL OR o.completed_at >= ?11)
            AND (CAST(?12 AS BIGINT) IS NULL OR o.completed_at < ?12)
            AND (CAST(?13 AS BIGINT) IS NULL OR ?13 <=
                CASE WHEN o.status = 'PENDING' AND o.hold_until BETWEEN o.updated_at AND ?6
                    THEN o.hold_until ELSE o.updated_at END)
            AND (CAST(?14 AS BIGINT) IS NULL OR ?14 >
                CASE WHEN o.status = 'PENDING' AND o.hold_until BETWEEN o.updated_at AND ?6
                    THEN o.hold_until ELSE o.updated_at END)
            AND (CAST(?15 AS BIGINT) IS NULL OR o.discount_id = ?15)
            AND (CAST(?16 AS BIGINT) IS NULL OR EXISTS
                (SELECT 1 FROM order_items t WHERE t.order_id = o.id AND t.ticket_type_id = ?16))
            AND (CAST(?17 AS TEXT) IS NULL OR o.reference = ?17)
            AND (CAST(?18 AS TEXT) IS NULL OR (o.completed_at IS NOT NULL AND ?18 =
                CASE WHEN o.total = 0 THEN 'FREE' WHEN o.paid_by_gateway = 1 THEN 'GATEWAY' ELSE 'MANUAL' END))"
    };
}

ranges! {
    from "orders" as "o" where filters!();
    OF_ORGANIZATION = "k.organization_id = ?4";
    OF_STATUS = "k.event_id = ?19 AND k.status = ?20";
    OF_CUSTOMER = "k.customer_id = ?10";
    OF_DISCOUNT = "k.discount_id = ?15";
    BY_REFERENCE = "k.organization_id = ?4 AND k.reference = ?17";
    COMPLETED = "k.organization_id = ?4 AND k.completed_at >= COALESCE(CAST(?11 AS BIGINT), 0)
        AND k.completed_at < COALESCE(CAST(?12 AS BIGINT), 9223372036854775807)", "+";
    CHANGED_LATE = "k.organization_id = ?4 AND k.updated_at > k.created_at + 3600000 AND k.updated_at >= ?13
        AND k.updated_at < COALESCE(CAST(?14 AS BIGINT), 9223372036854775807)", "+";
    /// Orders that have expired since the time `?13`, which maintenance has not stored yet.
    JUST_EXPIRED = "k.status = 'PENDING' AND k.hold_until >= ?13 AND k.hold_until <= ?6", "+";
}

pub(in crate::store) const OF_TICKET_TYPE: &str = select_ids!(
    "SELECT DISTINCT k.order_id AS id FROM order_items k CROSS JOIN orders o WHERE o.id = k.order_id",
    "k.ticket_type_id = ?19",
    "k.order_id",
    filters!()
);
pub(in crate::store) const NTH_COMPLETED: &str = "SELECT 1 FROM orders
    WHERE organization_id = ?1 AND completed_at >= ?2 AND completed_at < ?3 LIMIT 1 OFFSET ?4";
pub(in crate::store) const NTH_CHANGED_LATE: &str = "SELECT 1 FROM orders
    WHERE organization_id = ?1 AND updated_at > created_at + 3600000 AND updated_at >= ?2 AND updated_at < ?3
    LIMIT 1 OFFSET ?4";
/// The highest id that has a later time than the order, because the clock was set back, of the orders that were created
/// before `?2`.
pub(in crate::store) const LATER_ID: &str = "SELECT id FROM orders
    WHERE organization_id = ?1 AND created_at < (id >> 20) - 1000 AND created_at < ?2 ORDER BY id DESC LIMIT 1";
/// The highest id of the orders that were completed or changed before they were created, because the clock was set
/// back, and before `?2`.
pub(in crate::store) const CHANGED_EARLY: &str = "SELECT id FROM orders
    WHERE organization_id = ?1 AND (completed_at < created_at OR updated_at < created_at)
        AND (completed_at < ?2 OR updated_at < ?2) ORDER BY id DESC LIMIT 1";
const EXISTS: &str = "SELECT 1 FROM orders WHERE id = ?1 AND organization_id = ?2";

/// Lists orders, newest first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListOrders>,
) -> Result<Page<OrderSummary, OrderId>> {
    let cursor = cursor_bound(tx, &request.page, EXISTS, organization.into())?;
    let found = if request.has_filters() {
        let Some(ids) = find(tx, organization, request)? else {
            return Ok(Page { data: Vec::new(), next_cursor: None });
        };
        PageItems::read_ids(tx, &PAGE, &[], ids, |row| decode(row, tx.now()), |(order, _)| order)?
    } else {
        let binds = [organization.into(), cursor, limit_plus_one(&request.page)];
        PageItems::read(
            tx,
            RowLength::Short,
            ALL,
            &binds,
            &request.page,
            |row| decode(row, tx.now()),
            |(order, _)| order,
        )?
    };
    Ok(with_items(tx, found)?.into_page(|order| order.id))
}

/// Finds the ids of a page. `None` if a filter names something that does not exist.
fn find<'r>(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &'r ListOrders,
) -> Result<Option<PageIds<'r, OrderId>>> {
    let customer = match &request.customer_email {
        None => None,
        Some(email) => match customers::find(tx, organization, email)? {
            None => return Ok(None),
            found => found,
        },
    };
    let event = match (request.event_id, request.ticket_type_id) {
        (event, Some(ticket_type)) => match ticket_types::find_name(tx, organization, ticket_type)? {
            None => return Ok(None),
            Some(ticket_type) => Some(event.unwrap_or(ticket_type.event_id)),
        },
        (Some(event), None) if !events::exists(tx, organization, event)? => return Ok(None),
        (event, None) => event,
    };
    let mut ids = ids_of_page(tx, organization, request, event, customer)?;
    let from = request.created_from.map_or(0, first_of);
    let (updated_from, updated_before) = (request.updated_from, request.updated_before);
    match updated_from {
        // What changed less than an hour after its creation was created at most an hour before.
        Some(changed) if can_sort(tx, NTH_CHANGED_LATE, organization.into(), updated_from, updated_before)? => {
            ids.start_from(from.max(first_of(changed.checked_sub(LATE).unwrap_or(Timestamp::UNIX_EPOCH))));
            add_ranges(tx, &mut ids, organization, request, event, customer)?;
            ids.start_from(from);
            ids.add(tx, CHANGED_LATE, &[])?;
            ids.add(tx, JUST_EXPIRED, &[])?;
        }
        _ => {
            ids.start_from(from);
            add_ranges(tx, &mut ids, organization, request, event, customer)?;
        }
    }
    Ok(Some(ids))
}

/// The filters of the request, and the bound of the ids that follows from them.
fn ids_of_page<'r>(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &'r ListOrders,
    event: Option<EventId>,
    customer: Option<CustomerId>,
) -> Result<PageIds<'r, OrderId>> {
    let filters = vec![
        organization.into(),
        request.status.map(TextEnum::as_str).into(),
        tx.now().into(),
        request.created_from.into(),
        request.created_before.into(),
        event.into(),
        customer.into(),
        request.completed_from.into(),
        request.completed_before.into(),
        request.updated_from.into(),
        request.updated_before.into(),
        request.discount_id.into(),
        request.ticket_type_id.into(),
        request.reference.as_ref().into(),
        request.payment_method.map(TextEnum::as_str).into(),
    ];
    let mut ids = PageIds::new(&request.page, filters);
    for before in [request.created_before, request.completed_before, request.updated_before].into_iter().flatten() {
        ids.end_before(above_all_before(tx, organization, before)?);
    }
    Ok(ids)
}

/// Looks for the orders in the ranges of the filter that finds the fewest as a rule.
fn add_ranges<'r>(
    tx: &Transaction<'_>,
    ids: &mut PageIds<'r, OrderId>,
    organization: OrganizationId,
    request: &'r ListOrders,
    event: Option<EventId>,
    customer: Option<CustomerId>,
) -> Result<()> {
    let by_completion =
        request.completed_from.is_some() || request.completed_before.is_some() || request.payment_method.is_some();
    if request.reference.is_some() {
        return ids.add(tx, BY_REFERENCE, &[]);
    }
    if customer.is_some() {
        return ids.add(tx, OF_CUSTOMER, &[]);
    }
    if request.discount_id.is_some() {
        return ids.add(tx, OF_DISCOUNT, &[]);
    }
    if can_sort(tx, NTH_COMPLETED, organization.into(), request.completed_from, request.completed_before)? {
        return ids.add(tx, COMPLETED, &[]);
    }
    let statuses = match request.status {
        // An order may have expired since its status was stored.
        Some(OrderStatus::Expired) => vec![OrderStatus::Expired, OrderStatus::Pending],
        Some(status) => vec![status],
        None if by_completion => vec![OrderStatus::Completed, OrderStatus::Cancelled],
        None => OrderStatus::ALL.to_vec(),
    };
    if let Some(ticket_type) = request.ticket_type_id
        && statuses.contains(&OrderStatus::Completed)
    {
        return ids.add(tx, OF_TICKET_TYPE, &[ticket_type.into()]);
    }
    let events = match event {
        Some(event) => vec![event],
        None if request.status.is_none() && !by_completion => return ids.add(tx, OF_ORGANIZATION, &[]),
        None => events::ids(tx, organization)?,
    };
    for event in events {
        for status in &statuses {
            ids.add(tx, OF_STATUS, &[event.into(), status.as_str().into()])?;
        }
    }
    Ok(())
}

/// Returns a number above the ids of all orders of an organization that were created, completed or changed before this
/// time.
pub(crate) fn above_all_before(tx: &Transaction<'_>, organization: OrganizationId, before: Timestamp) -> Result<i64> {
    page_ids::above_all_before(tx, &[LATER_ID, CHANGED_EARLY], organization, before)
}

/// Adds their items to the orders of a page, which ends early if it gets too large by them.
fn with_items(tx: &Transaction<'_>, found: PageItems<(OrderSummary, Decimals)>) -> Result<PageItems<OrderSummary>> {
    let mut page = PageItems::new(found.has_more());
    page.upper_bound = found.upper_bound;
    let ids: Vec<_> = found.items.iter().map(|(order, _)| order.id).collect();
    let items = order_items::of_orders_up_to(tx, &ids, MAX_ITEMS_AT_ONCE)?;
    let items_of_all = items.map(|mut items| {
        // The items of each order stay in their order.
        items.sort_by_key(|item| item.order_id);
        items
    });
    // Other orders have no tickets.
    let completed = found.items.iter().filter(|(order, _)| order.completed_at.is_some()).map(|(order, _)| order.id);
    let cancelled = order_items::cancelled_of_orders(tx, &completed.collect::<Vec<_>>())?;
    for (mut order, decimals) in found.items {
        let summary = |item: &StoredItem| {
            let cancelled = cancelled.get(&item.id).into_iter().flatten().copied();
            item.summary(decimals, order.created_at, cancelled)
        };
        order.items = match &items_of_all {
            Some(items) => {
                let first = items.partition_point(|item| item.order_id < order.id);
                items[first..].iter().take_while(|item| item.order_id == order.id).map(summary).collect()
            }
            None => order_items::of_orders(tx, &[order.id])?.iter().map(summary).collect(),
        };
        let upper_bound = MAX_ITEM_BYTES * order.items.len();
        if page.push(order, upper_bound, |order| order)?.is_break() {
            break;
        }
    }
    Ok(page)
}
