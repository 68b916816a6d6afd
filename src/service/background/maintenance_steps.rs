//! The steps of a maintenance run. Each one works in batches, and looks between two of them whether it should stop.

use crate::error::Result;
use crate::sales::catalog::event_changes;
use crate::sales::catalog::holds;
use crate::service::TicketingService;
use crate::service::state::downtime::{State, is_record_due};
use crate::store::maintenance_clock;
use crate::store::money::checkout_attempts;
#[cfg(feature = "mail")]
use crate::store::order::mails;
use crate::store::order::order_status::{self, ExpiredHold};
use crate::store::sale::events;
use crate::store::tenants::idempotency_records;
use crate::store::webhooks::webhook_retention::Deleted;
use crate::store::webhooks::{handlers, webhook_retention};
use crate::write::batches::{Batches, Run, in_batches};
use crate::write::skipped_rows::SkippedTable;

pub(in crate::service) type StepFunction = fn(&TicketingService, &mut Run<'_>) -> Result<()>;

/// A step of the maintenance.
pub(in crate::service) struct Step {
    run: StepFunction,
    /// Whether it decides by the time what it changes for good.
    acts_on_time: bool,
}

impl Step {
    pub(in crate::service) const fn new(run: StepFunction) -> Self {
        Self { run, acts_on_time: false }
    }

    const fn on_time(run: StepFunction) -> Self {
        Self { run, acts_on_time: true }
    }

    /// Runs the step, unless it acts on the time and the clock is in doubt.
    pub(in crate::service) fn run(&self, service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
        if self.acts_on_time && !service.believes_clock()? {
            run.report.held_back = true;
            return Ok(());
        }
        (self.run)(service, run)
    }
}

/// The steps, in this order.
pub(in crate::service) const STEPS: &[Step] = &[
    // First: what it depends on is when another program has acted on the time, and the next steps act on it.
    Step::new(look_up_after_downtime),
    Step::on_time(expire_orders),
    Step::on_time(expire_events),
    Step::new(|service, run| service.inner.store_key_uses(&|| run.stops())),
    Step::new(|service, _| service.read_suspended_organizations()),
    Step::on_time(delete_idempotency_keys),
    Step::on_time(delete_deliveries),
    Step::on_time(delete_notifications),
    #[cfg(feature = "mail")]
    Step::on_time(delete_mails),
    Step::new(|service, _| service.store()?.delete_expired()),
    // Last: it may wait for many events.
    Step::new(|service, run| service.inner.store_page_views(&|| run.stops())),
];

/// The steps that do work of a queue. In the background, threads of their own do it.
pub(in crate::service) const ROWS_STEP: Step = Step::new(|service, run| service.do_due_work(service.row_queues(), run));
pub(in crate::service) const GATEWAY_STEP: Step =
    Step::new(|service, run| service.do_due_work(service.gateway_queues(), run));

/// Lets the checkouts be looked up that were open while no program was running the maintenance, and records that
/// this one is.
fn look_up_after_downtime(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let Some(gateway) = service.payments().gateway.as_ref().filter(|gateway| gateway.can_look_up()) else {
        return Ok(());
    };
    let downtime = &service.inner.downtime;
    let now = service.inner.environment.now();
    let (recorded, any_checkout) =
        service.store()?.read(|tx| Ok((maintenance_clock::read(tx)?, checkout_attempts::any(tx)?)))?;
    let state = downtime.look(recorded, now);
    if matches!(state, State::Waiting(_)) || !any_checkout {
        return Ok(());
    }
    if is_record_due(recorded, now) && service.believes_clock()? {
        service.store()?.write(None, move |tx| maintenance_clock::write(tx, now))?;
    }
    if state == State::WasDown {
        service.payments().look_up_open_checkouts(run, gateway.key(), downtime.opened_at)?;
        if !run.stops() {
            downtime.finish();
        }
    }
    Ok(())
}

fn expire_orders(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let batches = Batches {
        table: SkippedTable::Orders,
        read: order_status::expired_holds,
        change: holds::expire_all,
        key: |hold: &ExpiredHold| hold.order.raw(),
        event: |hold| hold.event,
    };
    run.report.expired_orders += in_batches(service.writes(), run, &batches)?;
    Ok(())
}

fn expire_events(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let batches = Batches {
        table: SkippedTable::Events,
        read: events::over,
        change: event_changes::expire_all,
        key: |event| event.id.raw(),
        event: |event| event.id,
    };
    run.report.expired_events += in_batches(service.writes(), run, &batches)?;
    Ok(())
}

// The following steps end when a batch was empty: another process deletes, or what is old for the clock of this process
// is not for that of the database.

fn delete_idempotency_keys(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    while !run.stops() && service.store()?.read(idempotency_records::any_expired)? {
        let deleted = service.store()?.write(None, idempotency_records::delete_expired)?;
        if deleted == 0 {
            break;
        }
        run.report.forgotten_keys += deleted;
    }
    Ok(())
}

fn delete_deliveries(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let retention = service.inner.webhook_retention;
    while !run.stops() && service.store()?.read(|tx| webhook_retention::any_old(tx, retention))? {
        let deleted = service.store()?.write(None, move |tx| webhook_retention::delete_old(tx, retention))?;
        if deleted == Deleted::default() {
            break;
        }
        run.report.forgotten_deliveries += deleted.attempts;
    }
    Ok(())
}

fn delete_notifications(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let retention = service.inner.webhook_retention;
    if service.store()?.read(|tx| handlers::any_old(tx, retention))? {
        // This process may have been suspended for long.
        service.register_handlers()?;
    }
    while !run.stops() && service.store()?.read(|tx| handlers::any_old(tx, retention))? {
        let deleted = service.store()?.write(None, move |tx| handlers::delete_old(tx, retention))?;
        if deleted == 0 {
            break;
        }
        run.report.forgotten_notifications += deleted;
    }
    Ok(())
}

#[cfg(feature = "mail")]
fn delete_mails(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let Some(retention) = service.inner.mail.as_ref().map(|options| options.retention) else { return Ok(()) };
    while !run.stops() && service.store()?.read(|tx| mails::any_old(tx, retention))? {
        let deleted = service.store()?.write(None, move |tx| mails::delete_old(tx, retention))?;
        if deleted == 0 {
            break;
        }
        run.report.forgotten_mails += deleted;
    }
    Ok(())
}
