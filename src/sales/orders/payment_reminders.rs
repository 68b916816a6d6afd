//! Reminders of orders that are not paid yet.

use super::order_lifecycle;
use crate::error::Result;
use crate::model::sale::order::OrderStatus;
use crate::model::values::id::OrderId;
use crate::sales::mail_causes;
use crate::store::LockedEvent;
use crate::store::order::orders;
use crate::store::work::{self, ClaimedWork};

/// Causes the mail that reminds the customer of an order, and records that it is sent. Does nothing if the order is not
/// pending any more, or if the program has marked it.
pub(crate) fn remind(tx: &LockedEvent<'_>, claimed: &ClaimedWork) -> Result<()> {
    if !work::is_held(tx, claimed)? {
        return Ok(());
    }
    let (organization, id) = (claimed.work.organization_id, OrderId::from_raw(claimed.work.key.unwrap_or_default()));
    let state = order_lifecycle::load(tx, organization, id)?;
    if state.status == OrderStatus::Pending
        && !orders::get(tx, organization, id)?.checkout_reminder_sent
        && mail_causes::payment_reminder(tx, (&state).into())?
    {
        orders::mark_reminder_sent(tx, organization, id)?;
    }
    work::done(tx, claimed)
}
