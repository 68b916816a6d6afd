//! Lists of events.

use super::events::{ALL, PAGE, decode};
use crate::enums::text_enum::TextEnum;
use crate::error::Result;
use crate::model::sale::event::{Event, EventStatus, ListEvents};
use crate::model::values::id::{EventId, OrganizationId};
use crate::model::values::page::Page;
use crate::rules::Checked;
use crate::rules::event::search_line;
use crate::store::lists::list_query::{can_sort, cursor_bound, limit_plus_one};
use crate::store::lists::page_ids::{PageIds, ranges};
use crate::store::lists::pages::{read_page, read_page_of};
use crate::store::{RowLength, Transaction};

ranges! {
    from "events" as "e" where
        "(CAST(?5 AS TEXT) IS NULL OR ?5 = CASE WHEN e.status IN ('PUBLISHED', 'SOLD_OUT') AND e.over_at <= ?6
                THEN 'EXPIRED' ELSE e.status END)
            AND (CAST(?7 AS BIGINT) IS NULL OR e.is_public = ?7)
            AND (CAST(?8 AS TEXT) IS NULL OR e.search_text LIKE ?8 ESCAPE '!')
            AND (CAST(?9 AS BIGINT) IS NULL OR e.start_at >= ?9)
            AND (CAST(?10 AS BIGINT) IS NULL OR e.start_at < ?10)
            AND (CAST(?11 AS TEXT) IS NULL OR e.slug = ?11)
            AND (CAST(?12 AS TEXT) IS NULL OR e.reference = ?12)";
    OF_ORGANIZATION = "k.organization_id = ?4";
    OF_STATUS = "k.organization_id = ?4 AND k.status = ?13 AND k.is_public = ?14";
    BY_START = "k.organization_id = ?4 AND k.start_at >= COALESCE(CAST(?9 AS BIGINT), 0)
        AND k.start_at < COALESCE(CAST(?10 AS BIGINT), 9223372036854775807)", "+";
    BY_SLUG = "k.organization_id = ?4 AND k.slug = ?11", "+";
    BY_REFERENCE = "k.organization_id = ?4 AND k.reference = ?12";
}

pub(in crate::store) const NTH_START: &str = "SELECT 1 FROM events
    WHERE organization_id = ?1 AND start_at >= ?2 AND start_at < ?3 LIMIT 1 OFFSET ?4";
const EXISTS: &str = "SELECT 1 FROM events WHERE id = ?1 AND organization_id = ?2";

/// Lists events, newest first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListEvents>,
) -> Result<Page<Event, EventId>> {
    let cursor = cursor_bound(tx, &request.page, EXISTS, organization.into())?;
    if **request == (ListEvents { page: request.page.clone(), ..ListEvents::default() }) {
        let binds = [organization.into(), cursor, limit_plus_one(&request.page)];
        return read_page(tx, RowLength::Long, ALL, &binds, &request.page, |row| decode(row, tx), |event| event.id);
    }
    let filters = vec![
        organization.into(),
        request.status.map(TextEnum::as_str).into(),
        tx.now().into(),
        request.is_public.into(),
        request.q.as_deref().map(like_pattern).into(),
        request.starts_from.into(),
        request.starts_before.into(),
        request.slug.as_ref().into(),
        request.reference.as_ref().into(),
    ];
    let mut ids = PageIds::new(&request.page, filters);
    add_ranges(tx, &mut ids, organization, request)?;
    read_page_of(tx, &PAGE, &[], ids, |row| decode(row, tx), |event| event.id)
}

/// Looks for the events in the ranges of the filter that finds the fewest as a rule.
fn add_ranges(
    tx: &Transaction<'_>,
    ids: &mut PageIds<'_, EventId>,
    organization: OrganizationId,
    request: &ListEvents,
) -> Result<()> {
    if request.slug.is_some() {
        return ids.add(tx, BY_SLUG, &[]);
    }
    if request.reference.is_some() {
        return ids.add(tx, BY_REFERENCE, &[]);
    }
    if can_sort(tx, NTH_START, organization.into(), request.starts_from, request.starts_before)? {
        return ids.add(tx, BY_START, &[]);
    }
    if request.status.is_none() && request.is_public.is_none() {
        return ids.add(tx, OF_ORGANIZATION, &[]);
    }
    let statuses = match request.status {
        // An event may have ended since its status was stored.
        Some(EventStatus::Expired) => vec![EventStatus::Expired, EventStatus::Published, EventStatus::SoldOut],
        Some(status) => vec![status],
        None => EventStatus::ALL.to_vec(),
    };
    for status in statuses {
        for is_public in [true, false] {
            if request.is_public.is_none_or(|requested| requested == is_public) {
                ids.add(tx, OF_STATUS, &[status.as_str().into(), is_public.into()])?;
            }
        }
    }
    Ok(())
}

/// Returns a LIKE pattern for search texts that contain `part`. Wildcards in `part` are escaped with `!`.
fn like_pattern(part: &str) -> String {
    format!("%{}%", search_line(part).replace('!', "!!").replace('%', "!%").replace('_', "!_"))
}
