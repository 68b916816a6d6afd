//! The balance of an order, for whoever asks.

use crate::error::Result;
use crate::model::payments::order_balance::{BalanceSums, OrderBalance, PaymentBalance};
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::rules::money::amount_limits::decimals_of_stored;
use crate::store::Transaction;
use crate::store::money::payments;
use crate::store::money::payments::StoredPayment;
use crate::store::order::order_status;

/// Sums in minor units.
#[derive(Debug, Clone, Copy, Default)]
struct Sums([i64; 7]);

impl Sums {
    fn of(payment: &StoredPayment) -> Self {
        let sums = &payment.sums;
        let on_hold = sums.on_hold();
        let in_flight = sums.to_return() - on_hold - payment.owed;
        let StoredPayment { owed, .. } = *payment;
        Self([sums.received, sums.returned, sums.taken, sums.promised, in_flight.max(0), on_hold, owed])
    }

    fn add(&mut self, other: Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(more);
        }
    }

    fn in_currency(self, currency: &str) -> Result<BalanceSums> {
        let decimals = decimals_of_stored(currency)?;
        let [received, returned, taken, promised, in_flight, on_hold, owed] =
            self.0.map(|minor_units| crate::model::values::amount::Amount::in_currency(minor_units, decimals));
        Ok(BalanceSums { received, returned, taken, promised, in_flight, on_hold, owed })
    }
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<OrderBalance> {
    let state = order_status::load(tx, organization, id)?;
    let of_order = payments::of_order(tx, id)?;
    let is_counted = |payment: &&StoredPayment| payment.currency == state.currency;
    let live = of_order.iter().filter(is_counted).any(|payment| payment.mode == PaymentMode::Live);
    let mode = if live { PaymentMode::Live } else { PaymentMode::Test };
    let mut sums = Sums::default();
    for payment in of_order.iter().filter(is_counted).filter(|payment| payment.mode == mode) {
        sums.add(Sums::of(payment));
    }
    let balance = |payment: &StoredPayment| {
        let currency = payment.currency.clone();
        let sums = Sums::of(payment).in_currency(&currency)?;
        Ok(PaymentBalance { payment_id: payment.id, currency, mode: payment.mode, sums })
    };
    Ok(OrderBalance {
        order_id: id,
        mode: Some(mode).filter(|_| !of_order.is_empty()),
        sums: sums.in_currency(&state.currency)?,
        payments: of_order.iter().map(balance).collect::<Result<_>>()?,
        currency: state.currency,
    })
}
