//! The ids of a page of a filtered list, newest first. They are found before the items are read.
//!
//! Items with the same values of a filter are in one range of an index, in the order of their ids. Without one of the
//! filters of such an index, or with several values of it, the newest items are in several ranges. Each range is read
//! only down to the last of the ids that the others have contributed to the page, so that a further range costs one
//! search in the index.

use std::time::Duration;

use crate::environment::first_of;
use crate::error::Result;
use crate::model::values::id::{Id, Kind, OrganizationId};
use crate::model::values::page::PageRequest;
use crate::model::values::timestamp::Timestamp;
use crate::store::{Bind, Transaction};

/// An id begins with the time at which its row was recorded, or with one that is up to so much later: if there are many
/// rows in a millisecond. Those that are later, because the clock was set back, have an index.
const LATEST_ID: Duration = Duration::from_millis(1001);

/// Returns a number above the ids of all rows of an organization that were recorded before this time. Each of the
/// statements finds the highest id of the rows `?1` of the organization and before `?2` whose ids are later.
pub(in crate::store) fn above_all_before(
    tx: &Transaction<'_>,
    later_ids: &[&str],
    organization: OrganizationId,
    before: Timestamp,
) -> Result<i64> {
    let mut above = match first_of(before.saturating_add(LATEST_ID)) {
        // The time of ids ends in the year 2248.
        last if last == first_of(Timestamp::MAX) => i64::MAX,
        by_time => by_time,
    };
    for sql in later_ids {
        let exception = tx.query_opt(*sql, &[organization.into(), before.into()], |row| row.get::<i64>("id"))?;
        above = above.max(exception.map_or(0, |id| id.saturating_add(1)));
    }
    Ok(above)
}

/// The ids that were found so far. The statements select them as `id`, and have these parameters:
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

    /// From now on, only ids below this one are looked for.
    pub(in crate::store) fn end_before(&mut self, id: i64) {
        self.below = self.below.min(id);
    }

    /// From now on, only ids from this one on are looked for.
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
/// `$select` joins the table with itself. The range and `$id` use the first name, `k`, and only columns of the index.
/// The filters use the second name. With one name, the planner would read the table in the order of its ids. `$id` is
/// the id in `k`, with a unary plus if the range is not in the order of the ids.
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

/// Selects the ids of a range of an index of a table as [`select_ids`] does. The last argument is `"+"` if the range is
/// not in the order of the ids.
macro_rules! select_range {
    ($table:literal, $name:literal, $range:literal, $filters:expr $(, $plus:literal)?) => {
        $crate::store::lists::page_ids::select_ids!(
            concat!("SELECT k.id FROM ", $table, " k CROSS JOIN ", $table, " ", $name, " WHERE ", $name, ".id = k.id"),
            $range,
            concat!($($plus,)? "k.id"),
            $filters
        )
    };
}

pub(in crate::store) use {select_ids, select_range};
