//! Finds endpoints for which something waits that this process did not queue itself: what lay in the file when the sender
//! started, what other processes queued, and what a crash cut off.

use std::time::Duration;

use super::Shared;
use crate::error::Result;
use crate::model::id::WebhookId;
use crate::model::timestamp::Timestamp;
use crate::store::attempts;

/// How long to wait between two looks at the least.
const PAUSE: Duration = Duration::from_millis(200);

/// How much longer to wait than a look took: with very many endpoints, looking stays a small part of the work.
const REST: u32 = 300;

/// The longest wait.
const LONGEST: Duration = Duration::from_secs(10);

/// How many endpoints are looked at on one state of the store.
const SLICE: usize = 1000;

/// Looks again and again, until the sender stops.
pub(super) fn keep(sender: &Shared) {
    let mut pause = Duration::ZERO;
    while sender.pause(pause) {
        let began = sender.environment.clock.monotonic();
        if let Err(error) = look(sender) {
            tracing::warn!(%error, "the webhook sender could not look for what waits; it looks again");
        }
        let took = sender.environment.clock.monotonic().saturating_sub(began);
        pause = took.saturating_mul(REST).clamp(PAUSE, LONGEST);
    }
}

/// Looks at every endpoint for which something waits, each once.
fn look(sender: &Shared) -> Result<()> {
    let mut after = WebhookId::NOTHING;
    loop {
        let (seen, looked_at) = slice(sender, &mut after)?;
        sender.tell(seen);
        if looked_at < SLICE {
            return Ok(());
        }
    }
}

/// Looks at the endpoints after `after`, up to the size of a slice. Says for which something falls due, and how many it
/// looked at.
fn slice(sender: &Shared, after: &mut WebhookId) -> Result<(Vec<(WebhookId, Timestamp)>, usize)> {
    sender.store.read(|tx| {
        let mut seen = Vec::new();
        for looked_at in 0..SLICE {
            let Some((endpoint, at)) = attempts::next_endpoint(tx, *after)? else { return Ok((seen, looked_at)) };
            *after = endpoint;
            if attempts::is_open(tx, endpoint)? {
                seen.push((endpoint, at));
            }
        }
        Ok((seen, SLICE))
    })
}
