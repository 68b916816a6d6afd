//! What mails cost: a sale with and without them, how soon a mail is accepted, and how fast mails are sent beside a loop that
//! sends messages which are rendered already over the same transport.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ticketing::Amount;
use ticketing::documents::TicketDocuments;
use ticketing::mail::{MailError, MailOptions, MailReceipt, MailTransport, OutgoingMail, SmtpTransport};
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::ticket_type::CreateTicketType;

use crate::large_store::{LargeStore, TICKETS};
use crate::orders::{create_order, request, spread};
use crate::ratio::{Bench, median};

const FROM: &str = "tickets@example.com";

/// How many mails a round sends.
const MAILS: u64 = 200;

/// How many mails a service sends for one organization at the same time.
const AT_A_TIME: u64 = 3;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Accepts each mail at once, and keeps when, and its size.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<(String, Instant)>>>);

impl MailTransport for Sink {
    fn send(&self, mail: &OutgoingMail) -> Result<MailReceipt, MailError> {
        self.0.lock().expect("no panic").push((mail.to.clone(), Instant::now()));
        Ok(MailReceipt::new("250 ok"))
    }
}

/// A relay on this machine that accepts everything.
fn relay() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || serve(stream));
        }
    });
    format!("smtp://localhost:{port}")
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream.try_clone()?);
    stream.write_all(b"220 sink\r\n")?;
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if !line.starts_with(b"DATA") {
            stream.write_all(b"250 ok\r\n")?;
            continue;
        }
        stream.write_all(b"354 go ahead\r\n")?;
        while line != b".\r\n" {
            line.clear();
            if lines.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
        }
        stream.write_all(b"250 ok\r\n")?;
    }
}

fn options(transport: impl MailTransport) -> MailOptions {
    MailOptions::new(transport, FROM).per_address_and_hour(u32::MAX).per_organization_and_hour(u32::MAX)
}

fn with_mails(options: MailOptions) -> LargeStore {
    LargeStore::configured(TICKETS, |builder| {
        builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default()).mail(options)
    })
}

pub fn bench(bench: &mut Bench) {
    let sale = "create_order with mail, 1 caller";
    let sales = "create_order with mail, 64 callers";
    let paid = "payment_completed with mail, 1 caller";
    if [sale, sales, paid].iter().any(|name| bench.includes(name)) {
        // As a program runs: 20 mails a second are rendered and sent meanwhile.
        let ours = with_mails(options(Sink::default()));
        let without = LargeStore::open();
        let names = ("with", "without");
        if bench.includes(sales) {
            let all = |store: &LargeStore, count| spread(64, count, |_| create_order(store));
            bench.compare_as(sales, names, 64 * 80, |count| all(&ours, count), |count| all(&without, count));
        }
        if bench.includes(sale) {
            let all = |store: &LargeStore, count| (0..count).for_each(|_| create_order(store));
            bench.compare_as(sale, names, 400, |count| all(&ours, count), |count| all(&without, count));
        }
        if bench.includes(paid) {
            let (ours, without) = (Payments::new(&ours), Payments::new(&without));
            bench.compare_times(paid, names, 200, |count| ours.time(count), |count| without.time(count));
        }
    }
    let soon = "mail, from the payment until the relay has accepted it";
    if bench.includes(soon) {
        until_accepted(bench, soon);
    }
    let sending = "mails over SMTP";
    if bench.includes(sending) {
        send(bench, sending);
    }
}

/// Payments of orders that are created before.
struct Payments<'s> {
    store: &'s LargeStore,
    seat: ticketing::id::TicketTypeId,
}

impl<'s> Payments<'s> {
    fn new(store: &'s LargeStore) -> Self {
        let seat = CreateTicketType::new("Seat", Amount::cents(1250), 1_000_000);
        let (service, caller) = (&store.fixture.service, &store.fixture.caller);
        Self { store, seat: service.create_ticket_type(caller, store.event, seat).expect("a type").id }
    }

    fn time(&self, count: u64) -> Duration {
        let (service, caller) = (&self.store.fixture.service, &self.store.fixture.caller);
        let order = |_| {
            let mut order = request(self.store);
            order.items[0].ticket_type_id = self.seat;
            service.create_order(caller, order).expect("an order").order.id
        };
        let orders: Vec<_> = (0..count).map(order).collect();
        let start = Instant::now();
        for order in orders {
            service.payment_completed(caller, order).expect("paid");
        }
        start.elapsed()
    }
}

/// A sale each 100 ms, as far as the 20 mails a second allow.
fn until_accepted(bench: &mut Bench, name: &str) {
    let sink = Sink::default();
    let store = with_mails(options(sink.clone()));
    let payments = Payments::new(&store);
    let (service, caller) = (&store.fixture.service, &store.fixture.caller);
    let mut paid = Vec::new();
    for number in 0..200 {
        let to = format!("buyer{number}@example.com");
        let order = CreateOrder::new(store.event, NewCustomer::new("Ada", &to), payments.seat, 2);
        let order = service.create_order(caller, order).expect("an order").order.id;
        service.payment_completed(caller, order).expect("paid");
        paid.push((to, Instant::now()));
        std::thread::sleep(Duration::from_millis(100));
    }
    let end = Instant::now() + Duration::from_secs(30);
    while sink.0.lock().expect("no panic").len() < paid.len() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let accepted = sink.0.lock().expect("no panic").clone();
    let mut seconds: Vec<f64> = paid
        .iter()
        .map(|(to, at)| {
            let (_, accepted) = accepted.iter().find(|(accepted, _)| accepted == to).expect("accepted");
            accepted.saturating_duration_since(*at).as_secs_f64()
        })
        .collect();
    let p50 = median(&mut seconds);
    bench.report(format!("{name}: p50 {p50:.3} s, p95 {:.3} s", seconds[seconds.len() * 95 / 100]));
}

/// Compares the mails of free orders with a loop over the messages of such mails, and prints how much memory has grown.
fn send(bench: &mut Bench, name: &str) {
    let url = relay();
    let transport = SmtpTransport::builder(url).build().expect("a URL");
    let store = with_mails(options(transport.clone()).threads(false).per_second(u32::MAX));
    let message = message_of_a_sale();
    let ours = |count: u64| {
        for _ in 0..count {
            let to = format!("reader{}@example.com", NEXT.fetch_add(1, Ordering::Relaxed));
            let order = CreateOrder::new(store.event, NewCustomer::new("Ada Lovelace", to), store.ticket_type, 2);
            store.fixture.service.create_order(&store.fixture.caller, order).expect("created");
        }
        let start = Instant::now();
        store.fixture.service.deliver_due_mails().expect("the database");
        start.elapsed()
    };
    let by_hand = |count: u64| {
        let start = Instant::now();
        spread(AT_A_TIME, count, |_| drop(transport.send(&message).expect("accepted")));
        start.elapsed()
    };
    let before = resident_bytes();
    bench.compare_times(name, ("ours", "rendered already"), MAILS, ours, by_hand);
    let grown = resident_bytes().saturating_sub(before) / 1024;
    bench.report(format!("{name}: memory has grown by {grown} KiB over all rounds"));
}

/// A mail with two tickets, as the service renders it.
fn message_of_a_sale() -> OutgoingMail {
    #[derive(Clone, Default)]
    struct Keep(Arc<Mutex<Option<OutgoingMail>>>);
    impl MailTransport for Keep {
        fn send(&self, mail: &OutgoingMail) -> Result<MailReceipt, MailError> {
            *self.0.lock().expect("no panic") = Some(mail.clone());
            Ok(MailReceipt::default())
        }
    }
    let keep = Keep::default();
    let store = with_mails(options(keep.clone()).threads(false));
    create_order(&store);
    store.fixture.service.deliver_due_mails().expect("the database");
    let kept = keep.0.lock().expect("no panic").take();
    kept.expect("a mail")
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0);
    pages * 4096
}
