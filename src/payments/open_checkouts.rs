//! Look-ups after the program was down. The gateway does not repeat the notices of that time at once, so the checkouts
//! that were open meanwhile are looked up when a program runs the maintenance again.

use crate::error::Result;
use crate::model::sale::gateway_account::{GatewayAccount, GatewayKey, PaymentMode};
use crate::model::values::timestamp::Timestamp;
use crate::payment::GatewayCalls;
use crate::payments::Payments;
use crate::rules::money::gateway_choice::{CHECKOUT, work_kinds};
use crate::sales::checkouts::checkout_attempts::look_up_all_now;
use crate::store::Transaction;
use crate::store::money::{checkout_attempts, payments, refunds};
use crate::store::sale::gateway_identity::WaitingAtGateway;
use crate::store::work::{self, LaterWork};
use crate::write::batches::{Batches, Run, in_batches};
use crate::write::skipped_rows::SkippedTable;

impl Payments {
    /// Logs an error for each gateway that the program does not have, or has in another mode, and for which checkouts,
    /// refunds or payments wait.
    pub(crate) fn report_work_without_gateway(&self) -> Result<()> {
        let gateway = self.gateway.as_ref().map(GatewayCalls::key);
        let waiting = self.writes.store()?.read(|tx| {
            Ok([
                ("checkouts", checkout_attempts::of_other_gateways(tx, gateway)?),
                ("refunds", refunds::of_other_gateways(tx, gateway)?),
                ("payments", payments::of_other_gateways(tx, gateway)?),
            ])
        })?;
        for (kind, waiting) in waiting {
            for WaitingAtGateway { gateway, mode, account, accounts, number } in waiting {
                let account = match (&account, accounts) {
                    (GatewayAccount::Unrecorded, _) => "not recorded".to_owned(),
                    (GatewayAccount::Own, 1) => "the gateway's own".to_owned(),
                    (GatewayAccount::Connected(id), 1) => id.clone(),
                    _ => format!("{accounts} accounts"),
                };
                tracing::error!(
                    target: "ticketing::payment",
                    waiting = kind,
                    number,
                    gateway = gateway.as_deref().unwrap_or("not recorded"),
                    account,
                    mode = mode.map_or("not recorded", PaymentMode::as_str),
                    "the program does not have the payment gateway for which these wait: refunds stay due, checkouts may \
                    still be paid and are neither closed nor looked up, and no other gateway is asked about them"
                );
            }
        }
        Ok(())
    }

    /// Lets the open checkouts of the gateway from before `opened_at` be looked up now, at the pace of all
    /// look-ups.
    pub(crate) fn look_up_open_checkouts(
        &self,
        run: &mut Run<'_>,
        gateway: GatewayKey<'_>,
        opened_at: Timestamp,
    ) -> Result<()> {
        let mut checkouts = 0;
        for kind in work_kinds(CHECKOUT, gateway) {
            let batches = Batches {
                table: SkippedTable::Work,
                read: |tx: &Transaction<'_>, after, limit| work::due_later(tx, &kind, opened_at, after, limit),
                change: look_up_all_now,
                key: |work: &LaterWork| work.id.raw(),
                event: |work| work.event,
            };
            checkouts += in_batches(&self.writes, run, &batches)?;
        }
        if checkouts > 0 {
            tracing::info!(
                target: "ticketing::payment",
                checkouts,
                "the program was down; the checkouts that were open meanwhile are looked up"
            );
        }
        Ok(())
    }
}
