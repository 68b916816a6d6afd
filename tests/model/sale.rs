//! Sales in the model: orders and their discounts, payments, cancellations, and tickets that are issued.

use ticketing::{EventStatus, NotificationType, OrderStatus, PaymentStatus, TicketStatus};

use super::prices::{self, Line};
use super::world::Outcome::{self, Done, Refused, Skipped};
use super::world::{HOLD, Order, Ticket, World};

impl World {
    pub fn order(&mut self, wanted: &[(usize, i64)], code: Option<usize>) -> Outcome {
        let Some(wanted) = wanted.iter().map(|(of, quantity)| Some((self.pick_type(*of)?, *quantity))).collect() else {
            return Skipped;
        };
        let wanted: Vec<(usize, i64)> = wanted;
        if self.event_status() != EventStatus::Published {
            return Refused("event-not-on-sale");
        }
        let number =
            |of: usize| -> i64 { wanted.iter().filter(|(line, _)| *line == of).map(|(_, number)| number).sum() };
        if wanted.iter().any(|(of, _)| number(*of) > self.types[*of].max_per_order) {
            return Refused("max-per-order-exceeded");
        }
        if wanted.iter().any(|(of, _)| number(*of) > self.free(*of)) {
            return Refused("sold-out");
        }
        let lines: Vec<Line> = wanted.iter().map(|(of, quantity)| (*of, self.types[*of].price * quantity)).collect();
        let full: i64 = lines.iter().map(|(_, subtotal)| subtotal).sum();
        let (discount, discounted) = match code {
            Some(code) => match self.judge(code, &lines) {
                Ok(off) => (Some(code), Some(off)),
                Err(message) => return Outcome::Field("discountCode".to_owned(), message.to_owned()),
            },
            None => self.best(&lines),
        };
        let total = full - discounted.unwrap_or(0);
        let order = self.orders.len();
        for (of, _) in &wanted {
            self.types[*of].used = true;
        }
        if let Some(discount) = discount {
            self.discounts[discount].used = true;
        }
        let free = total == 0;
        self.orders.push(Order {
            lines: wanted,
            total,
            discounted,
            discount,
            stored: if free { OrderStatus::Completed } else { OrderStatus::Pending },
            hold_until: self.now + HOLD,
            payment: (!free).then_some(PaymentStatus::Waiting),
            paid_by_gateway: false,
            reminded: false,
        });
        if free {
            self.hand_out(order);
        }
        Done
    }

    /// What a discount takes off, or why it does not apply. There may be none.
    fn judge(&self, code: usize, lines: &[Line]) -> Result<i64, &'static str> {
        let discount =
            self.discounts.get(code).filter(|discount| !discount.deleted).ok_or("Discount code not found")?;
        if !discount.active {
            return Err("Discount code is not active");
        }
        if discount.limit.is_some_and(|limit| self.uses(code) >= limit) {
            return Err("Discount code usage limit reached");
        }
        let full: i64 = lines.iter().map(|(_, subtotal)| subtotal).sum();
        if discount.minimum.is_some_and(|minimum| full < minimum) {
            return Err("Minimum purchase amount not reached");
        }
        if !lines.iter().any(|(of, _)| discount.only.is_none_or(|only| only == *of)) {
            return Err("Discount code does not apply to these tickets");
        }
        Ok(prices::off(discount.percent, discount.value, discount.only, lines).iter().sum())
    }

    fn best(&self, lines: &[Line]) -> (Option<usize>, Option<i64>) {
        let mut best = (None, None);
        for (index, discount) in self.discounts.iter().enumerate() {
            let off = if discount.automatic { self.judge(index, lines).unwrap_or(0) } else { 0 };
            if off > best.1.unwrap_or(0) {
                best = (Some(index), Some(off));
            }
        }
        best
    }

    /// Issues the tickets of an order, whose places count as sold from now on.
    fn hand_out(&mut self, order: usize) {
        self.news.push((NotificationType::OrderCompleted, order));
        for (of, quantity) in self.orders[order].lines.clone() {
            self.add_tickets(of, quantity, Some(order));
        }
    }

    fn add_tickets(&mut self, of: usize, quantity: i64, order: Option<usize>) {
        let status = TicketStatus::NotCheckedIn;
        let ticket = Ticket { of, order, status, scans: 0, entered: None, expires: None, scanned_first: false };
        for _ in 0..quantity {
            self.news.push((NotificationType::TicketIssued, self.tickets.len()));
            self.tickets.push(ticket.clone());
        }
        self.types[of].sold += quantity;
        if self.unsold() == 0 && self.event_status() == EventStatus::Published {
            self.status = EventStatus::SoldOut;
        }
    }

    pub fn complete(&mut self, order: usize, by_gateway: bool) -> Outcome {
        match self.order_status(order) {
            OrderStatus::Pending => {}
            OrderStatus::Expired => {
                if self.status == EventStatus::Cancelled {
                    return Refused("event-cancelled");
                }
                let lines = &self.orders[order].lines;
                let number = |of: usize| -> i64 { lines.iter().filter(|line| line.0 == of).map(|line| line.1).sum() };
                if lines.iter().any(|(of, _)| number(*of) > self.free(*of)) {
                    return Refused("sold-out");
                }
                if let Some(discount) = self.orders[order].discount
                    && self.discounts[discount].limit.is_some_and(|limit| self.uses(discount) >= limit)
                {
                    return Refused("discount-used-up");
                }
            }
            OrderStatus::Completed | OrderStatus::Cancelled => return Refused("order-not-pending"),
        }
        self.orders[order].stored = OrderStatus::Completed;
        self.orders[order].paid_by_gateway = by_gateway;
        self.hand_out(order);
        Done
    }

    pub fn pay(&mut self, order: usize) -> Outcome {
        match self.orders[order].payment {
            None => return Refused("order-not-pending"),
            Some(PaymentStatus::Completed | PaymentStatus::Refunded) => return Done,
            Some(PaymentStatus::Waiting | PaymentStatus::Failed) => {}
        }
        self.orders[order].payment = Some(PaymentStatus::Completed);
        if self.complete(order, true) != Done {
            self.refund(order);
        }
        Done
    }

    fn refund(&mut self, order: usize) {
        self.orders[order].payment = Some(PaymentStatus::Refunded);
        self.refunds.push((order, self.orders[order].total));
    }

    pub fn cancel(&mut self, order: usize) -> Outcome {
        match self.order_status(order) {
            OrderStatus::Cancelled => return Refused("order-not-cancellable"),
            OrderStatus::Completed => {
                for ticket in self.tickets.iter_mut().filter(|ticket| ticket.order == Some(order)) {
                    if ticket.status != TicketStatus::Cancelled {
                        ticket.status = TicketStatus::Cancelled;
                        self.types[ticket.of].sold -= 1;
                    }
                }
                if self.orders[order].paid_by_gateway {
                    self.refund(order);
                }
            }
            OrderStatus::Pending | OrderStatus::Expired => {}
        }
        self.cancelled(order);
        Done
    }

    pub fn cancelled(&mut self, order: usize) {
        self.orders[order].stored = OrderStatus::Cancelled;
        self.news.push((NotificationType::OrderCancelled, order));
    }

    pub fn issue(&mut self, of: usize, quantity: i64) -> Outcome {
        match self.event_status() {
            EventStatus::Cancelled => Refused("event-cancelled"),
            EventStatus::Expired => Refused("event-not-on-sale"),
            _ if self.free(of) < quantity => Refused("sold-out"),
            _ => {
                self.types[of].used = true;
                self.add_tickets(of, quantity, None);
                Done
            }
        }
    }
}
