//! Transitions of the status of orders. Each one is a conditional UPDATE.

use crate::error::{Error, ResourceKind, Result};
use crate::model::payments::checkout::CheckoutStatus;
use crate::model::sale::event::EventStatus;
use crate::model::sale::gateway_account::GatewayIdentity;
use crate::model::sale::order::{OrderStatus, PaymentStatus};
use crate::model::values::id::{CustomerId, DiscountId, EventId, OrderId, OrganizationId, TicketTypeId};
use crate::model::values::timestamp::Timestamp;
use crate::store::columns::row_struct;
use crate::store::sale::gateway_identity;
use crate::store::{Bind, LockedEvent, Query, Transaction};

const STATE: &str =
    "SELECT o.id, o.organization_id, o.event_id, o.customer_id, o.customer_name, o.status, o.hold_until, o.currency,
        o.total, o.payment_status, o.paid_by_gateway, o.discount_id, ch.status AS checkout_status, ch.gateway,
        ch.account, ch.mode, ch.renewals, o.payment_reference AS checkout_reference,
        e.status AS event_status, e.over_at AS event_over_at, e.disable_notifications, c.email AS customer_email
    FROM orders o JOIN events e ON e.id = o.event_id JOIN customers c ON c.id = o.customer_id
        LEFT JOIN checkouts ch ON ch.order_id = o.id
    WHERE o.id = ?1 AND o.organization_id = ?2";
/// A payment through the gateway is recorded with the same statement.
macro_rules! complete {
    ($condition:literal) => {
        concat!(
            "UPDATE orders SET status = 'COMPLETED', completed_at = ?2, updated_at = ?2, paid_by_gateway = ?3,
                payment_status = CASE WHEN ?3 = 1 THEN 'COMPLETED' ELSE payment_status END,
                payment_link = CASE WHEN ?3 = 1 THEN COALESCE(payment_link, '') ELSE payment_link END
            WHERE id = ?1 AND ",
            $condition
        )
    };
}

const COMPLETE_PENDING: &str = complete!("status || '' = 'PENDING' AND hold_until > ?2");
const COMPLETE_EXPIRED: &str = complete!("status = 'EXPIRED'");
const CANCEL: &str = "UPDATE orders SET status = 'CANCELLED', cancelled_at = ?2, updated_at = ?2
    WHERE id = ?1 AND status = ?3";
const EXPIRE: &str = "UPDATE orders SET status = 'EXPIRED',
        updated_at = CASE WHEN updated_at > hold_until THEN updated_at ELSE hold_until END
    WHERE id = ?1 AND status || '' = 'PENDING' AND hold_until <= ?2
    RETURNING id, organization_id, customer_id, discount_id,
        (SELECT COUNT(*) FROM checkouts c WHERE c.order_id = orders.id AND c.status = 'OPEN') AS open_checkouts";
pub(in crate::store) const EXPIRED_HOLDS: &str = "SELECT id, event_id, hold_until FROM orders
    WHERE status = 'PENDING' AND hold_until <= ?1 AND (hold_until, event_id, id) > (?3, ?4, ?5)
    ORDER BY hold_until, event_id, id LIMIT ?2";
pub(in crate::store) const EXPIRED_HOLDS_OF_EVENT: &str = "SELECT id, event_id, hold_until FROM orders
    WHERE status = 'PENDING' AND event_id = ?5 AND hold_until <= ?1 AND (hold_until, id) > (?3, ?4)
    ORDER BY hold_until, id LIMIT ?2";
pub(in crate::store) const EXPIRED_SEATS: &str = "SELECT id, event_id, hold_until,
        (SELECT CAST(COALESCE(SUM(i.quantity), 0) AS BIGINT)
            FROM order_items i WHERE i.order_id = orders.id AND i.ticket_type_id = ?6) AS reserved,
        (SELECT COUNT(*) FROM order_items i WHERE i.order_id = orders.id) AS items
    FROM orders
    WHERE status = 'PENDING' AND event_id = ?5 AND hold_until <= ?1 AND (hold_until, id) > (?3, ?4)
    ORDER BY hold_until, id LIMIT ?2";
pub(in crate::store) const EXPIRED_USES: &str = "SELECT id, event_id, hold_until, 1 AS reserved,
        (SELECT COUNT(*) FROM order_items i WHERE i.order_id = orders.id) AS items
    FROM orders
    WHERE status = 'PENDING' AND discount_id = ?5 AND hold_until <= ?1 AND (hold_until, id) > (?3, ?4)
    ORDER BY hold_until, id LIMIT ?2";
pub(in crate::store) const IDS_OF_EXPIRED_USES: &str = "SELECT id FROM orders
    WHERE status = 'PENDING' AND discount_id = ?5 AND hold_until <= ?1 AND (hold_until, id) > (?3, ?4) LIMIT ?2";
const PAYMENT: &str =
    "UPDATE orders SET payment_status = ?2, payment_link = COALESCE(payment_link, ''), updated_at = ?3
    WHERE id = ?1 AND (payment_status IS NULL OR payment_status IN ('WAITING', 'FAILED'))";

/// The money of the order has moved. The payment of its checkout is REFUNDED if nothing of it is left.
const MONEY_MOVED: &str = "UPDATE orders SET updated_at = ?3, payment_status = CASE
        WHEN payment_status IN ('COMPLETED', 'REFUNDED') THEN COALESCE(CAST(?2 AS TEXT), payment_status)
        ELSE payment_status END
    WHERE id = ?1";

row_struct! {
    /// The stored fields of an order on which its transitions depend.
    pub(crate) struct OrderState(row) {
        pub(crate) id: OrderId,
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) event: EventId => event_id,
        pub(crate) customer: CustomerId => customer_id,
        pub(crate) customer_name: String,
        pub(crate) customer_email: String,
        /// The stored status. It may still be PENDING after the hold has expired.
        pub(crate) status: OrderStatus,
        pub(crate) hold_until: Option<Timestamp>,
        pub(crate) currency: String,
        /// In minor units.
        pub(crate) total: i64,
        pub(crate) payment: Option<PaymentStatus> => payment_status,
        pub(crate) paid_by_gateway: bool,
        pub(crate) discount: Option<DiscountId> => discount_id,
        /// The stored status of the event. It may not be EXPIRED yet although the event has ended.
        pub(crate) event_status: EventStatus,
        /// When the event ends or ended.
        pub(crate) event_over_at: Timestamp,
        /// Whether the organizer gets no mails of the orders of the event.
        pub(crate) disable_notifications: bool,
        /// `None` if the gateway was not asked for a checkout.
        pub(crate) checkout: Option<CheckoutStatus> => checkout_status,
        /// How often the checkout was renewed; 0 without a checkout.
        pub(crate) renewals: i64 = row.get::<Option<_>>("renewals")?.unwrap_or(0),
        /// The gateway's id of the newest checkout. `None` if the gateway has not answered.
        pub(crate) checkout_reference: Option<String>,
        /// The gateway that has the checkout; `None` if it is not known.
        pub(crate) gateway: Option<GatewayIdentity> = gateway_identity::read(row)?,
    }
}

row_struct! {
    /// An order whose hold has expired, and its event.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct ExpiredHold(row) {
        pub(crate) order: OrderId => id,
        pub(crate) event: EventId => event_id,
        /// When the hold expired, in milliseconds. It may be no time that a [`Timestamp`] can represent.
        at: i64 => hold_until,
    }
}

impl OrderState {
    pub(crate) fn is_event_cancelled(&self) -> bool {
        self.event_status == EventStatus::Cancelled
    }

    /// Whether a checkout is the newest one of this order, by the gateway's id of it. One without an id is the newest
    /// one if it is the only one.
    pub(crate) fn is_newest_checkout(&self, reference: Option<&str>) -> bool {
        match reference {
            Some(_) => self.checkout_reference.as_deref() == reference,
            None => self.renewals == 0,
        }
    }
}

pub(crate) fn load(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<OrderState> {
    tx.query_opt(STATE, &[id.into(), organization.into()], OrderState::read)?
        .ok_or(Error::NotFound(ResourceKind::Order))
}

/// Completes an order that is PENDING within its hold, with a payment through the gateway or without. Returns whether
/// it was.
pub(crate) fn complete_pending(tx: &LockedEvent<'_>, id: OrderId, by_gateway: bool) -> Result<bool> {
    transition(tx, COMPLETE_PENDING, &[id.into(), tx.now().into(), by_gateway.into()])
}

/// Completes an order that is stored as EXPIRED. Returns whether it was.
pub(crate) fn complete_expired(tx: &LockedEvent<'_>, id: OrderId, by_gateway: bool) -> Result<bool> {
    transition(tx, COMPLETE_EXPIRED, &[id.into(), tx.now().into(), by_gateway.into()])
}

/// Cancels an order that is stored with status `from`. Returns whether it was.
pub(crate) fn cancel(tx: &LockedEvent<'_>, id: OrderId, from: OrderStatus) -> Result<bool> {
    transition(tx, CANCEL, &[id.into(), tx.now().into(), from.as_str().into()])
}

/// Records the payment status that the gateway reported. Returns whether the payment was still open.
pub(crate) fn record_payment(tx: &LockedEvent<'_>, id: OrderId, status: PaymentStatus) -> Result<bool> {
    transition(tx, PAYMENT, &[id.into(), status.as_str().into(), tx.now().into()])
}

/// Records that money of an order has moved, or that something was decided about it. `payment` is the status of the
/// payment of its checkout, if it is about that.
pub(crate) fn money_moved(tx: &LockedEvent<'_>, id: OrderId, payment: Option<PaymentStatus>) -> Result<()> {
    tx.execute(MONEY_MOVED, &[id.into(), payment.map(PaymentStatus::as_str).into(), tx.now().into()])
}

fn transition(tx: &LockedEvent<'_>, sql: &str, binds: &[Bind<'_>]) -> Result<bool> {
    tx.execute_counted(sql, binds).map(|rows| rows == 1)
}

row_struct! {
    pub(crate) struct Expired(row) {
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) customer: CustomerId => customer_id,
        /// The discount of the order, whose use the caller has to release.
        pub(crate) discount: Option<DiscountId> => discount_id,
        /// Whether there is a checkout, which the caller has to close.
        pub(crate) has_open_checkout: bool = row.get::<i64>("open_checkouts")? > 0,
    }
}

/// Marks an order as EXPIRED. Returns `None` if its hold has not expired, or if it was marked already.
pub(crate) fn expire(tx: &LockedEvent<'_>, id: OrderId) -> Result<Option<Expired>> {
    tx.query_opt(Query::changing(EXPIRE), &[id.into(), tx.now().into()], Expired::read)
}

/// Up to `limit` pending orders whose hold has expired, the earliest first, beginning after `after`.
pub(crate) fn expired_holds(tx: &Transaction<'_>, after: Option<ExpiredHold>, limit: i64) -> Result<Vec<ExpiredHold>> {
    let (at, event, order) =
        after.map_or((i64::MIN, i64::MIN, i64::MIN), |hold| (hold.at, hold.event.raw(), hold.order.raw()));
    let binds = [tx.now().into(), limit.into(), at.into(), event.into(), order.into()];
    tx.query_all(EXPIRED_HOLDS, &binds, ExpiredHold::read)
}

/// Like [`expired_holds`], but only those of an event.
pub(crate) fn expired_holds_of_event(
    tx: &Transaction<'_>,
    event: EventId,
    after: Option<ExpiredHold>,
    limit: i64,
) -> Result<Vec<ExpiredHold>> {
    let mut binds = range(tx, after, limit);
    binds.push(event.into());
    tx.query_all(EXPIRED_HOLDS_OF_EVENT, &binds, ExpiredHold::read)
}

row_struct! {
    /// An order whose hold has expired, and how many seats of a ticket type or uses of a discount it reserves.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct ExpiredReservation(row) {
        pub(crate) hold: ExpiredHold = ExpiredHold::read(row)?,
        pub(crate) reserved: i64,
        pub(crate) items: i64,
    }
}

/// Like [`expired_holds_of_event`], with the number of seats of a ticket type, which may be 0.
pub(crate) fn expired_seats(
    tx: &Transaction<'_>,
    event: EventId,
    ticket_type: TicketTypeId,
    after: Option<ExpiredHold>,
    limit: i64,
) -> Result<Vec<ExpiredReservation>> {
    let mut binds = range(tx, after, limit);
    binds.extend([event.into(), ticket_type.into()]);
    tx.query_all(EXPIRED_SEATS, &binds, ExpiredReservation::read)
}

/// Like [`expired_holds`], but only those that use a discount: each has one use.
pub(crate) fn expired_uses(
    tx: &Transaction<'_>,
    discount: DiscountId,
    after: Option<ExpiredHold>,
    limit: i64,
) -> Result<Vec<ExpiredReservation>> {
    let mut binds = range(tx, after, limit);
    binds.push(discount.into());
    tx.query_all(EXPIRED_USES, &binds, ExpiredReservation::read)
}

pub(crate) fn count_expired_uses(
    tx: &Transaction<'_>,
    discount: DiscountId,
    after: Option<ExpiredHold>,
    limit: i64,
) -> Result<i64> {
    let mut binds = range(tx, after, limit);
    binds.push(discount.into());
    let mut uses = 0;
    tx.query_each(IDS_OF_EXPIRED_USES, &binds, |_| {
        uses += 1;
        Ok(())
    })?;
    Ok(uses)
}

/// The parameters ?1 to ?4 of the statements that return up to `limit` expired holds of an event or a discount,
/// beginning after `after`.
fn range(tx: &Transaction<'_>, after: Option<ExpiredHold>, limit: i64) -> Vec<Bind<'static>> {
    let (at, order) = after.map_or((i64::MIN, i64::MIN), |hold| (hold.at, hold.order.raw()));
    vec![tx.now().into(), limit.into(), at.into(), order.into()]
}
