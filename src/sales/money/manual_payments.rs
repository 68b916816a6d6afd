//! Money that was taken manually.

use crate::error::Result;
use crate::model::sale::gateway_account::{GatewayAccount, PaymentMode};
use crate::model::sale::received_payment::{ManualMethod, PaymentPurpose};
use crate::model::tenants::caller::Recorder;
use crate::store::LockedEvent;
use crate::store::money::payments;
use crate::store::money::payments::NewPayment;
use crate::store::order::order_status::OrderState;

/// How money was taken manually.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ManualPayment<'a> {
    pub(crate) method: ManualMethod,
    pub(crate) note: Option<&'a str>,
    pub(crate) recorded_by: &'a Recorder,
}

/// Records the manual payment that completed an order.
pub(in crate::sales) fn receive(tx: &LockedEvent<'_>, state: &OrderState, by: &ManualPayment<'_>) -> Result<()> {
    let new = NewPayment {
        organization: state.organization,
        order: state.id,
        event: state.event,
        purpose: PaymentPurpose::Order,
        manual_method: Some(by.method),
        gateway: None,
        account: &GatewayAccount::Unrecorded,
        mode: PaymentMode::Live,
        checkout_reference: None,
        reference: None,
        amount: state.total,
        currency: &state.currency,
        note: by.note,
        recorded_by: Some(by.recorded_by),
    };
    payments::insert(tx, &new).map(drop)
}
