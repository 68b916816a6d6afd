//! How many orders use a discount. Every change is one conditional UPDATE, so that the usage limit holds under any
//! concurrency.

use crate::error::{Error, ResourceKind, Result};
use crate::model::values::id::{DiscountId, EventId};
use crate::store::{LockedEvent, Transaction};

const CLAIM: &str = "UPDATE discounts SET used_count = used_count + 1, used = 1
    WHERE id = ?1 AND event_id = ?2 AND (usage_limit IS NULL OR used_count < usage_limit)";
const MISSING: &str = "SELECT id, used_count - COALESCE(usage_limit, used_count + 1) + 1 AS missing FROM discounts
    WHERE id = ?1 AND event_id = ?2";
const RELEASE: &str =
    "UPDATE discounts SET used_count = used_count - 1 WHERE id = ?1 AND event_id = ?2 AND used_count > 0";

/// Adds one use. Returns whether the usage limit allowed it.
pub(crate) fn claim(tx: &LockedEvent<'_>, event: EventId, discount: DiscountId) -> Result<bool> {
    tx.execute_counted(CLAIM, &[discount.into(), event.into()]).map(|rows| rows == 1)
}

/// How many uses must be released before another one can be claimed.
pub(crate) fn missing(tx: &Transaction<'_>, event: EventId, discount: DiscountId) -> Result<i64> {
    let found = tx.query_opt(MISSING, &[discount.into(), event.into()], |row| row.get("missing"))?;
    found.ok_or(Error::NotFound(ResourceKind::Discount))
}

/// Subtracts one use.
pub(crate) fn release(tx: &LockedEvent<'_>, event: EventId, discount: DiscountId) -> Result<()> {
    match tx.execute_counted(RELEASE, &[discount.into(), event.into()])? {
        0 => Err(Error::Internal(format!("the use count of {discount} is lower than its orders require"))),
        _ => Ok(()),
    }
}
