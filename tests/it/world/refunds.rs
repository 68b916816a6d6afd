//! Refunds in the model: of a whole order, of tickets, and of amounts.

use ticketing::order::{OrderStatus, PaymentStatus};
use ticketing::ticket::TicketStatus;

use super::model::Model;
use super::model::Outcome::{self, Done, Field, Refused};

impl Model {
    /// Gives back an amount of a payment through the gateway, which always succeeds.
    pub fn refund_by_gateway(&mut self, order: usize, amount: i64) {
        self.refunds.push((order, amount));
        let order = &mut self.orders[order];
        order.given_back += amount;
        if order.given_back == order.total {
            order.payment = Some(PaymentStatus::Refunded);
        }
    }

    /// Gives back a part of what was paid for a completed order.
    fn give_back(&mut self, order: usize, amount: i64) {
        self.orders[order].refunded += amount;
        match self.orders[order].paid_by_gateway {
            _ if amount == 0 => {}
            true => self.refund_by_gateway(order, amount),
            false => self.orders[order].manual += amount,
        }
    }

    pub fn give_back_rest(&mut self, order: usize) {
        let rest = self.orders[order].total - self.orders[order].refunded;
        self.give_back(order, rest);
    }

    /// What is left of the price of an order. Only an order that was completed has tickets.
    fn left(&self, order: usize) -> i64 {
        let completed = self.tickets.iter().any(|ticket| ticket.order == Some(order));
        if completed { self.orders[order].total - self.orders[order].refunded } else { 0 }
    }

    pub fn refund_amount(&mut self, order: usize, cents: i64) -> Outcome {
        if cents <= 0 {
            return Field("amount".to_owned(), "must be more than 0".to_owned());
        }
        if cents > self.left(order) {
            return Refused("refund-exceeds-payment");
        }
        self.give_back(order, cents);
        Done
    }

    /// Refunds a ticket of an order.
    pub fn refund_ticket(&mut self, ticket: usize, order: usize) -> Outcome {
        if self.tickets[ticket].status == TicketStatus::Cancelled {
            return Refused("ticket-cancelled");
        }
        let share = self.share(ticket, order);
        if share > self.left(order) {
            return Refused("refund-exceeds-payment");
        }
        self.tickets[ticket].status = TicketStatus::Cancelled;
        self.types[self.tickets[ticket].ticket_type].sold -= 1;
        let mut of_order = self.tickets.iter().filter(|ticket| ticket.order == Some(order));
        let is_last = of_order.all(|ticket| ticket.status == TicketStatus::Cancelled);
        if is_last && self.order_status(order) == OrderStatus::Completed {
            self.set_cancelled(order);
        }
        self.give_back(order, share);
        Done
    }

    /// What a ticket is worth: cents are dealt to the tickets of its item one after the other until none is left.
    fn share(&self, ticket: usize, order: usize) -> i64 {
        let first = self.tickets.iter().position(|found| found.order == Some(order)).expect("its own");
        let mut index = i64::try_from(ticket - first).expect("few");
        for item in &self.orders[order].items {
            if index < item.quantity {
                let amount = self.orders[order].amounts[self.item_index(order, item)];
                return (0..amount).filter(|cent| cent % item.quantity == index).count().try_into().expect("few");
            }
            index -= item.quantity;
        }
        panic!("a ticket belongs to an item")
    }

    fn item_index(&self, order: usize, item: &super::steps::Item) -> usize {
        self.orders[order].items.iter().position(|found| std::ptr::eq(found, item)).expect("an item of the order")
    }
}
