//! Rules for devices at the entrance: until when a link works, what a roster shows of a code, and when a scan counts.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::error::{Error, Reason, Result};
use crate::form::request::Request;
use crate::model::sale::event::EventStatus;
use crate::model::tenants::door_link::CreateDoorLink;
use crate::model::tenants::organization::CreateApiKey;
use crate::model::tickets::scan::{NewScan, UploadScans};
use crate::model::values::id::EventId;
use crate::model::values::timestamp::Timestamp;
use crate::rules::ticket::read_code;
use crate::rules::{Checked, api_key};

/// How long a link works after the end of its event, unless the request says something else.
const DEFAULT_AFTER_END: Duration = Duration::from_hours(6);

/// How long a link works after the end of its event at most.
const MOST_AFTER_END: Duration = Duration::from_hours(7 * 24);

/// How long before its receipt a scan can be.
const MOST_BEFORE_RECEIPT: Duration = Duration::from_hours(48);

/// How long after its receipt a scan can be, by a clock that is fast.
const MOST_AFTER_RECEIPT: Duration = Duration::from_mins(10);

pub(crate) fn no_door_link() -> Error {
    Error::conflict(Reason::NoDoorLink, "the event has no door link, so its scans are not logged")
}

/// Checks a request for a link of an event, and returns that for its API key. `over_at` is the end of the event.
pub(crate) fn check_link(
    Request { body, mut errors }: Request<CreateDoorLink>,
    event: EventId,
    status: EventStatus,
    over_at: Timestamp,
    now: Timestamp,
) -> Result<Checked<CreateApiKey>> {
    let until = body.until.unwrap_or_else(|| over_at.saturating_add(DEFAULT_AFTER_END));
    errors.check(until > now, "until", "must be in the future: the event may be over");
    let latest = over_at.saturating_add(MOST_AFTER_END);
    errors.check(until <= latest, "until", "must be at most 7 days after the end of the event");
    errors.into_result()?;
    if status == EventStatus::Cancelled {
        return Err(Error::conflict(Reason::EventCancelled, "the event is cancelled"));
    }
    api_key::check(body.key(event, until), now)
}

/// What a roster has in place of a code. Rosters of two events have different hashes of the same code.
pub(crate) fn roster_hash(event: EventId, code: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(&digest("roster", event, code)[..12])
}

/// What shows that the code of a ticket was seen. It cannot be made from a roster.
pub(crate) fn proof(event: EventId, code: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(&digest("scan", event, code)[..16])
}

fn digest(purpose: &str, event: EventId, code: &str) -> [u8; 32] {
    Sha256::new().chain_update(purpose).chain_update(event.to_string()).chain_update(code).finalize().into()
}

/// When a scan counts that was received at `now`. Those of a report that are too early or too late stay in their order:
/// `index` is the place in the report.
pub(crate) fn time_of_scan(reported: Timestamp, index: usize, now: Timestamp) -> Timestamp {
    let earliest = now.checked_sub(MOST_BEFORE_RECEIPT).unwrap_or(Timestamp::UNIX_EPOCH);
    let counted = reported.clamp(earliest, now.saturating_add(MOST_AFTER_RECEIPT));
    let moved = if counted == reported { 0 } else { index as u64 };
    counted.saturating_add(Duration::from_millis(moved))
}

/// Checks a report of scans, normalizes their codes, and returns the event. `own` is that of the caller's key.
pub(crate) fn check_upload(
    request: Request<UploadScans>,
    own: Option<EventId>,
) -> Result<(EventId, Checked<UploadScans>)> {
    let Request { mut body, mut errors } = request;
    let event = own.or(body.event_id);
    errors.check(event.is_some(), "eventId", "must be set with a key that is not restricted to an event");
    for (index, scan) in body.scans.iter_mut().enumerate() {
        let field = |name| format!("scans[{index}].{name}");
        let NewScan { code, ticket_id, proof, .. } = scan;
        errors.check(code.is_some() != ticket_id.is_some(), field("code"), "or ticketId must be set, and not both");
        errors.check(
            proof.is_some() == ticket_id.is_some(),
            field("proof"),
            "must be set with ticketId, and only then",
        );
        if let Some(code) = code {
            *code = read_code(code);
        }
    }
    Ok((event.unwrap_or(EventId::UNKNOWN), crate::rules::checked(body, errors)?))
}
