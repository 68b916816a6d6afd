//! A sale: simulated buyers with different behavior share a few connections.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Result;
use crate::client::{Client, Response};
use crate::display;
use crate::options::Options;
use crate::page_visit::{self, Form};
use crate::record::{BeforeRefusals, Record};
use crate::sale_server::{Event, SaleServer, path_of};
use crate::slow_connections::SlowConnections;

/// A sale that takes longer than this is stopped. The check at the end then fails.
const TIMEOUT: Duration = Duration::from_mins(10);

/// The delay before a refused buyer tries again.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// What a buyer does after creating an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behavior {
    Pays,
    FailsThenPays,
    /// Pays, and cancels the order after that.
    PaysThenCancels,
    /// Cancels on the checkout page.
    CancelsCheckout,
    /// Cancels the unpaid order through the API.
    CancelsOrder,
    /// Does nothing more, so that the order expires.
    Abandons,
}

#[derive(Debug, Clone, Copy)]
struct Buyer {
    number: usize,
    behavior: Behavior,
    seats: usize,
    /// When to try again, if the last order was refused, or when to send the form.
    retry_at: Option<Instant>,
}

/// A buyer in the queue, with the form that he is filling in.
type Visit = (Buyer, Option<Form>);

impl Buyer {
    /// Returns the buyer with this number. It is always the same for the same seed.
    fn new(seed: u64, number: usize) -> Self {
        let random = mix(mix(seed) ^ number as u64);
        let behavior = match random % 100 {
            0..66 => Behavior::Pays,
            66..78 => Behavior::FailsThenPays,
            78..82 => Behavior::PaysThenCancels,
            82..88 => Behavior::CancelsCheckout,
            88..92 => Behavior::CancelsOrder,
            _ => Behavior::Abandons,
        };
        Self { number, behavior, seats: 1 + (random >> 32) as usize % 2, retry_at: None }
    }
}

/// Turns consecutive numbers into random-looking ones (the finalizer of SplitMix64).
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A sale in progress.
pub(crate) struct Sale<'a> {
    event: &'a Event,
    seats: usize,
    pub(crate) started_at: Instant,
    on_pages: bool,
    queue: Mutex<VecDeque<Visit>>,
    record: Mutex<Record>,
}

/// Runs a sale next to the given number of slow connections, until every seat is sold and every buyer has ordered once.
pub(crate) fn run(server: &SaleServer, event: &Event, options: &Options, slow: usize) -> Result<Record> {
    let clients = (0..options.connections).map(|_| server.client()).collect::<Result<Vec<_>>>()?;
    let slow_connections = SlowConnections::open(server, slow)?;
    let queue = (0..options.buyers).map(|number| (Buyer::new(options.seed, number), None)).collect();
    let sale = Sale {
        event,
        seats: options.seats,
        on_pages: options.on_pages(),
        started_at: Instant::now(),
        queue: Mutex::new(queue),
        record: Mutex::default(),
    };
    let watched = std::thread::scope(|scope| {
        let sale = &sale;
        let threads: Vec<_> =
            clients.into_iter().map(|client| scope.spawn(move || sale.serve_buyers(client))).collect();
        display::watch(server, event, sale, || threads.iter().all(|thread| thread.is_finished()))
    });
    let duration = sale.started_at.elapsed();
    let slow_closed = slow_connections.close();
    watched?;
    let mut record = sale.record.into_inner().unwrap_or_else(PoisonError::into_inner);
    record.duration = duration;
    record.slow_closed = slow_closed;
    Ok(record)
}

impl Sale<'_> {
    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one buyer after another on this connection. If the connection breaks, that is recorded as an error of the
    /// server.
    fn serve_buyers(&self, mut client: Client) {
        while let Some((buyer, form)) = self.next_buyer() {
            let delay = buyer.retry_at.and_then(|at| at.checked_duration_since(Instant::now()));
            if let Some(delay) = delay {
                std::thread::sleep(delay.min(Duration::from_millis(20)));
                self.queue().push_back((buyer, form));
            } else if let Err(error) = self.visit(&mut client, buyer, form) {
                self.record().unexpected.push(error.to_string());
                return;
            }
        }
    }

    /// Returns the next buyer in the queue, or `None` when the sale is over: every seat is sold and every buyer has
    /// ordered once.
    fn next_buyer(&self) -> Option<Visit> {
        let sold_out = self.record().sold >= self.seats;
        let next = self.queue().pop_front()?;
        let over = sold_out && next.0.retry_at.is_some() || self.started_at.elapsed() > TIMEOUT;
        (!over).then_some(next)
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Visit>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Continues with a buyer: on the page of the event, or with the operations.
    fn visit(&self, client: &mut Client, buyer: Buyer, form: Option<Form>) -> Result<()> {
        match form {
            _ if !self.on_pages => self.buy(client, buyer),
            Some(form) => self.send_form(client, buyer, &form),
            None => {
                let (form, times) = page_visit::show(client, self.event, buyer.seats)?;
                self.record().pages.extend(times);
                match form {
                    Some(form) => {
                        let retry_at = Some(Instant::now() + page_visit::TIME_FOR_FORM);
                        self.queue().push_back((Buyer { retry_at, ..buyer }, Some(form)));
                    }
                    None => self.sold_out(buyer, "sold-out", None),
                }
                Ok(())
            }
        }
    }

    /// Sends the form of a buyer, and continues according to the buyer's behavior.
    fn send_form(&self, client: &mut Client, buyer: Buyer, form: &Form) -> Result<()> {
        let sent_at = Instant::now();
        let response = page_visit::send(client, self.event, form, buyer.number)?;
        let latency = sent_at.elapsed();
        if response.status == 409 {
            self.sold_out(buyer, "sold-out", Some(latency));
            return Ok(());
        }
        if response.status != 303 {
            self.record().unexpected.push(format!("a form was answered with {}", response.status));
            return Ok(());
        }
        self.record().order_created(self.started_at.elapsed(), latency);
        let checkout = path_of(&response.location);
        match buyer.behavior {
            Behavior::Abandons => Ok(()),
            Behavior::CancelsCheckout | Behavior::CancelsOrder => {
                self.finish(client, &checkout, "cancel")?;
                Ok(())
            }
            Behavior::Pays | Behavior::PaysThenCancels => self.pay_on_page(client, &checkout, buyer),
            Behavior::FailsThenPays => {
                let page = self.finish(client, &checkout, "failure")?;
                let sent_at = Instant::now();
                let again = client.submit_form(&format!("{page}/pay"), "")?;
                self.record().clicks.push(sent_at.elapsed());
                self.pay_on_page(client, &path_of(&again.location), buyer)
            }
        }
    }

    /// Pays on the checkout page, and looks at the page of the order.
    fn pay_on_page(&self, client: &mut Client, checkout: &str, buyer: Buyer) -> Result<()> {
        if !checkout.starts_with("/checkout/") {
            // The hold has expired meanwhile.
            return Ok(());
        }
        let page = self.finish(client, checkout, "success")?;
        let shown = client.get(&page)?;
        let is_paid = shown.status == 200 && shown.text().contains("class=\"qr\"");
        if !is_paid {
            self.record().too_late += 1;
            return Ok(());
        }
        let id = page_visit::order_on(client, &page)?;
        let mut record = self.record();
        record.sold += buyer.seats;
        record.paid.insert(id.clone());
        drop(record);
        if buyer.behavior == Behavior::PaysThenCancels && self.forget_paid(&id, buyer) {
            return self.cancel(client, &id);
        }
        Ok(())
    }

    /// Clicks a button of the checkout page. Returns the path to which it leads.
    fn finish(&self, client: &mut Client, checkout: &str, outcome: &str) -> Result<String> {
        let sent_at = Instant::now();
        let response = client.submit_form(checkout, &format!("outcome={outcome}"))?;
        self.record().clicks.push(sent_at.elapsed());
        if response.status != 303 {
            self.record().unexpected.push(format!("the checkout page returned {}", response.status));
        }
        Ok(path_of(&response.location))
    }

    /// Creates the order of a buyer, and continues according to the buyer's behavior.
    fn buy(&self, client: &mut Client, buyer: Buyer) -> Result<()> {
        let order = json!({
            "eventId": self.event.id,
            "customer": {"name": "Buyer", "email": format!("buyer{}@example.com", buyer.number)},
            "items": [{"ticketId": self.event.ticket_type, "quantity": buyer.seats}],
            "checkoutRedirectUrls": {
                "success": "https://shop.example/success", "failure": "https://shop.example/failure",
                "cancel": "https://shop.example/cancel",
            },
        });
        let sent_at = Instant::now();
        let response = client.post("/v1/orders", &order)?;
        let latency = sent_at.elapsed();
        if response.status != 201 {
            self.refused(&response, latency, buyer);
            return Ok(());
        }
        self.record().order_created(self.started_at.elapsed(), latency);
        let created = response.json();
        let id = created["order"]["id"].as_str().ok_or("an order has no id")?;
        let link = created["checkoutUrl"].as_str().ok_or("an order has no checkout link")?;
        let token = link.rsplit('/').next().unwrap_or_default();
        let page = format!("/checkout/{token}");
        match buyer.behavior {
            Behavior::Pays => self.pay(client, &page, id, buyer),
            Behavior::FailsThenPays => {
                self.click(client, &page, "failure")?;
                self.pay(client, &page, id, buyer)
            }
            Behavior::PaysThenCancels => {
                self.pay(client, &page, id, buyer)?;
                if self.forget_paid(id, buyer) { self.cancel(client, id) } else { Ok(()) }
            }
            Behavior::CancelsCheckout => self.click(client, &page, "cancel").map(drop),
            Behavior::CancelsOrder => self.cancel(client, id),
            Behavior::Abandons => Ok(()),
        }
    }

    /// Records a refused order. The buyer tries again later, with one seat.
    fn refused(&self, response: &Response, latency: Duration, buyer: Buyer) {
        let problem = response.json();
        let reason = problem["reason"].as_str().unwrap_or_default();
        let mut record = self.record();
        if response.status != 409 || !["sold-out", "event-not-on-sale"].contains(&reason) {
            record.unexpected.push(format!("POST /v1/orders returned {} {problem}", response.status));
            return;
        }
        drop(record);
        self.sold_out(buyer, reason, Some(latency));
    }

    /// Records that a buyer got no seats. The buyer tries again later, with one seat.
    fn sold_out(&self, buyer: Buyer, reason: &str, latency: Option<Duration>) {
        let mut record = self.record();
        record.refusals.extend(latency);
        *record.refused.entry(reason.to_owned()).or_default() += 1;
        if record.before_refusals.is_none() {
            record.before_refusals =
                Some(BeforeRefusals { duration: self.started_at.elapsed(), orders: record.orders.len() });
        }
        drop(record);
        let jitter = Duration::from_millis(mix(buyer.number as u64) % 500);
        let retry_at = Some(Instant::now() + RETRY_DELAY + jitter);
        self.queue().push_back((Buyer { seats: 1, retry_at, ..buyer }, None));
    }

    fn pay(&self, client: &mut Client, page: &str, id: &str, buyer: Buyer) -> Result<()> {
        let paid = self.click(client, page, "success")?;
        let mut record = self.record();
        if paid {
            record.sold += buyer.seats;
            record.paid.insert(id.to_owned());
        } else {
            record.too_late += 1;
        }
        Ok(())
    }

    /// Clicks a button of the checkout page. Returns whether the server redirects to the URL of that outcome.
    fn click(&self, client: &mut Client, page: &str, outcome: &str) -> Result<bool> {
        let sent_at = Instant::now();
        let response = client.submit_form(page, &format!("outcome={outcome}"))?;
        let latency = sent_at.elapsed();
        let mut record = self.record();
        record.clicks.push(latency);
        if response.status != 303 {
            record.unexpected.push(format!("the checkout page returned {} {}", response.status, response.json()));
        }
        Ok(response.location.ends_with(outcome))
    }

    /// Removes an order from the recorded paid orders. Returns whether it was one of them.
    fn forget_paid(&self, id: &str, buyer: Buyer) -> bool {
        let mut record = self.record();
        let was_paid = record.paid.remove(id);
        if was_paid {
            record.sold -= buyer.seats;
        }
        was_paid
    }

    fn cancel(&self, client: &mut Client, id: &str) -> Result<()> {
        let response = client.post_empty(&format!("/v1/orders/{id}/cancel"))?;
        if response.status != 200 {
            let error = format!("the cancellation of an order returned {} {}", response.status, response.json());
            self.record().unexpected.push(error);
        }
        Ok(())
    }
}
