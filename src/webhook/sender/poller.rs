//! The poller thread: finds rows and notifications that this process did not queue itself.
//!
//! These are those that were in the file when the sender started, those that other processes queue, and those whose
//! lease has expired because the process that claimed them ended.

use std::time::Duration;

use super::state::SenderContext;
use crate::error::Result;
use crate::model::values::id::WebhookId;
use crate::store::webhooks::attempts::{self, DueEndpoint};
use crate::store::webhooks::expansion;

/// The shortest pause between two scans.
const MIN_PAUSE: Duration = Duration::from_millis(200);

/// The pause is this many times the duration of the last scan, so that scanning stays a small part of the work even
/// with very many endpoints.
const PAUSE_FACTOR: u32 = 300;

/// The longest pause between two scans.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// How many endpoints one read transaction covers.
const CHUNK: usize = 1000;

/// Scans the outbox again and again, until the sender stops.
pub(super) fn run(sender: &SenderContext) {
    let mut pause = Duration::ZERO;
    while sender.pause(pause) {
        let started = sender.environment.clock.monotonic();
        if let Err(error) = scan(sender) {
            tracing::warn!(
                target: "ticketing::webhooks",
                %error,
                "the webhook poller could not read the outbox; it tries again"
            );
        }
        let duration = sender.environment.clock.monotonic().saturating_sub(started);
        pause = duration.saturating_mul(PAUSE_FACTOR).clamp(MIN_PAUSE, MAX_PAUSE);
    }
}

/// Reports every enabled endpoint that has waiting rows, with the time at which the first is due, and whether there are
/// notifications to expand.
fn scan(sender: &SenderContext) -> Result<()> {
    scan_endpoints(sender)?;
    if sender.store.read_one(expansion::any)? {
        sender.report_stored();
    }
    Ok(())
}

fn scan_endpoints(sender: &SenderContext) -> Result<()> {
    let mut after = WebhookId::UNKNOWN;
    loop {
        let chunk = read_chunk(sender, after)?;
        sender.report_due(chunk.due);
        match chunk.last {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}

struct Chunk {
    due: Vec<DueEndpoint>,
    /// The last endpoint of a full chunk; `None` if there are no more endpoints.
    last: Option<WebhookId>,
}

/// Reads the next endpoints after `after`, up to the size of a chunk.
fn read_chunk(sender: &SenderContext, after: WebhookId) -> Result<Chunk> {
    sender.store.read(|tx| {
        let mut due = Vec::new();
        let mut last = after;
        for _ in 0..CHUNK {
            let Some(id) = attempts::next_endpoint(tx, last)? else {
                return Ok(Chunk { due, last: None });
            };
            last = id;
            if let Some(at) = attempts::first_due(tx, id)? {
                due.push(DueEndpoint { id, at });
            }
        }
        Ok(Chunk { due, last: Some(last) })
    })
}
