//! Lists of what belongs to orders and has a status, such as refunds and disputes, newest first, with filters by
//! status, event and order.

use serde::Serialize;

use crate::enums::text_enum::TextEnum;
use crate::error::Result;
use crate::model::values::id::{EventId, Id, Kind, OrderId, OrganizationId};
use crate::model::values::page::{Page, PageRequest};
use crate::store::lists::list_query::{ListQuery, cursor_bound};
use crate::store::lists::page_ids::PageIds;
use crate::store::lists::pages::read_page_of;
use crate::store::{Row, Transaction};

/// The statements of such a list. Those that look for ids have the filters `?4` to `?7`: the organization, the status,
/// the event and the order. Their ranges are of one status.
pub(in crate::store) struct Statements<'s> {
    pub(in crate::store) page: &'s ListQuery,
    pub(in crate::store) of_status: &'s str,
    pub(in crate::store) of_event: &'s str,
    pub(in crate::store) of_order: &'s str,
    /// Finds an item by its id and organization.
    pub(in crate::store) exists: &'s str,
}

pub(in crate::store) struct Filters<S> {
    pub(in crate::store) organization: OrganizationId,
    pub(in crate::store) status: Option<S>,
    pub(in crate::store) event: Option<EventId>,
    pub(in crate::store) order: Option<OrderId>,
}

pub(in crate::store) fn list<T: Serialize, K: Kind, S: TextEnum + PartialEq>(
    tx: &Transaction<'_>,
    statements: &Statements<'_>,
    filters: &Filters<S>,
    page: &PageRequest<Id<K>>,
    decode: impl FnMut(&Row<'_>) -> Result<T>,
    id: impl Fn(&T) -> Id<K>,
) -> Result<Page<T, Id<K>>> {
    cursor_bound(tx, page, statements.exists, filters.organization.into())?;
    let binds = vec![
        filters.organization.into(),
        filters.status.map(TextEnum::as_str).into(),
        filters.event.into(),
        filters.order.into(),
    ];
    let mut ids = PageIds::new(page, binds);
    for status in S::ALL {
        if filters.status.is_none_or(|requested| requested == *status) {
            let status = status.as_str();
            match (filters.order, filters.event) {
                (Some(order), _) => ids.add(tx, statements.of_order, &[order.into(), status.into()])?,
                (None, Some(event)) => ids.add(tx, statements.of_event, &[event.into(), status.into()])?,
                (None, None) => ids.add(tx, statements.of_status, &[status.into()])?,
            }
        }
    }
    read_page_of(tx, statements.page, &[], ids, decode, id)
}
