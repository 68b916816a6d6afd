//! The operations under `/v1`: authentication, routes, lists and expansion.

use serde_json::{Value, json};

use super::answers::{Answer, Answered};
use super::faults::Fault;
use super::form::{self, Reader};
use super::idempotency::{self, Decision};
use super::request::Request;
use super::state::{State, Stored};
use super::{refunds, sessions};

/// The answer of the API to a request, and whether it was stored before.
pub struct Handled {
    pub answer: Answer,
    /// The id of the request whose answer is repeated.
    pub replay_of: Option<String>,
}

impl From<Answer> for Handled {
    fn from(answer: Answer) -> Self {
        Self { answer, replay_of: None }
    }
}

/// What has to happen before a request is answered.
pub enum Step {
    Answered(Handled),
    /// The request may run now, with this idempotency key.
    Run(Option<String>),
}

/// Checks everything that precedes the execution.
pub fn begin(state: &mut State, request: &Request) -> Step {
    if let Err(answer) = check_headers(state, request) {
        return Step::Answered(answer.into());
    }
    let key = request.header("idempotency-key").filter(|_| request.method == "POST");
    let Some(key) = key else { return Step::Run(None) };
    match idempotency::begin(state, request, key) {
        Decision::Execute => Step::Run(Some(key.to_owned())),
        Decision::Replay(answer, first) => Step::Answered(Handled { answer, replay_of: Some(first) }),
        Decision::Refuse(answer) => Step::Answered(answer.into()),
    }
}

/// Executes a request, with a fault that the test set, and stores the answer under the idempotency key.
pub fn run(state: &mut State, request: &Request, key: Option<&str>, fault: Option<&Fault>) -> Answer {
    sessions::expire_due(state);
    let mut answer = match fault {
        Some(Fault::ServerError) => Answer::server_error(),
        _ => route(state, request).map_or_else(|refused| refused, Answer::success),
    };
    if fault == Some(&Fault::ServerErrorAfterEffect) {
        if answer.body["object"] == "checkout.session" && request.path.ends_with("/sessions") {
            state.hide(answer.body["id"].as_str().expect("an id"), "unheard", "its URL was sent to nobody");
        }
        answer = Answer::server_error();
    }
    if let Some(key) = key {
        idempotency::finish(state, request, key, Some(&answer));
    }
    answer
}

fn check_headers(state: &State, request: &Request) -> Result<(), Answer> {
    match request.api_key() {
        None => return Err(Answer::unauthorized("You did not provide an API key.")),
        Some(key) if key != state.secret_key => {
            return Err(Answer::unauthorized("Invalid API Key provided: sk_test_****"));
        }
        Some(_) => {}
    }
    if request.account().is_some_and(|account| state.disconnected.contains(&account)) {
        return Err(Answer::forbidden());
    }
    if !state.may_refund && request.method == "POST" && request.path == "/v1/refunds" {
        return Err(Answer::not_permitted());
    }
    let of_balance = request.path == "/v1/balance_transactions" || request.query.contains("balance_transaction");
    if !state.may_read_balance && of_balance {
        return Err(Answer::not_permitted());
    }
    if let Some(version) = request.header("stripe-version") {
        let (date, name) = version.split_once('.').unwrap_or((version, ""));
        let is_date = date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if !is_date || !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return Err(Answer::invalid(format!("Invalid Stripe API version: {version}"), None, None));
        }
    }
    let form = "application/x-www-form-urlencoded";
    let is_form = request.header("content-type").is_some_and(|given| given.split(';').next() == Some(form));
    if !request.body.is_empty() && !is_form {
        let message = format!("Invalid request: POST requests must have the content type {form}.");
        return Err(Answer::invalid(message, None, None));
    }
    Ok(())
}

fn route(state: &mut State, request: &Request) -> Answered {
    let account = request.account();
    let text = if request.method == "POST" { &request.body[..] } else { request.query.as_bytes() };
    let group = form::decode(text)?;
    let params = Reader::new(&group);
    let parts: Vec<_> = request.path.trim_start_matches("/v1/").split('/').collect();
    match (request.method.as_str(), parts.as_slice()) {
        ("POST", ["checkout", "sessions"]) => sessions::create(state, account.as_deref(), &params),
        ("POST", ["checkout", "sessions", id, "expire"]) => {
            check_expand(&params, &["payment_intent", "line_items"])?;
            params.finish()?;
            find(state, account.as_deref(), "checkout.session", id)?;
            sessions::expire(state, id)
        }
        ("GET", ["checkout", "sessions", id]) => {
            let expandable = ["payment_intent", "payment_intent.latest_charge", "line_items"];
            retrieve(state, account.as_deref(), "checkout.session", id, &params, &expandable)
        }
        ("GET", ["checkout", "sessions"]) => {
            let expandable = [
                "data.payment_intent",
                "data.payment_intent.latest_charge",
                "data.payment_intent.latest_charge.balance_transaction",
            ];
            list(state, account.as_deref(), "checkout.session", &params, &["payment_intent", "status"], &expandable)
        }
        ("GET", ["payment_intents", id]) => {
            retrieve(state, account.as_deref(), "payment_intent", id, &params, &["latest_charge"])
        }
        ("GET", ["payment_intents"]) => list(state, account.as_deref(), "payment_intent", &params, &[], &[]),
        ("GET", ["charges", id]) => retrieve(state, account.as_deref(), "charge", id, &params, &["payment_intent"]),
        ("POST", ["refunds"]) => refunds::create(state, account.as_deref(), &params),
        ("GET", ["refunds"]) => {
            let expandable = ["data.payment_intent", "data.balance_transaction", "data.failure_balance_transaction"];
            list(state, account.as_deref(), "refund", &params, &["payment_intent", "charge"], &expandable)
        }
        ("GET", ["refunds", id]) => {
            retrieve(state, account.as_deref(), "refund", id, &params, &["payment_intent", "charge"])
        }
        ("GET", ["disputes"]) => {
            let filters = ["payment_intent", "charge"];
            list(state, account.as_deref(), "dispute", &params, &filters, &["data.payment_intent"])
        }
        ("GET", ["disputes", id]) => {
            retrieve(state, account.as_deref(), "dispute", id, &params, &["payment_intent", "charge"])
        }
        ("GET", ["balance_transactions"]) => {
            list(state, account.as_deref(), "balance_transaction", &params, &["type", "source"], &[])
        }
        ("GET", ["events"]) => list(state, account.as_deref(), "event", &params, &["type"], &[]),
        ("GET", ["events", id]) => retrieve(state, account.as_deref(), "event", id, &params, &[]),
        ("GET", ["webhook_endpoints"]) => webhook_endpoints(state, &params),
        ("GET", ["account"]) => {
            params.finish()?;
            Ok(json!({
                "id": account.as_deref().unwrap_or("acct_1032D82eZvKYlo2C"), "object": "account",
                "charges_enabled": true, "default_currency": "eur", "country": "DE",
            }))
        }
        ("GET", ["balance"]) => {
            params.finish()?;
            Ok(json!({ "object": "balance", "available": [], "pending": [], "livemode": false }))
        }
        (method, _) => {
            let message = format!("Unrecognized request URL ({method}: {}).", request.path);
            Err(Answer { status: 404, ..Answer::invalid(message, None, None) })
        }
    }
}

fn find<'a>(state: &'a State, account: Option<&str>, object: &str, id: &str) -> Result<&'a Stored, Answer> {
    let is_visible = |stored: &&Stored| stored.account.as_deref() == account && stored.value["object"] == object;
    state.find(id).filter(is_visible).ok_or_else(|| Answer::missing(object, id, "id"))
}

fn retrieve(
    state: &State,
    account: Option<&str>,
    object: &str,
    id: &str,
    params: &Reader<'_>,
    expandable: &[&str],
) -> Answered {
    let expand = check_expand(params, expandable)?;
    params.finish()?;
    let stored = find(state, account, object, id)?;
    let mut value = stored.value.clone();
    for field in expand {
        if field == "line_items" {
            value[field] = json!({ "object": "list", "data": stored.hidden["line_items"], "has_more": false });
            continue;
        }
        expand_field(state, &mut value, field);
    }
    Ok(value)
}

/// Replaces the ids in a field of an object by the objects. A field of an object that is expanded has a dot before its
/// name.
fn expand_field(state: &State, value: &mut Value, field: &str) {
    let mut object = value;
    for name in field.split('.') {
        let Some(inner) = object.get_mut(name) else { break };
        object = inner;
        if let Some(inner) = object.as_str() {
            *object = state.get(inner).value.clone();
        }
    }
}

/// Reads the names of the fields to expand.
pub fn check_expand<'a>(params: &Reader<'a>, expandable: &[&str]) -> Result<Vec<&'a str>, Answer> {
    let expand = params.words("expand")?;
    match expand.iter().find(|field| !expandable.contains(field)) {
        None => Ok(expand),
        Some(field) => {
            let message = format!("This property cannot be expanded ({field}), or the fake does not model it.");
            Err(Answer::invalid(message, Some("expand"), None))
        }
    }
}

/// A list, the newest first: <https://docs.stripe.com/api/pagination>. What is expanded in its objects begins with
/// `data`: <https://docs.stripe.com/api/expanding_objects>.
fn list(
    state: &State,
    account: Option<&str>,
    object: &str,
    params: &Reader<'_>,
    filters: &[&str],
    expandable: &[&str],
) -> Answered {
    let limit = params.integer("limit")?.unwrap_or(10);
    let limit = usize::try_from(limit).ok().filter(|limit| (1..=100).contains(limit));
    let limit = limit.ok_or_else(|| params.invalid("limit", "Invalid integer: must be between 1 and 100"))?;
    let after = params.text("starting_after")?;
    let mut wanted = Vec::new();
    for filter in filters {
        if let Some(text) = params.text(filter)? {
            wanted.push((*filter, text));
        }
    }
    let created = created_within(params)?;
    let expand = check_expand(params, expandable)?;
    params.finish()?;
    let is_wanted = |stored: &&Stored| {
        stored.account.as_deref() == account
            && stored.value["object"] == object
            && stored.value["created"].as_i64().is_none_or(|created_at| created.contains(&created_at))
            && wanted.iter().all(|(field, text)| stored.value[*field] == **text)
    };
    if let Some(after) = after {
        state.find(after).filter(is_wanted).ok_or_else(|| Answer::missing(object, after, "starting_after"))?;
    }
    let limit = limit.min(100);
    let found = state.older_than(object, after).filter(is_wanted).map(|stored| &stored.value);
    let mut rest: Vec<&Value> = found.take(limit + 1).collect();
    let has_more = rest.len() > limit;
    rest.truncate(limit);
    let mut data: Vec<Value> = rest.into_iter().cloned().collect();
    for value in &mut data {
        for field in expand.iter().filter_map(|field| field.strip_prefix("data.")) {
            expand_field(state, value, field);
        }
    }
    Ok(json!({ "object": "list", "data": data, "has_more": has_more }))
}

/// The bounds of the time of creation, in Unix seconds.
fn created_within(params: &Reader<'_>) -> Result<std::ops::RangeInclusive<i64>, Answer> {
    let Some(created) = params.group("created")? else { return Ok(i64::MIN..=i64::MAX) };
    let from = [created.integer("gte")?, created.integer("gt")?.map(|after| after + 1)];
    let to = [created.integer("lte")?, created.integer("lt")?.map(|before| before - 1)];
    created.finish()?;
    let (from, to) = (from.into_iter().flatten().max(), to.into_iter().flatten().min());
    Ok(from.unwrap_or(i64::MIN)..=to.unwrap_or(i64::MAX))
}

fn webhook_endpoints(state: &State, params: &Reader<'_>) -> Answered {
    params.integer("limit")?;
    params.text("starting_after")?;
    params.finish()?;
    let data = state.endpoint.iter().map(|endpoint| {
        json!({
            "id": "we_1Mr5jULkdIwHu7ix1ibLTM0x", "object": "webhook_endpoint", "api_version": null,
            "enabled_events": endpoint.enabled_events, "status": "enabled", "url": endpoint.url, "livemode": false,
            "application": endpoint.is_connect.then_some("ca_1NR6E9XB00000"),
        })
    });
    Ok(json!({ "object": "list", "data": data.collect::<Vec<_>>(), "has_more": false }))
}
