//! The sender's clerk: decides who is next, and writes down what begins and what has ended.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::delivery::{Experience, Made, Run};
use super::lines::{Dealt, Lines, Shares, Standing};
use crate::error::{Error, Result, StoreError};
use crate::model::id::WebhookId;
use crate::model::timestamp::Timestamp;
use crate::store::Transaction;
use crate::store::attempts::{self, Claimed, Known};

/// How long the clerk waits for news at the most: a clock that was turned is noticed by then.
const PATIENCE: Duration = Duration::from_millis(200);

/// How long the clerk waits when the store does not take what it writes.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// How long an endpoint waits whose rows cannot be read.
const AFTER_DAMAGE: Duration = Duration::from_mins(1);

pub(super) struct Clerk<'s> {
    sender: &'s Shared,
    lines: Lines,
    /// Made and not written down yet.
    made: Vec<Arc<Made>>,
    /// Endpoints whose rows cannot be read, and until when nobody asks for these again.
    damaged: BTreeMap<WebhookId, Timestamp>,
}

impl<'s> Clerk<'s> {
    pub(super) fn new(sender: &'s Shared, shares: Shares) -> Self {
        Self { sender, lines: Lines::new(shares), made: Vec::new(), damaged: BTreeMap::new() }
    }

    /// Works until the sender stops and everything is written down.
    pub(super) fn run(mut self) {
        loop {
            let closed = self.hear();
            // What cannot be written, or panics, is tried again: the sender must not end for it.
            let done = catch_unwind(AssertUnwindSafe(|| self.write()))
                .unwrap_or_else(|_| Err(Error::Internal("the webhook sender's writing panicked".to_owned())));
            if let Err(error) = &done {
                tracing::warn!(%error, "the webhook sender could not write; it tries again");
            }
            if closed {
                return self.close();
            }
            if done.is_err() {
                self.sender.pause(AFTER_FAILURE);
            }
        }
    }

    /// Waits for news and takes it up. Says whether this was the last.
    fn hear(&mut self) -> bool {
        let now = self.sender.environment.now();
        let until = |at: Timestamp| Duration::from_millis(u64::try_from(at.millis() - now.millis()).unwrap_or(0));
        let alarm = self.lines.next_alarm().map_or(PATIENCE, until);
        let mut desk = self.sender.wait_for_news(alarm.min(PATIENCE));
        let (seen, made) = (std::mem::take(&mut desk.seen), std::mem::take(&mut desk.made));
        let freed = std::mem::take(&mut desk.freed);
        let (stopping, closed) = (desk.stopping, desk.closed);
        drop(desk);
        let quiet = made.is_empty();
        self.made.extend(made.into_iter().map(Arc::new));
        for (endpoint, experience) in freed {
            match experience {
                Some(Experience { standing, took }) => self.lines.ended(endpoint, standing, took),
                None => self.lines.give_back(endpoint, 1),
            }
        }
        if !stopping {
            let at_leisure = quiet || !seen.is_empty();
            let now = self.sender.environment.now();
            self.damaged.retain(|_, until| *until > now);
            let seen: Vec<_> = seen.into_iter().filter(|(id, _)| !self.damaged.contains_key(id)).collect();
            if let Err(error) = self.take_up(&seen) {
                tracing::warn!(%error, "the webhook sender could not read; it tries again");
                self.sender.tell(seen);
                self.sender.pause(AFTER_FAILURE);
            }
            if at_leisure {
                self.sender.store.counters().set_held_back(self.lines.held_back());
            }
        }
        // Also while it stops: an alarm whose time has come would let nobody wait.
        self.lines.ring_alarms(self.sender.environment.now());
        closed
    }

    /// Gives endpoints their places in line.
    fn take_up(&mut self, seen: &[(WebhookId, Timestamp)]) -> Result<()> {
        let new: Vec<WebhookId> = seen.iter().map(|(id, _)| *id).filter(|id| !self.lines.knows(*id)).collect();
        if !new.is_empty() {
            let known = |tx: &Transaction<'_>| {
                new.iter().map(|id| Ok((*id, attempts::known(tx, *id)?))).collect::<Result<Vec<_>>>()
            };
            for (endpoint, known) in self.sender.store.read(known)? {
                // One that is gone has nothing to send.
                let Some(Known { organization, latest }) = known else { continue };
                let standing = latest.map(|latest| Standing::after(latest.success, false, latest.took));
                let took = latest.and_then(|latest| latest.took);
                self.lines.enter((organization, endpoint), standing.unwrap_or(Standing::Unproven), took);
            }
        }
        let now = self.sender.environment.now();
        for (endpoint, at) in seen {
            match *at <= now {
                true => self.lines.due(*endpoint),
                false => self.lines.due_at(*endpoint, *at),
            }
        }
        Ok(())
    }

    /// Writes down what has ended, and claims what begins, in one transaction. Where the store does not take it, all of
    /// it stays to be done.
    fn write(&mut self) -> Result<()> {
        let dealt = if self.sender.desk().stopping { Vec::new() } else { self.lines.deal() };
        if self.made.is_empty() && dealt.is_empty() {
            return Ok(());
        }
        // Before the claims: whatever changes from now on is not in them.
        let as_of: Vec<u64> = dealt.iter().map(|dealt| self.sender.store.endpoint_changes(dealt.endpoint)).collect();
        let (made, wanted) = (self.made.clone(), dealt.clone());
        let written = self.sender.store.write(move |tx| {
            record_all(tx, &made)?;
            wanted
                .into_iter()
                .map(|dealt| tx.alone(|tx| attempts::claim(tx, dealt.endpoint, dealt.workers, dealt.most)))
                .collect::<Result<Vec<_>>>()
        });
        match written {
            Ok(claimed) => {
                self.made.clear();
                self.begin(&dealt, &as_of, claimed);
                Ok(())
            }
            Err(error) => {
                for Dealt { endpoint, workers, .. } in dealt {
                    self.lines.give_back(endpoint, workers);
                }
                Err(error)
            }
        }
    }

    /// Has what was claimed made, and notes what the endpoints wait for.
    fn begin(&mut self, dealt: &[Dealt], as_of: &[u64], claimed: Vec<Result<Claimed>>) {
        let mut runs = Vec::new();
        for ((Dealt { endpoint, workers, .. }, as_of), claimed) in dealt.iter().zip(as_of).zip(claimed) {
            let mut claimed = claimed.unwrap_or_else(|error| {
                tracing::error!(%endpoint, %error, "what is due for a webhook endpoint cannot be read");
                let later = self.sender.environment.now().plus(AFTER_DAMAGE);
                self.damaged.insert(*endpoint, later);
                Claimed { next_due: Some(later), ..Claimed::default() }
            });
            // Each worker has as many as the others, so that all of them are on their way at once.
            let each = claimed.attempts.len().div_ceil(*workers);
            let before = runs.len();
            while !claimed.attempts.is_empty() {
                let rest = claimed.attempts.split_off(each.min(claimed.attempts.len()));
                let attempts = std::mem::replace(&mut claimed.attempts, rest);
                runs.push(Run { endpoint: *endpoint, attempts, as_of: *as_of });
            }
            let unused = workers - (runs.len() - before);
            if claimed.more {
                self.lines.give_back(*endpoint, unused);
            } else {
                if let Some(at) = claimed.next_due {
                    self.lines.due_at(*endpoint, at);
                }
                self.lines.nothing_due(*endpoint, unused);
            }
        }
        self.sender.begin(runs);
    }

    /// Gives back what was claimed and not begun.
    fn close(self) {
        let jobs = std::mem::take(&mut self.sender.desk().jobs);
        let attempts = move |tx: &Transaction<'_>| {
            let attempts = jobs.iter().flat_map(|run| &run.attempts);
            attempts.into_iter().try_for_each(|attempt| attempts::release(tx, attempt))
        };
        let released = self.sender.store.write(attempts);
        if let Err(error) = released {
            tracing::warn!(%error, "attempts that were not made could not be given back; they are made in a moment");
        }
    }
}

/// Writes down what was made. One that cannot be written must not keep the others waiting: what is lost then is that it
/// was made, and it is made again.
fn record_all(tx: &Transaction<'_>, made: &[Arc<Made>]) -> Result<()> {
    if tx.alone(|tx| made.iter().try_for_each(|made| record(tx, made)))?.is_ok() {
        return Ok(());
    }
    for made in made {
        match tx.alone(|tx| record(tx, made))? {
            Ok(()) => {}
            // Nothing can be written now: it is tried again.
            Err(error @ (Error::Unavailable(_) | Error::Store(StoreError::Full | StoreError::ReadOnly(_)))) => {
                return Err(error);
            }
            Err(error) => {
                let outbox = made.attempt.outbox;
                tracing::error!(%outbox, %error, "what came of an attempt could not be written down");
            }
        }
    }
    Ok(())
}

fn record(tx: &Transaction<'_>, made: &Made) -> Result<()> {
    match &made.ended {
        None => attempts::release(tx, &made.attempt)?,
        Some(ended) if attempts::record(tx, &made.attempt, ended)? => {}
        Some(_) => tracing::warn!(
            outbox = %made.attempt.outbox,
            "an attempt ended so late that it counts no more: another one was made, or its endpoint is gone"
        ),
    }
    Ok(())
}
