//! Finds a session that Stripe has created and whose id it does not tell: it repeats a stored failure under the idempotency
//! key, or refuses the key because the parameters have changed since.

use serde_json::Value;

use super::client::{Call, Client};
use super::failure::Failure;
use super::form::Form;
use super::session;
use crate::payment::CheckoutRequest;

/// How many sessions are listed at once, and how many times at most: for more there is no time before the timeout of
/// the call.
const PAGE: usize = 100;
const MAX_PAGES: usize = 30;

/// How far the clock of Stripe may be from ours, in seconds.
const CLOCK_DIFFERENCE: i64 = 60;

/// The first times in which a session is looked for, in seconds after it was first asked for: the first attempt is the most
/// likely one. In a rush, each minute has a thousand sessions.
const FIRST_WINDOWS: [(i64, i64); 2] = [(-CLOCK_DIFFERENCE, 60), (61, 15 * 60)];

/// The times within which the session of a request may have been created, in Unix seconds, one after the other. The
/// last one ends when Stripe could not create it any more.
fn windows(request: &CheckoutRequest) -> Vec<(i64, i64)> {
    let started_at = session::started_at(request).millis().div_euclid(1000);
    let latest = session::latest_creation(request).saturating_add(CLOCK_DIFFERENCE);
    let first = FIRST_WINDOWS.map(|(from, to)| (started_at + from, started_at + to));
    let last = (first[1].1 + 1, latest);
    first.into_iter().chain([last]).map(|(from, to)| (from, to.min(latest))).filter(|(from, to)| from <= to).collect()
}

/// Returns the session of an order, as Stripe lists it. If there are several, one that can be paid comes first, and
/// then the newest.
///
/// # Errors
/// [`Failure::Unexpected`] if Stripe has more sessions than can be read. Then the session stays as it is until it
/// expires. If it is paid, its notice names the order.
pub(super) fn find(
    client: &Client,
    account: Option<&str>,
    request: &CheckoutRequest,
) -> Result<Option<Value>, Failure> {
    let mut pages = 0;
    for window in windows(request) {
        let mut found: Vec<Value> = Vec::new();
        let mut after: Option<String> = None;
        loop {
            if pages == MAX_PAGES {
                tracing::warn!(
                    target: "ticketing::payment",
                    order = %request.order_id,
                    sessions_read = pages * PAGE,
                    "Stripe may have created a session that is not found among the others of its time; until it expires, it can \
                     be paid, and is not closed"
                );
                return Err(Failure::Unexpected("Stripe has more sessions of this time than can be read".to_owned()));
            }
            pages += 1;
            let form = filters(window, after.as_deref());
            let mut list = client.get(&Call { path: "checkout/sessions", form, account, ..Call::default() })?.body;
            let has_more = list.get("has_more").and_then(Value::as_bool) == Some(true);
            let Some(Value::Array(page)) = list.get_mut("data").map(Value::take) else {
                return Err(Failure::Unexpected("it is not a list of sessions".to_owned()));
            };
            after = page.last().and_then(|session| session.get("id")?.as_str()).map(str::to_owned);
            found.extend(page.into_iter().filter(|session| is_of(session, request)));
            if !has_more || after.is_none() {
                break;
            }
        }
        let open = found.iter().position(|session| session.get("status").is_some_and(|status| status == "open"));
        if !found.is_empty() {
            return Ok(Some(found.swap_remove(open.unwrap_or(0))));
        }
    }
    Ok(None)
}

fn filters((from, to): (i64, i64), after: Option<&str>) -> Form {
    let mut form = Form::default();
    form.add("created[gte]", from);
    form.add("created[lte]", to);
    form.add("limit", PAGE);
    if let Some(after) = after {
        form.add("starting_after", after);
    }
    form
}

fn is_of(session: &Value, request: &CheckoutRequest) -> bool {
    let reference = session.get("client_reference_id").and_then(Value::as_str);
    let checkout = session.pointer("/metadata/checkout").and_then(Value::as_str);
    reference.is_some_and(|reference| reference == request.order_id.to_string())
        && checkout == session::checkout_name(request)
}
