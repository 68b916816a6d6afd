//! A fake of Stripe: a server on a loopback address that does what Stripe's documentation says of Checkout Sessions,
//! refunds, disputes, idempotency keys and signed events.
//!
//! It was written from the documentation and from the generated types of Stripe's own Python package, and not from the
//! gateway that it tests. Parameters that it does not model are refused. A test moves its clock, plays the customer,
//! sets faults, and decides when and how often each event is delivered.

mod answers;
mod api;
mod balance;
mod currencies;
mod disputes;
mod events;
mod faults;
mod form;
mod idempotency;
mod page;
mod payments;
mod refunds;
mod request;
mod server;
mod sessions;
mod state;

pub use events::{Endpoint, Notice, signature};
pub use faults::Fault;
pub use payments::{DELAYED_METHODS, NotPayable};
pub use request::{RecordedRequest, Request};

use std::fs::File;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use ticketing::environment::Clock;

use self::faults::Rule;
use self::state::State;

/// The signing secret of the endpoint, unless a test sets others.
pub const WEBHOOK_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A file to which each request is appended as a line of JSON, so that Stripe's own types can judge it.
const RECORD: &str = "TICKETING_STRIPE_REQUESTS";

struct Shared {
    state: Mutex<State>,
    /// Notified when there is a new request or event.
    changed: Condvar,
    is_stopped: AtomicBool,
    record: Option<Mutex<File>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the events are delivered. Checkout redirects the customer when the endpoint has answered, or after
    /// 10 seconds: <https://docs.stripe.com/checkout/fulfillment>.
    fn wait_for_delivery(&self) {
        let is_waiting = |state: &mut State| state.is_automatic && state.undelivered.len() + state.in_delivery > 0;
        let waited = self.changed.wait_timeout_while(self.lock(), Duration::from_secs(10), is_waiting);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn record(&self, index: usize) {
        let Some(file) = &self.record else { return };
        let line = format!("{}\n", self.lock().requests[index].to_json());
        file.lock().expect("the record").write_all(line.as_bytes()).expect("a recorded request");
    }
}

/// A running fake. It stops when it is dropped.
pub struct FakeStripe {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl FakeStripe {
    /// Starts a fake on a free port, with its own clock.
    pub fn start(clock: impl Clock + 'static) -> Self {
        Self::listen("127.0.0.1:0", clock)
    }

    /// Starts a fake on this address.
    pub fn listen(address: &str, clock: impl Clock + 'static) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("an address");
        // Wrong requests are sent to the fake on purpose, and the random worlds send very many.
        let thread = std::thread::current();
        let is_recorded = |prefix: &&str| thread.name().is_some_and(|name| name.starts_with(*prefix));
        let is_judged = ["gateways::", "stripe::"].iter().any(is_recorded) && !is_recorded(&"stripe::fake::");
        let open = |path| File::options().create(true).append(true).open(path).expect("the record of requests");
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(Arc::new(clock), format!("http://{address}"))),
            changed: Condvar::new(),
            is_stopped: AtomicBool::new(false),
            record: std::env::var_os(RECORD).filter(|_| is_judged).map(|path| Mutex::new(open(path))),
        });
        let thread = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || server::accept(&listener, &shared)
        });
        Self { address, shared, threads: vec![thread] }
    }

    /// The base URL of the API, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn secret_key(&self) -> String {
        self.shared.lock().secret_key.clone()
    }

    // Settings.

    /// Sets the endpoint, with [`WEBHOOK_SECRET`] and all types of events.
    pub fn set_endpoint(&self, url: &str) {
        self.set_endpoint_with(url, &[WEBHOOK_SECRET], &["*"]);
    }

    /// Sets the endpoint, its signing secrets and the types of events that it wants.
    pub fn set_endpoint_with(&self, url: &str, secrets: &[&str], enabled_events: &[&str]) {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let (url, secrets, enabled_events) = (url.to_owned(), texts(secrets), texts(enabled_events));
        self.shared.lock().endpoint = Some(Endpoint { url, secrets, enabled_events, is_connect: false });
    }

    /// Makes the endpoint one for the events of connected accounts.
    pub fn listen_to_connected_accounts(&self) {
        self.shared.lock().endpoint.as_mut().expect("an endpoint").is_connect = true;
    }

    /// Accepts amounts below Stripe's minimum.
    pub fn accept_small_amounts(&self) {
        self.shared.lock().has_minimums = false;
    }

    /// Makes new refunds pending, as with some payment methods.
    pub fn delay_refunds(&self) {
        self.shared.lock().refund_status = "pending";
    }

    /// Makes new refunds wait for the customer, who has to say where the money goes.
    pub fn ask_customers_about_refunds(&self) {
        self.shared.lock().refund_status = "requires_action";
    }

    /// Makes new refunds at once, as with cards.
    pub fn make_refunds_at_once(&self) {
        self.shared.lock().refund_status = "succeeded";
    }

    /// Refunds the part of a payment that is not disputed.
    pub fn refund_undisputed_rest(&self) {
        self.shared.lock().refunds_undisputed_rest = true;
    }

    /// Takes the permission to make refunds from the key, or gives it back.
    pub fn permit_refunds(&self, may_refund: bool) {
        self.shared.lock().may_refund = may_refund;
    }

    /// Takes the permission to read balance transactions from the key, or gives it back.
    pub fn permit_balance(&self, may_read: bool) {
        self.shared.lock().may_read_balance = may_read;
    }

    /// Answers so many requests for the same path in a second of real time, and 429 to further ones.
    pub fn limit_per_second(&self, requests: usize) {
        self.shared.lock().per_second = Some(requests);
    }

    /// Keeps the balances of all accounts in this currency from now on, such as `usd`.
    pub fn keep_balances_in(&self, currency: &str) {
        self.shared.lock().balance_currency = Some(currency.to_owned());
    }

    /// A connected account revokes the access: 403 for all requests on its behalf.
    pub fn disconnect(&self, account: &str) {
        self.shared.lock().disconnected.insert(account.to_owned());
    }

    /// Sends the header `Date`, which is so many seconds ahead of the clock of this machine.
    pub fn send_date(&self, seconds_ahead: i64) {
        self.shared.lock().date_ahead = Some(seconds_ahead);
    }

    /// Takes real money from now on, with another secret key.
    pub fn go_live(&self) {
        let mut state = self.shared.lock();
        state.is_live = true;
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc".clone_into(&mut state.secret_key);
    }

    /// Makes a session one of live mode.
    pub fn make_live(&self, session: &str) {
        self.act(|state| state.change(session, &json!({ "livemode": true })));
    }

    /// Sets fields of an object, as no customer and no organizer can.
    pub fn change(&self, id: &str, fields: &Value) {
        self.act(|state| state.change(id, fields));
    }

    /// Makes an object one that no request finds, as if it had never been.
    pub fn forget(&self, id: &str) {
        self.change(id, &json!({ "object": "forgotten" }));
    }

    /// Gives the next `count` requests with this method and beginning of the path a fault.
    pub fn fail(&self, method: &str, path: &str, fault: Fault, count: usize) {
        let rule = Rule { method: method.to_owned(), path: path.to_owned(), fault, remaining: count };
        self.shared.lock().rules.push(rule);
    }

    /// Ends all faults.
    pub fn repair(&self) {
        self.shared.lock().rules.clear();
    }

    // What happened.

    /// The requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.lock().requests.clone()
    }

    /// The requests so far with this method, whose path begins like this.
    pub fn requests_to(&self, method: &str, path: &str) -> Vec<RecordedRequest> {
        let mut requests = self.requests();
        requests.retain(|recorded| recorded.request.method == method && recorded.request.path.starts_with(path));
        requests
    }

    /// Returns an object as the API would.
    pub fn get(&self, id: &str) -> Value {
        self.shared.lock().get(id).value.clone()
    }

    /// The objects of a type, such as `checkout.session` or `refund`, the oldest first.
    pub fn all(&self, object: &str) -> Vec<Value> {
        let mut state = self.shared.lock();
        sessions::expire_due(&mut state);
        state.all(object).cloned().collect()
    }

    /// How many objects of a type were created.
    pub fn created(&self, object: &str) -> usize {
        self.shared.lock().places_of(object).len()
    }

    /// The ids of the sessions with this reference, the oldest first.
    pub fn sessions_of(&self, reference: &str) -> Vec<String> {
        let mut state = self.shared.lock();
        sessions::expire_due(&mut state);
        let sessions = state.all("checkout.session").filter(|session| session["client_reference_id"] == *reference);
        sessions.map(|session| session["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// The connected account that has an object. `None` for the key's own account.
    pub fn account_of(&self, id: &str) -> Option<String> {
        self.shared.lock().get(id).account.clone()
    }

    /// Whether somebody can open the page of this session now and pay.
    pub fn is_payable(&self, session: &str) -> bool {
        let mut state = self.shared.lock();
        sessions::expire_due(&mut state);
        state.text(session, "status") == "open" && state.get(session).hidden["unheard"].is_null()
    }

    // The customer, the organizer in Stripe's dashboard, and the bank.

    /// A program creates a session over this amount and attaches these metadata to it and to its payment, and the
    /// customer pays with a card. Nothing is sent. Returns the ids of the session and of the PaymentIntent.
    pub fn sell(
        &self,
        account: Option<&str>,
        amount: i64,
        currency: &str,
        metadata: &[(&str, &str)],
    ) -> (String, String) {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("mode", "payment");
        form.append_pair("success_url", "https://shop.example/thanks");
        for prefix in ["metadata", "payment_intent_data[metadata]"] {
            for (name, value) in metadata {
                form.append_pair(&format!("{prefix}[{name}]"), value);
            }
        }
        form.append_pair("line_items[0][quantity]", "1");
        form.append_pair("line_items[0][price_data][currency]", currency);
        form.append_pair("line_items[0][price_data][unit_amount]", &amount.to_string());
        form.append_pair("line_items[0][price_data][product_data][name]", "Seat");
        let params = form::decode(form.finish().as_bytes()).expect("a form");
        self.act(|state| {
            let session = sessions::create(state, account, &form::Reader::new(&params)).expect("a session");
            let id = session["id"].as_str().expect("an id").to_owned();
            let intent = payments::pay(state, &id).expect("a payment");
            (id, intent)
        })
    }

    /// The customer pays with a card. Returns the id of the PaymentIntent.
    pub fn pay(&self, session: &str) -> Result<String, NotPayable> {
        self.act(|state| payments::pay(state, session))
    }

    /// A session has another total than it was created with, as with a coupon that somebody sets in the dashboard.
    pub fn change_total(&self, session: &str, amount: i64) {
        self.act(|state| state.change(session, &json!({ "amount_total": amount })));
    }

    /// A session is over an amount in another currency than it was created with.
    pub fn change_currency(&self, session: &str, currency: &str) {
        self.act(|state| state.change(session, &json!({ "currency": currency })));
    }

    /// Somebody at Stripe removes a refund without a trace, as if it had never been made.
    pub fn remove_refund(&self, refund: &str) {
        self.act(|state| refunds::remove(state, refund));
    }

    /// The customer's card is declined.
    pub fn decline(&self, session: &str) -> Result<String, NotPayable> {
        self.act(|state| payments::decline(state, session))
    }

    /// The customer chooses a payment method whose outcome comes later.
    pub fn pay_later(&self, session: &str, method: &str) -> Result<String, NotPayable> {
        self.act(|state| payments::pay_later(state, session, method))
    }

    /// The outcome of a delayed payment.
    pub fn settle_later(&self, session: &str, is_paid: bool) {
        self.act(|state| payments::settle_later(state, session, is_paid));
    }

    /// Somebody expires an open session in the dashboard.
    pub fn expire(&self, session: &str) {
        self.act(|state| sessions::expire(state, session).expect("an open session"));
    }

    /// Somebody refunds a payment in the dashboard: this amount, or what is left.
    pub fn refund_outside(&self, intent: &str, amount: Option<i64>) -> Value {
        self.act(|state| {
            let charge = state.text(intent, "latest_charge");
            refunds::refund(state, &charge, amount, json!({}), None).expect("a refund")
        })
    }

    /// Somebody refunds this amount of each of these payments in the dashboard, so many times.
    pub fn refund_often(&self, intents: &[String], amount: i64, times: usize) {
        self.act(|state| {
            for intent in intents.iter().flat_map(|intent| std::iter::repeat_n(intent, times)) {
                let charge = state.text(intent, "latest_charge");
                refunds::refund(state, &charge, Some(amount), json!({}), None).expect("a refund");
            }
        });
    }

    /// A refund fails after it was accepted.
    pub fn fail_refund(&self, refund: &str) {
        self.act(|state| refunds::fail(state, refund, "expired_or_canceled_card"));
    }

    /// A refund that is pending is canceled.
    pub fn cancel_refund(&self, refund: &str) {
        self.act(|state| refunds::cancel(state, refund));
    }

    /// The money of a refund has arrived.
    pub fn succeed_refund(&self, refund: &str) {
        self.act(|state| refunds::succeed(state, refund));
    }

    /// The cardholder disputes a payment. Returns the id of the dispute.
    pub fn dispute(&self, intent: &str) -> String {
        self.act(|state| disputes::open(state, intent, None))
    }

    /// The cardholder disputes a part of a payment. Returns the id of the dispute.
    pub fn dispute_part(&self, intent: &str, amount: i64) -> String {
        self.act(|state| disputes::open(state, intent, Some(amount)))
    }

    /// The bank asks questions about a payment, and takes no money. Returns the id of the dispute.
    pub fn inquire(&self, intent: &str) -> String {
        self.act(|state| disputes::inquire(state, intent))
    }

    /// An inquiry becomes a dispute that takes the money.
    pub fn escalate(&self, dispute: &str) {
        self.act(|state| disputes::escalate(state, dispute));
    }

    /// The bank lowers the amount of a dispute.
    pub fn change_dispute(&self, dispute: &str, amount: i64) {
        self.act(|state| disputes::change(state, dispute, amount));
    }

    pub fn close_dispute(&self, dispute: &str, is_won: bool) {
        self.act(|state| {
            let returned = if is_won { state.number(dispute, "amount") } else { 0 };
            disputes::close(state, dispute, is_won, returned);
        });
    }

    /// The organizer loses a dispute, and gets this part of the amount back.
    pub fn lose_dispute_in_part(&self, dispute: &str, returned: i64) {
        self.act(|state| disputes::close(state, dispute, false, returned));
    }

    fn act<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.shared.lock();
        sessions::expire_due(&mut state);
        let result = act(&mut state);
        drop(state);
        self.shared.changed.notify_all();
        result
    }

    // Events.

    /// Takes the events that are not delivered yet, the oldest first.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.act(|state| state.undelivered.drain(..).collect())
    }

    /// The same event as a destination for thin events gets it:
    /// <https://docs.stripe.com/event-destinations#thin-events>.
    pub fn thin(&self, notice: &Notice) -> Notice {
        let event: Value = serde_json::from_str(&notice.body).expect("JSON");
        let object = &event["data"]["object"];
        let text = |field: &str| object[field].as_str().expect(field);
        let collection = match text("object") {
            "checkout.session" => "checkout/sessions".to_owned(),
            object => format!("{object}s"),
        };
        Notice::new(&json!({
            "id": event["id"],
            "object": "v2.core.event",
            "type": format!("v1.{}", notice.kind),
            "livemode": event["livemode"],
            "created": "2026-06-01T12:00:00.000Z",
            "context": event["account"],
            "reason": null,
            "related_object": {
                "id": text("id"), "type": text("object"), "url": format!("/v1/{collection}/{}", text("id")),
            },
        }))
    }

    /// Signs a notice at the time of the fake's clock, with the secrets of the endpoint.
    pub fn sign(&self, notice: &Notice) -> String {
        let state = self.shared.lock();
        let secrets = state.endpoint.as_ref().map_or_else(|| vec![WEBHOOK_SECRET.to_owned()], |to| to.secrets.clone());
        signature(&secrets, state.now_seconds(), &notice.body)
    }

    /// Delivers a notice to the endpoint. Returns the status of the response.
    pub fn deliver(&self, notice: &Notice) -> u16 {
        self.deliver_with(notice, &self.sign(notice))
    }

    /// Delivers a notice with this signature.
    pub fn deliver_with(&self, notice: &Notice, signature: &str) -> u16 {
        let url = self.shared.lock().endpoint.as_ref().expect("an endpoint").url.clone();
        events::post(&url, signature, &notice.body).expect("a response")
    }

    /// Delivers events from now on as soon as they happen, again and again until they are accepted.
    pub fn deliver_automatically(&mut self) {
        self.shared.lock().is_automatic = true;
        let shared = Arc::clone(&self.shared);
        self.threads.push(std::thread::spawn(move || deliver_until_stopped(&shared)));
    }
}

fn deliver_until_stopped(shared: &Shared) {
    while !shared.is_stopped.load(Ordering::SeqCst) {
        let (notice, endpoint, seconds) = {
            let mut state = shared.lock();
            let next = state.undelivered.pop_front();
            let Some((notice, endpoint)) = next.zip(state.endpoint.clone()) else {
                let pause = Duration::from_millis(50);
                drop(shared.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner));
                continue;
            };
            state.in_delivery += 1;
            (notice, endpoint, state.now_seconds())
        };
        let signature = signature(&endpoint.secrets, seconds, &notice.body);
        let is_accepted = events::post(&endpoint.url, &signature, &notice.body).is_ok_and(|it| it / 100 == 2);
        let mut state = shared.lock();
        state.in_delivery -= 1;
        if !is_accepted {
            state.undelivered.push_back(notice);
            drop(state);
            std::thread::sleep(Duration::from_millis(200));
        }
        shared.changed.notify_all();
    }
}

impl Drop for FakeStripe {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
        let _ = TcpStream::connect(self.address);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
