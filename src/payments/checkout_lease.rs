//! Claims: only one process at a time asks the gateway for the checkout of an order. A claim is short, and the process
//! renews it while it waits for the gateway. So what a process has claimed is free two seconds after it was killed,
//! and is not taken from a process that waits for long.

use std::sync::{Arc, Mutex, PoisonError};

use crate::model::values::id::OrderId;
use crate::model::values::timestamp::Timestamp;
use crate::payment::GatewayCalls;
use crate::payments::Payments;
use crate::rules::money::checkout_schedule::{CLAIM_DURATION, CLAIM_RENEWAL};
use crate::store::money::checkout_renewals;

impl Payments {
    /// The gateway, for calls during which a claim that ends at `until` is renewed.
    pub(crate) fn renewing_claim(&self, gateway: &GatewayCalls, order: OrderId, until: Timestamp) -> GatewayCalls {
        let store = Arc::clone(self.writes.store_in_operation());
        let claimed_until = Mutex::new(until);
        gateway.while_waiting(CLAIM_RENEWAL, move || {
            let mut claimed_until = claimed_until.lock().unwrap_or_else(PoisonError::into_inner);
            let until = *claimed_until;
            let renewed = store.write(None, move |tx| {
                let new_end = tx.now().saturating_add(CLAIM_DURATION);
                checkout_renewals::renew_lease(tx, order, until, new_end).map(|()| new_end)
            });
            match renewed {
                Ok(new_end) => *claimed_until = new_end,
                Err(error) => tracing::warn!(
                    target: "ticketing::payment",
                    %order,
                    %error,
                    "the claim of a checkout could not be renewed; another process may ask about the same checkout"
                ),
            }
        })
    }
}
