//! The rush: buyers on a few connections, each with a mind of their own.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Result;
use crate::box_office::{BoxOffice, Event};
use crate::client::{Answer, Client};
use crate::options::Options;
use crate::record::Record;
use crate::{display, slow};

/// After how long a sale that is not over counts as stuck.
const PATIENCE: Duration = Duration::from_secs(600);

/// After how long a buyer who was refused tries again.
const BACK_AFTER: Duration = Duration::from_millis(500);

/// What a buyer does with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mind {
    Pays,
    FailsThenPays,
    /// Pays, and cancels the order a moment later.
    Regrets,
    /// Gives up on the checkout page.
    GivesUp,
    /// Has the organizer cancel the order before it is paid.
    CancelsUnpaid,
    /// Goes away and leaves the order to its end.
    WandersOff,
}

#[derive(Debug, Clone, Copy)]
struct Buyer {
    number: usize,
    mind: Mind,
    places: usize,
    /// Not before this instant.
    back_at: Option<Instant>,
}

impl Buyer {
    /// The buyer of this number, the same for a seed every time.
    fn new(seed: u64, number: usize) -> Self {
        let drawn = scatter(scatter(seed) ^ number as u64);
        let mind = match drawn % 100 {
            0..66 => Mind::Pays,
            66..78 => Mind::FailsThenPays,
            78..82 => Mind::Regrets,
            82..88 => Mind::GivesUp,
            88..92 => Mind::CancelsUnpaid,
            _ => Mind::WandersOff,
        };
        Self { number, mind, places: 1 + (drawn >> 32) as usize % 2, back_at: None }
    }
}

/// Spreads numbers that follow one another (the finalizer of SplitMix64).
fn scatter(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A sale that goes on.
pub(crate) struct Sale<'a> {
    event: &'a Event,
    places: usize,
    pub(crate) began: Instant,
    queue: Mutex<VecDeque<Buyer>>,
    record: Mutex<Record>,
}

/// Holds a sale beside so many slow connections, until every place is sold and every buyer has had a turn.
pub(crate) fn hold(office: &BoxOffice, event: &Event, options: &Options, slow: usize) -> Result<Record> {
    let clients = (0..options.connections).map(|_| office.client()).collect::<Result<Vec<_>>>()?;
    let crowd = slow::Crowd::gather(office, slow)?;
    let queue = (0..options.buyers).map(|number| Buyer::new(options.seed, number)).collect();
    let sale = Sale {
        event,
        places: options.places,
        began: Instant::now(),
        queue: Mutex::new(queue),
        record: Mutex::default(),
    };
    let watched = std::thread::scope(|scope| {
        let sale = &sale;
        let buyers: Vec<_> = clients.into_iter().map(|client| scope.spawn(move || sale.serve_buyers(client))).collect();
        display::watch(office, event, sale, || buyers.iter().all(|thread| thread.is_finished()))
    });
    let took = sale.began.elapsed();
    let closed = crowd.disperse();
    watched?;
    let mut record = sale.record.into_inner().unwrap_or_else(PoisonError::into_inner);
    (record.took, record.slow_closed) = (took, closed);
    Ok(record)
}

impl Sale<'_> {
    /// What has happened so far.
    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets one buyer after another use this connection. A connection that breaks is a fault of the server.
    fn serve_buyers(&self, mut client: Client) {
        while let Some(buyer) = self.next() {
            let now = Instant::now();
            if let Some(wait) = buyer.back_at.and_then(|at| at.checked_duration_since(now)) {
                std::thread::sleep(wait.min(Duration::from_millis(20)));
                self.queue().push_back(buyer);
            } else if let Err(error) = self.buy(&mut client, buyer) {
                self.record().unexpected.push(error.to_string());
                return;
            }
        }
    }

    /// Whose turn it is; nobody's once everything is sold and everybody was there.
    fn next(&self) -> Option<Buyer> {
        let sold_out = self.record().sold >= self.places;
        let mut queue = self.queue();
        let next = queue.pop_front()?;
        let over = sold_out && next.back_at.is_some() || self.began.elapsed() > PATIENCE;
        (!over).then_some(next)
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Buyer>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One buyer orders, and does what is on their mind.
    fn buy(&self, client: &mut Client, buyer: Buyer) -> Result<()> {
        let order = json!({
            "eventId": self.event.id,
            "customer": {"name": "Buyer", "email": format!("buyer{}@example.com", buyer.number)},
            "items": [{"ticketId": self.event.ticket_type, "quantity": buyer.places}],
            "checkoutRedirectUrls": {
                "success": "https://shop.example/success", "failure": "https://shop.example/failure",
                "cancel": "https://shop.example/cancel",
            },
        });
        let asked = Instant::now();
        let answer = client.post("/v1/orders", &order)?;
        let took = asked.elapsed();
        if answer.status != 201 {
            self.refused(&answer, took, buyer);
            return Ok(());
        }
        self.record().orders.push(took);
        let placed = answer.json();
        let id = placed["order"]["id"].as_str().ok_or("an order has no id")?;
        let link = placed["checkoutUrl"].as_str().ok_or("an order has no checkout link")?;
        let token = link.rsplit('/').next().unwrap_or_default();
        let page = format!("/checkout/{token}");
        match buyer.mind {
            Mind::Pays => self.pay(client, &page, id, buyer),
            Mind::FailsThenPays => {
                self.click(client, &page, "failure")?;
                self.pay(client, &page, id, buyer)
            }
            Mind::Regrets => {
                self.pay(client, &page, id, buyer)?;
                if self.take_back(id, buyer) { self.cancel(client, id) } else { Ok(()) }
            }
            Mind::GivesUp => self.click(client, &page, "cancel").map(drop),
            Mind::CancelsUnpaid => self.cancel(client, id),
            Mind::WandersOff => Ok(()),
        }
    }

    /// Notes why an order was refused. Its buyer comes back and is content with one place.
    fn refused(&self, answer: &Answer, took: Duration, buyer: Buyer) {
        let problem = answer.json();
        let reason = problem["reason"].as_str().unwrap_or_default();
        let mut record = self.record();
        if answer.status != 409 || !["sold-out", "event-not-on-sale"].contains(&reason) {
            record.unexpected.push(format!("an order was answered with {} {problem}", answer.status));
            return;
        }
        record.refusals.push(took);
        *record.refused.entry(reason.to_owned()).or_default() += 1;
        if record.rush.is_none() {
            record.rush = Some((self.began.elapsed(), record.orders.len()));
        }
        drop(record);
        let jitter = Duration::from_millis(scatter(buyer.number as u64) % 500);
        let back_at = Some(Instant::now() + BACK_AFTER + jitter);
        self.queue().push_back(Buyer { places: 1, back_at, ..buyer });
    }

    fn pay(&self, client: &mut Client, page: &str, id: &str, buyer: Buyer) -> Result<()> {
        let paid = self.click(client, page, "success")?;
        let mut record = self.record();
        if paid {
            record.sold += buyer.places;
            record.paid.insert(id.to_owned());
        } else {
            record.too_late += 1;
        }
        Ok(())
    }

    /// A click on the checkout page; whether the buyer is led to where that click wants to go.
    fn click(&self, client: &mut Client, page: &str, outcome: &str) -> Result<bool> {
        let asked = Instant::now();
        let answer = client.submit(page, &format!("outcome={outcome}"))?;
        let took = asked.elapsed();
        let mut record = self.record();
        record.clicks.push(took);
        if answer.status != 303 {
            record.unexpected.push(format!("a click was answered with {} {}", answer.status, answer.json()));
        }
        Ok(answer.location.ends_with(outcome))
    }

    /// Counts a paid order as sold no more; whether it was.
    fn take_back(&self, id: &str, buyer: Buyer) -> bool {
        let mut record = self.record();
        let paid = record.paid.remove(id);
        record.sold -= if paid { buyer.places } else { 0 };
        paid
    }

    fn cancel(&self, client: &mut Client, id: &str) -> Result<()> {
        let answer = client.act(&format!("/v1/orders/{id}/cancel"))?;
        if answer.status != 200 {
            let sentence = format!("a cancellation was answered with {} {}", answer.status, answer.json());
            self.record().unexpected.push(sentence);
        }
        Ok(())
    }
}
