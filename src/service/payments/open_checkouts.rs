//! Look-ups after the program was down. The gateway does not repeat the notices of that time at once, so the checkouts
//! that were open meanwhile are looked up when a program runs the maintenance again.

use crate::error::Result;
use crate::model::sale::gateway_account::{GatewayAccount, GatewayKey, PaymentMode};
use crate::payment::GatewayCalls;
use crate::sales::checkouts::checkout_attempts::look_up_all_now;
use crate::service::TicketingService;
use crate::service::state::downtime::{State, is_record_due};
use crate::service::state::maintenance_steps::{Batches, Run, in_batches};
use crate::store::money::checkout_attempts::{self, OpenCheckout};
use crate::store::money::{payments, refunds};
use crate::store::sale::gateway_identity::WaitingAtGateway;
use crate::store::{Transaction, maintenance_clock};
use crate::write::skipped_rows::SkippedTable;

impl TicketingService {
    /// Lets the checkouts be looked up that were open while no program was running the maintenance, and records that
    /// this one is.
    pub(in crate::service) fn look_up_after_downtime(&self, run: &mut Run<'_>) -> Result<()> {
        let Some(gateway) = self.inner.gateway.as_ref().filter(|gateway| gateway.can_look_up()) else { return Ok(()) };
        let downtime = &self.inner.downtime;
        let now = self.inner.environment.now();
        let (recorded, any_open) =
            self.store()?.read(|tx| Ok((maintenance_clock::read(tx)?, checkout_attempts::any_open(tx)?)))?;
        let state = downtime.look(recorded, now);
        if matches!(state, State::Waiting(_)) || !any_open {
            return Ok(());
        }
        if is_record_due(recorded, now) && self.believes_clock()? {
            self.store()?.write(None, move |tx| maintenance_clock::write(tx, now))?;
        }
        if state == State::WasDown {
            self.look_up_open_checkouts(run, gateway.key())?;
            if !run.stops() {
                downtime.finish();
            }
        }
        Ok(())
    }

    /// Logs an error for each gateway that the program does not have, or has in another mode, and for which checkouts,
    /// refunds or payments wait.
    pub(in crate::service) fn report_work_without_gateway(&self) -> Result<()> {
        let gateway = self.inner.gateway.as_ref().map(GatewayCalls::key);
        let waiting = self.store()?.read(|tx| {
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

    /// Lets the open checkouts of the gateway from before this service was opened be looked up now, at the pace of all
    /// look-ups.
    fn look_up_open_checkouts(&self, run: &mut Run<'_>, gateway: GatewayKey<'_>) -> Result<()> {
        let opened_at = self.inner.downtime.opened_at;
        let batches = Batches {
            table: SkippedTable::Checkouts,
            read: |tx: &Transaction<'_>, after, limit| {
                checkout_attempts::open_before(tx, gateway, opened_at, after, limit)
            },
            change: look_up_all_now,
            key: |checkout: &OpenCheckout| checkout.order.raw(),
            event: |checkout| checkout.event,
        };
        let checkouts = in_batches(self, run, &batches)?;
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
