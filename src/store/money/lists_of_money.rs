//! The lists of payments and of ledger entries, newest first, with filters by event, order, kind, mode and time.

use serde::Serialize;

use crate::environment::first_of;
use crate::error::Result;
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::values::id::{EventId, Id, Kind, OrderId, OrganizationId};
use crate::model::values::page::{Page, PageRequest};
use crate::model::values::timestamp::Timestamp;
use crate::store::lists::list_query::{ListQuery, cursor_bound};
use crate::store::lists::page_ids::{self, PageIds};
use crate::store::lists::pages::read_page_of;
use crate::store::{Row, Transaction};

/// The statements of such a list.
pub(in crate::store) struct Statements<'s> {
    pub(in crate::store) page: &'s ListQuery,
    /// The tables whose rows are in the list.
    pub(in crate::store) tables: &'s [&'s TableRanges],
    /// Finds an item by its id and organization.
    pub(in crate::store) exists: &'s str,
}

/// The statements that look for ids in a table. They have the filters `?4` to `?10`: the organization, the event, the
/// order, the kind, the mode, and the times between which the row was recorded. `?11` is the event or the order of a
/// range.
pub(in crate::store) struct TableRanges {
    pub(in crate::store) of_organization: &'static str,
    pub(in crate::store) of_event: &'static str,
    /// Whether the ranges of an event are of one mode, `?12`.
    pub(in crate::store) has_ranges_of_modes: bool,
    pub(in crate::store) of_order: &'static str,
    /// Finds the highest id of the rows of the organization `?1` whose id begins with a later time than that at which
    /// they were recorded, because the clock was set back, and that were recorded before `?2`.
    pub(in crate::store) later_id: &'static str,
}

pub(in crate::store) struct Filters {
    pub(in crate::store) organization: OrganizationId,
    pub(in crate::store) event: Option<EventId>,
    pub(in crate::store) order: Option<OrderId>,
    pub(in crate::store) kind: Option<&'static str>,
    pub(in crate::store) mode: Option<PaymentMode>,
    pub(in crate::store) from: Option<Timestamp>,
    pub(in crate::store) before: Option<Timestamp>,
}

pub(in crate::store) fn list<T: Serialize, K: Kind>(
    tx: &Transaction<'_>,
    statements: &Statements<'_>,
    filters: &Filters,
    page: &PageRequest<Id<K>>,
    decode: impl FnMut(&Row<'_>) -> Result<T>,
    id: impl Fn(&T) -> Id<K>,
) -> Result<Page<T, Id<K>>> {
    cursor_bound(tx, page, statements.exists, filters.organization.into())?;
    let binds = vec![
        filters.organization.into(),
        filters.event.into(),
        filters.order.into(),
        filters.kind.into(),
        filters.mode.map(PaymentMode::as_str).into(),
        filters.from.into(),
        filters.before.into(),
    ];
    let mut ids = PageIds::new(page, binds);
    ids.start_from(filters.from.map_or(0, first_of));
    if let Some(before) = filters.before {
        ids.end_before(above_all_before(tx, statements.tables, filters.organization, before)?);
    }
    for table in statements.tables {
        add_ids(tx, table, filters, &mut ids)?;
    }
    read_page_of(tx, statements.page, &[], ids, decode, id)
}

fn add_ids<K: Kind>(
    tx: &Transaction<'_>,
    table: &TableRanges,
    filters: &Filters,
    ids: &mut PageIds<'_, Id<K>>,
) -> Result<()> {
    match (filters.order, filters.event) {
        (Some(order), _) => ids.add(tx, table.of_order, &[order.into()]),
        (None, Some(event)) if table.has_ranges_of_modes => {
            for mode in PaymentMode::ALL.iter().filter(|mode| filters.mode.is_none_or(|wanted| wanted == **mode)) {
                ids.add(tx, table.of_event, &[event.into(), mode.as_str().into()])?;
            }
            Ok(())
        }
        (None, Some(event)) => ids.add(tx, table.of_event, &[event.into()]),
        (None, None) => ids.add(tx, table.of_organization, &[]),
    }
}

/// Returns a number above the ids of all rows of an organization that were recorded before this time.
pub(in crate::store) fn above_all_before(
    tx: &Transaction<'_>,
    tables: &[&TableRanges],
    organization: OrganizationId,
    before: Timestamp,
) -> Result<i64> {
    let later_ids: Vec<_> = tables.iter().map(|table| table.later_id).collect();
    page_ids::above_all_before(tx, &later_ids, organization, before)
}
