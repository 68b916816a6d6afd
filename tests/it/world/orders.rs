//! Orders in the model: creation with discounts, payment, cancellation, and issued tickets.

use ticketing::event::EventStatus;
use ticketing::order::{OrderStatus, PaymentStatus};
use ticketing::ticket::TicketStatus;
use ticketing::webhook::EventType;

use super::discounts::{self, BasketItem};
use super::model::Outcome::{self, Done, Refused, Skipped};
use super::model::{HOLD, Model, Order, Ticket};
use super::steps::Item;

impl Model {
    pub fn order(&mut self, items: &[Item], code: Option<usize>) -> Outcome {
        let existing = |item: &Item| Some(Item { ticket_type: self.pick_type(item.ticket_type)?, ..*item });
        let Some(items) = items.iter().map(existing).collect::<Option<Vec<Item>>>() else {
            return Skipped;
        };
        if self.event_status() != EventStatus::Published {
            return Refused("event-not-on-sale");
        }
        if items.iter().any(|item| quantity(&items, item.ticket_type) > self.types[item.ticket_type].max_per_order) {
            return Refused("max-per-order-exceeded");
        }
        if items.iter().any(|item| quantity(&items, item.ticket_type) > self.free(item.ticket_type)) {
            return Refused("sold-out");
        }
        let basket_item = |item: &Item| {
            let subtotal = self.types[item.ticket_type].price * item.quantity;
            BasketItem { ticket_type: item.ticket_type, subtotal }
        };
        let basket: Vec<BasketItem> = items.iter().map(basket_item).collect();
        let (discount, discounted) = match code {
            Some(code) => match self.discount_of(code, &basket) {
                Ok(amount) => (Some(code), Some(amount)),
                Err(message) => return Outcome::Field("discountCode".to_owned(), message.to_owned()),
            },
            None => self.best_automatic_discount(&basket),
        };
        let total = sum(&basket) - discounted.unwrap_or(0);
        let order = self.orders.len();
        for item in &items {
            self.types[item.ticket_type].used = true;
        }
        if let Some(discount) = discount {
            self.discounts[discount].used = true;
        }
        let free = total == 0;
        let discounts = match discount.map(|discount| &self.discounts[discount]) {
            Some(discount) => discounts::item_discounts(discount.percent, discount.value, discount.only, &basket),
            None => vec![0; basket.len()],
        };
        self.orders.push(Order {
            amounts: basket.iter().zip(discounts).map(|(item, discount)| item.subtotal - discount).collect(),
            refunded: 0,
            manual: 0,
            given_back: 0,
            items,
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
            self.issue_order_tickets(order);
        }
        Done
    }

    /// Returns the amount of a discount, or the message with which it is refused.
    fn discount_of(&self, code: usize, basket: &[BasketItem]) -> Result<i64, &'static str> {
        let discount =
            self.discounts.get(code).filter(|discount| !discount.deleted).ok_or("Discount code not found")?;
        if !discount.active {
            return Err("Discount code is not active");
        }
        if discount.limit.is_some_and(|limit| self.uses(code) >= limit) {
            return Err("Discount code usage limit reached");
        }
        if discount.minimum.is_some_and(|minimum| sum(basket) < minimum) {
            return Err("Minimum purchase amount not reached");
        }
        if !basket.iter().any(|item| discount.only.is_none_or(|only| only == item.ticket_type)) {
            return Err("Discount code does not apply to these tickets");
        }
        Ok(discounts::item_discounts(discount.percent, discount.value, discount.only, basket).iter().sum())
    }

    /// Returns the automatic discount that saves most, and its amount.
    fn best_automatic_discount(&self, basket: &[BasketItem]) -> (Option<usize>, Option<i64>) {
        let mut best = (None, None);
        for (index, discount) in self.discounts.iter().enumerate() {
            let amount = if discount.automatic { self.discount_of(index, basket).unwrap_or(0) } else { 0 };
            if amount > best.1.unwrap_or(0) {
                best = (Some(index), Some(amount));
            }
        }
        best
    }

    /// Issues the tickets of a completed order. Its seats count as sold from now on.
    fn issue_order_tickets(&mut self, order: usize) {
        self.notifications.push((EventType::OrderCompleted, order));
        for item in self.orders[order].items.clone() {
            let of_order = Ticket { order: Some(order), ..Ticket::new(item.ticket_type) };
            self.add_tickets(&of_order, item.quantity);
        }
    }

    /// Adds tickets like this one, and notifies of them unless they are imported.
    pub fn add_tickets(&mut self, ticket: &Ticket, quantity: i64) {
        for _ in 0..quantity {
            if !ticket.imported {
                self.notifications.push((EventType::TicketIssued, self.tickets.len()));
            }
            self.tickets.push(ticket.clone());
        }
        self.types[ticket.ticket_type].sold += quantity;
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
                // Only a payment through the gateway goes back.
                if by_gateway && (self.event_status() == EventStatus::Expired || self.now >= self.over_at) {
                    return Refused("event-not-on-sale");
                }
                let items = &self.orders[order].items;
                if items.iter().any(|item| quantity(items, item.ticket_type) > self.free(item.ticket_type)) {
                    return Refused("sold-out");
                }
                if let Some(discount) = self.orders[order].discount
                    && self.discounts[discount].limit.is_some_and(|limit| self.uses(discount) >= limit)
                {
                    return Refused("discount-used-up");
                }
            }
            _ => return Refused("order-not-pending"),
        }
        self.orders[order].stored = OrderStatus::Completed;
        self.orders[order].paid_by_gateway = by_gateway;
        self.issue_order_tickets(order);
        Done
    }

    pub fn pay(&mut self, order: usize) -> Outcome {
        match self.orders[order].payment {
            None => return Refused("order-not-pending"),
            Some(PaymentStatus::Completed | PaymentStatus::Refunded) => return Done,
            Some(_) => {}
        }
        self.orders[order].payment = Some(PaymentStatus::Completed);
        if self.complete(order, true) != Done {
            self.refund_by_gateway(order, self.orders[order].total);
        }
        Done
    }

    pub fn cancel(&mut self, order: usize) -> Outcome {
        match self.order_status(order) {
            OrderStatus::Cancelled => return Refused("order-not-cancellable"),
            OrderStatus::Completed => {
                for ticket in self.tickets.iter_mut().filter(|ticket| ticket.order == Some(order)) {
                    if ticket.status != TicketStatus::Cancelled {
                        ticket.status = TicketStatus::Cancelled;
                        self.types[ticket.ticket_type].sold -= 1;
                    }
                }
                self.give_back_rest(order);
            }
            _ => {}
        }
        self.set_cancelled(order);
        Done
    }

    pub fn set_cancelled(&mut self, order: usize) {
        self.orders[order].stored = OrderStatus::Cancelled;
        self.notifications.push((EventType::OrderCancelled, order));
    }

    pub fn issue(&mut self, ticket_type: usize, quantity: i64) -> Outcome {
        match self.event_status() {
            EventStatus::Cancelled => Refused("event-cancelled"),
            EventStatus::Expired => Refused("event-not-on-sale"),
            _ if self.free(ticket_type) < quantity => Refused("sold-out"),
            _ => {
                self.types[ticket_type].used = true;
                self.add_tickets(&Ticket::new(ticket_type), quantity);
                Done
            }
        }
    }
}

/// Returns the quantity of a ticket type in all items.
fn quantity(items: &[Item], ticket_type: usize) -> i64 {
    items.iter().filter(|item| item.ticket_type == ticket_type).map(|item| item.quantity).sum()
}

fn sum(basket: &[BasketItem]) -> i64 {
    basket.iter().map(|item| item.subtotal).sum()
}
