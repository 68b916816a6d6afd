//! Finds the ids of a page of a filtered list, newest first, before the items themselves are read.
//!
//! An index range holds the items with the same values of its filters, in the order of their ids. If a filter of the
//! index is not set, or has several values, the page is merged from several ranges. Once the page is full, each further
//! range is read only down to the lowest id on the page, so most ranges cost one search in the index.

use std::time::Duration;

use crate::environment::first_of;
use crate::error::Result;
use crate::model::values::id::{Id, Kind, OrganizationId};
use crate::model::values::page::PageRequest;
use crate::model::values::timestamp::Timestamp;
use crate::store::{Bind, Transaction};

/// How far the time in an id may be ahead of the time at which its row was recorded, if many rows are created within a
/// millisecond. Ids that are further ahead, because the clock was set back, are in an index of their own.
const MAX_ID_AHEAD: Duration = Duration::from_millis(1001);

/// Returns a number above the ids of all rows of an organization that were recorded before this time. Each statement of
/// `later_ids` finds the highest id of the rows of organization `?1` that were recorded before `?2` and whose ids are
/// further ahead than [`MAX_ID_AHEAD`].
pub(in crate::store) fn above_all_before(
    tx: &Transaction<'_>,
    later_ids: &[&str],
    organization: OrganizationId,
    before: Timestamp,
) -> Result<i64> {
    let mut above = match first_of(before.saturating_add(MAX_ID_AHEAD)) {
        // Ids can express times until the year 2248. Later times all have the same first id.
        last if last == first_of(Timestamp::MAX) => i64::MAX,
        by_time => by_time,
    };
    for sql in later_ids {
        let highest = tx.query_opt(*sql, &[organization.into(), before.into()], |row| row.get::<i64>("id"))?;
        above = above.max(highest.map_or(0, |id| id.saturating_add(1)));
    }
    Ok(above)
}

/// Collects the ids of a page from one or more ranges of an index. Each statement selects `id`, with these parameters:
/// `?1` the lowest id, `?2` a number above the highest id, `?3` the number of ids, then the filters, then the values of
/// the range.
pub(in crate::store) struct PageIds<'a, I> {
    from: i64,
    below: i64,
    most: usize,
    filters: Vec<Bind<'a>>,
    /// The newest first.
    ids: Vec<I>,
}

impl<'a, K: Kind> PageIds<'a, Id<K>> {
    /// Looks for the ids of a page, and for one more, which shows whether another page follows.
    pub(in crate::store) fn new(page: &PageRequest<Id<K>>, filters: Vec<Bind<'a>>) -> Self {
        let below = page.cursor.map_or(i64::MAX, Id::raw);
        let most = usize::try_from(page.limit).unwrap_or(usize::MAX).saturating_add(1);
        Self { from: 0, below, most, filters, ids: Vec::new() }
    }

    /// Lowers the exclusive upper bound of the ids for the next ranges. A higher bound than the current one is ignored.
    pub(in crate::store) fn end_before(&mut self, id: i64) {
        self.below = self.below.min(id);
    }

    /// Sets the lowest id for the next ranges, also if the previous one is higher.
    pub(in crate::store) fn start_from(&mut self, id: i64) {
        self.from = id;
    }

    /// Looks for further ids in a range.
    pub(in crate::store) fn add(&mut self, tx: &Transaction<'_>, sql: &str, range: &[Bind<'a>]) -> Result<()> {
        let is_full = self.ids.len() == self.most;
        let from = match self.ids.last() {
            Some(last) if is_full => self.from.max(last.raw().saturating_add(1)),
            _ => self.from,
        };
        let mut binds = vec![from.into(), self.below.into(), self.most.into()];
        binds.extend(self.filters.iter().chain(range).cloned());
        let found = self.ids.len();
        tx.query_each(sql, &binds, |row| {
            self.ids.push(row.get("id")?);
            Ok(())
        })?;
        if self.ids.len() > found && found > 0 {
            self.ids.sort_unstable_by(|one, other| other.cmp(one));
            self.ids.dedup();
            self.ids.truncate(self.most);
        }
        Ok(())
    }

    /// The ids of the page, and whether another page follows.
    pub(in crate::store) fn into_page(mut self) -> (Vec<Id<K>>, bool) {
        let has_more = self.ids.len() == self.most;
        self.ids.truncate(self.most - 1);
        (self.ids, has_more)
    }
}

/// Selects the ids of a range of an index whose rows fulfil all filters, with the parameters of [`PageIds`].
///
/// `$select` joins the rows of the index, with the alias `k`, with the rows to filter, under a second alias. `$id` is
/// the id of an item in `k`, and `$range` is on `k` or on a table that is joined before it. Use only columns of the
/// index there. With a single alias, the planner would read the table in the order of its ids. `$id` has a unary plus
/// if the range is not in the order of the ids.
macro_rules! select_ids {
    ($select:expr, $range:literal, $id:expr, $filters:expr) => {
        concat!(
            $select,
            " AND ",
            $range,
            " AND ",
            $id,
            " >= ?1 AND ",
            $id,
            " < ?2 AND ",
            $filters,
            " ORDER BY ",
            $id,
            " DESC LIMIT ?3"
        )
    };
}

/// Declares statements that each select the ids of a range of an index of a table, as [`select_ids`] does:
///
/// ```text
/// ranges! {
///     from "refunds" as "r" where "r.organization_id = ?4 AND …";
///     OF_STATUS = "k.organization_id = ?4 AND k.status = ?8";
///     BY_TIME = "k.organization_id = ?4 AND k.created_at >= ?5", "+";
/// }
/// ```
///
/// After `where` are the filters. A range that is not in the order of the ids has a `"+"`.
macro_rules! ranges {
    (
        from $table:literal as $name:literal where $filters:expr;
        $($(#[$meta:meta])* $constant:ident = $range:literal $(, $plus:literal)?;)+
    ) => { $(
        $(#[$meta])*
        pub(in crate::store) const $constant: &str = $crate::store::lists::page_ids::select_ids!(
            concat!("SELECT k.id FROM ", $table, " k CROSS JOIN ", $table, " ", $name, " WHERE ", $name, ".id = k.id"),
            $range,
            concat!($($plus,)? "k.id"),
            $filters
        );
    )+ };
}

pub(in crate::store) use {ranges, select_ids};
