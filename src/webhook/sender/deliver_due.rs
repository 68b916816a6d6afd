//! Sending without threads, for tests of programs that use webhooks.

use std::sync::Arc;

use super::attempt;
use super::options::SenderOptions;
use super::state::{OUTBOX, SenderContext};
use crate::environment::Environment;
use crate::error::Result;
use crate::model::values::id::WebhookId;
use crate::store::Store;
use crate::store::webhooks::attempt_results;
use crate::store::webhooks::attempts::{self, ClaimRequest};
use crate::store::webhooks::expansion::{self, ExpansionKey};
use crate::webhook::transport::Transport;

/// Makes all attempts that are due, one after another, and returns how many.
pub(crate) fn deliver_due(
    store: &Arc<Store>,
    environment: &Environment,
    transport: Arc<dyn Transport>,
) -> Result<usize> {
    let sender = SenderContext::new(Arc::clone(store), environment.clone(), transport, SenderOptions::default());
    expand_all(store)?;
    let mut made = 0;
    let mut endpoint = WebhookId::UNKNOWN;
    while let Some(next) = store.read(|tx| attempts::next_endpoint(tx, endpoint))? {
        endpoint = next;
        made += deliver_to(&sender, endpoint)?;
    }
    Ok(made)
}

/// Expands all notifications.
fn expand_all(store: &Store) -> Result<()> {
    loop {
        let keys = store.read(|tx| expansion::next_keys(tx, &ExpansionKey::FIRST))?;
        let mut expanded = 0;
        for key in keys {
            expanded += store.write(None, move |tx| expansion::expand(tx, &key))?;
        }
        if expanded == 0 {
            return Ok(());
        }
    }
}

fn deliver_to(sender: &SenderContext, endpoint: WebhookId) -> Result<usize> {
    let request = ClaimRequest { endpoint, workers: 1, max_attempts: 1 };
    let mut made = 0;
    loop {
        let claims = sender.store.write(None, move |tx| attempts::claim(tx, request))?;
        for row in &claims.damaged {
            sender.report_skipped(OUTBOX, &row.id, &row.error);
        }
        for attempt in claims.attempts {
            let result = attempt::make(sender, &attempt).result;
            sender.store.write(None, move |tx| attempt_results::record(tx, &attempt, &result))?;
            made += 1;
        }
        if !claims.more_due {
            return Ok(made);
        }
    }
}
