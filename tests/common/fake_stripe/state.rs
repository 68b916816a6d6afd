//! What the fake knows: objects, events, idempotency keys, faults and requests.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use ticketing::environment::Clock;

use super::events::{Endpoint, Notice};
use super::faults::Rule;
use super::idempotency::StoredKey;
use super::request::RecordedRequest;

/// The version of the API whose objects the fake returns.
pub const API_VERSION: &str = "2026-10-28.endive";

/// An object of the API.
pub struct Stored {
    /// The connected account that it belongs to, or `None` for the key's own account.
    pub account: Option<String>,
    /// The object as the API returns it.
    pub value: Value,
    /// What the API does not return.
    pub hidden: Value,
}

impl Stored {
    pub fn id(&self) -> String {
        self.value["id"].as_str().expect("an id").to_owned()
    }
}

pub struct State {
    pub clock: Arc<dyn Clock>,
    /// Its URL, without a trailing slash.
    pub base: String,
    pub secret_key: String,
    /// Whether new objects are of live mode.
    pub is_live: bool,
    /// Whether it refuses amounts below Stripe's minimum.
    pub has_minimums: bool,
    /// The connected accounts that have revoked the access.
    pub disconnected: HashSet<String>,
    /// How many requests for the same operation it answers in a second. All further ones get 429.
    pub per_second: Option<usize>,
    /// The operations that were answered within the last second.
    pub answered: Vec<(Instant, String)>,
    /// How far its header `Date` is ahead of the clock of this machine, in seconds. Without a value, there is no
    /// header.
    pub date_ahead: Option<i64>,
    /// The currency of the balances of all accounts. `None` if they have one for each currency.
    pub balance_currency: Option<String>,
    /// The status of new refunds.
    pub refund_status: &'static str,
    /// Whether the part of a payment that is not disputed can be refunded. Otherwise, nothing of it can.
    pub refunds_undisputed_rest: bool,
    /// Whether the key may make refunds.
    pub may_refund: bool,
    /// Whether the key may read balance transactions.
    pub may_read_balance: bool,
    pub endpoint: Option<Endpoint>,
    /// The events that are not delivered yet.
    pub undelivered: VecDeque<Notice>,
    /// Whether events are delivered as soon as they happen.
    pub is_automatic: bool,
    /// The number of events that are being delivered.
    pub in_delivery: usize,
    pub rules: Vec<Rule>,
    pub keys: HashMap<(Option<String>, String), StoredKey>,
    pub requests: Vec<RecordedRequest>,
    objects: Vec<Stored>,
    index: HashMap<String, usize>,
    /// The places of the objects of each type.
    of_type: HashMap<String, Vec<usize>>,
    /// The places of the sessions that were open when [`State::due_sessions`] looked last.
    open_sessions: Vec<usize>,
    ids: u64,
}

impl State {
    pub fn new(clock: Arc<dyn Clock>, base: String) -> Self {
        Self {
            clock,
            base,
            secret_key: "sk_test_4eC39HqLyjWDarjtT1zdp7dc".to_owned(),
            is_live: false,
            has_minimums: true,
            disconnected: HashSet::new(),
            per_second: None,
            answered: Vec::new(),
            date_ahead: None,
            balance_currency: None,
            refund_status: "succeeded",
            refunds_undisputed_rest: false,
            may_refund: true,
            may_read_balance: true,
            endpoint: None,
            undelivered: VecDeque::new(),
            is_automatic: false,
            in_delivery: 0,
            rules: Vec::new(),
            keys: HashMap::new(),
            requests: Vec::new(),
            objects: Vec::new(),
            index: HashMap::new(),
            of_type: HashMap::new(),
            open_sessions: Vec::new(),
            ids: 0,
        }
    }

    /// Whether there were too many requests for an operation within the last second of this machine's clock. Otherwise
    /// this one counts.
    #[expect(clippy::disallowed_methods, reason = "the requests come in real time")]
    pub fn is_too_fast(&mut self, operation: &str) -> bool {
        let Some(most) = self.per_second else { return false };
        let now = Instant::now();
        self.answered.retain(|(at, _)| now.duration_since(*at) < Duration::from_secs(1));
        let is_too_fast = self.answered.iter().filter(|(_, other)| other == operation).count() >= most;
        if !is_too_fast {
            self.answered.push((now, operation.to_owned()));
        }
        is_too_fast
    }

    pub fn now_seconds(&self) -> i64 {
        self.clock.now().millis().div_euclid(1000)
    }

    /// A new id: the prefix, and letters and digits that look random.
    pub fn new_id(&mut self, prefix: &str, length: usize) -> String {
        self.ids += 1;
        let digest = hex::encode(Sha256::digest(self.ids.to_le_bytes()));
        format!("{prefix}{}", &digest[..length])
    }

    pub fn insert(&mut self, mut stored: Stored) {
        if stored.value["livemode"].is_boolean() {
            stored.value["livemode"] = self.is_live.into();
        }
        let place = self.objects.len();
        self.index.insert(stored.id(), place);
        if stored.value["object"] == "checkout.session" {
            self.open_sessions.push(place);
        }
        self.of_type.entry(stored.value["object"].as_str().expect("a type").to_owned()).or_default().push(place);
        self.objects.push(stored);
    }

    /// The open sessions whose time is over. Those that have ended are forgotten first.
    pub fn due_sessions(&mut self) -> Vec<String> {
        let now = self.now_seconds();
        let objects = &self.objects;
        self.open_sessions.retain(|place| objects[*place].value["status"] == "open");
        let sessions = self.open_sessions.iter().map(|place| &objects[*place]);
        let is_due = |session: &Value| {
            session["object"] == "checkout.session" && session["expires_at"].as_i64().is_some_and(|at| at <= now)
        };
        sessions.filter(|session| is_due(&session.value)).map(Stored::id).collect()
    }

    /// The objects of a type, the oldest first.
    pub fn all(&self, object: &str) -> impl DoubleEndedIterator<Item = &Value> {
        // An object may have been made one of another type, which nobody finds.
        self.places_of(object)
            .iter()
            .map(|place| &self.objects[*place].value)
            .filter(move |value| value["object"] == object)
    }

    /// The objects of a type that were created before one, the newest first. Without one, all of the type.
    pub fn older_than(&self, object: &str, id: Option<&str>) -> impl Iterator<Item = &Stored> {
        let end = id.map_or(self.objects.len(), |id| self.index[id]);
        let places = self.places_of(object);
        let places = &places[..places.partition_point(|place| *place < end)];
        places.iter().rev().map(|place| &self.objects[*place])
    }

    /// The places of the objects that were created with this type.
    pub fn places_of(&self, object: &str) -> &[usize] {
        self.of_type.get(object).map_or(&[][..], Vec::as_slice)
    }

    pub fn find(&self, id: &str) -> Option<&Stored> {
        self.index.get(id).map(|index| &self.objects[*index])
    }

    /// Returns an object that exists.
    pub fn get(&self, id: &str) -> &Stored {
        self.find(id).unwrap_or_else(|| panic!("no object {id}"))
    }

    /// A text field of an object, or an empty text.
    pub fn text(&self, id: &str, field: &str) -> String {
        self.get(id).value[field].as_str().unwrap_or_default().to_owned()
    }

    pub fn number(&self, id: &str, field: &str) -> i64 {
        self.get(id).value[field].as_i64().unwrap_or_default()
    }

    /// Sets fields of an object, and returns it.
    pub fn change(&mut self, id: &str, fields: &Value) -> Value {
        let object = &mut self.objects[self.index[id]].value;
        for (name, value) in fields.as_object().expect("fields") {
            object[name] = value.clone();
        }
        object.clone()
    }

    /// Sets a field of an object that the API does not return.
    pub fn hide(&mut self, id: &str, field: &str, text: &str) {
        self.objects[self.index[id]].hidden[field] = text.into();
    }

    /// Records an event about an object, with the object as it is now.
    pub fn emit(&mut self, kind: &str, id: &str) {
        self.emit_change(kind, id, &Value::Null);
    }

    /// Records an event about a change, with the previous values of the fields that changed.
    pub fn emit_change(&mut self, kind: &str, id: &str, previous: &Value) {
        let stored = self.get(id);
        let (account, object) = (stored.account.clone(), stored.value.clone());
        let mut data = json!({ "object": object });
        if !previous.is_null() {
            data["previous_attributes"] = previous.clone();
        }
        let event_id = self.new_id("evt_1", 23);
        let mut event = json!({
            "id": event_id,
            "object": "event",
            "api_version": API_VERSION,
            "created": self.now_seconds(),
            "data": data,
            "livemode": self.is_live,
            "pending_webhooks": 1,
            "request": { "id": null, "idempotency_key": null },
            "type": kind,
        });
        if let Some(account) = &account {
            event["account"] = account.as_str().into();
        }
        self.insert(Stored { account, value: event.clone(), hidden: Value::Null });
        if self.endpoint.as_ref().is_none_or(|endpoint| endpoint.wants(kind)) {
            self.undelivered.push_back(Notice::new(&event));
        }
    }
}
