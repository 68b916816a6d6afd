//! Tokens of transactions, by which the outcome of a commit is found out if its connection was lost.
//!
//! Each transaction that changes something inserts its token. If the connection is lost during the commit, another one
//! inserts the same token, marked as undone. This waits while the transaction is still running. Whichever insert is
//! committed first decides for ever: it keeps the other from being committed. So the question may be repeated, even if
//! the answer to an earlier one was lost as well.
//!
//! The question always writes. With a synchronous standby, its commit is confirmed only when everything before it has
//! reached the standby too: a transaction that is committed on the primary only is not reported as durable.
//!
//! All times are those of the server. A question is refused when the transaction began more than [`MAX_AGE`] ago, and
//! tokens are deleted only much later: a process that was suspended for hours cannot take a deleted token for one that
//! was never stored.

use std::time::Duration;

use super::server_clock::MILLIS_OF_SERVER;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::model::values::timestamp::Timestamp;
use crate::store::engine::postgres::statements::postgres_connection::{PostgresConnection, first_column};
use crate::store::engine::transaction::Transaction;
use crate::store::migrations;

/// Inserts a token, if the schema has the version `$3`. Otherwise the token would have no mark, which fails: what this
/// version has written is undone, because a newer one may have other rules. It costs no round trip.
pub(in crate::store::engine::postgres) const INSERT_TOKEN: &str =
    "INSERT INTO transaction_tokens (began_at, token, undone)
    VALUES ($1, $2, (SELECT FALSE FROM schema_version WHERE version = $3))";

/// How long after the beginning of a transaction its outcome is asked for at most.
const MAX_AGE: Duration = Duration::from_mins(20);

/// How long tokens are kept: longer than [`MAX_AGE`], also if the clock of a standby that was promoted is ahead.
const RETENTION: Duration = Duration::from_hours(1);

/// How many tokens a transaction deletes at most.
const DELETED_AT_ONCE: usize = 5000;

/// Identifies a transaction: when it began, and a random number.
#[derive(Debug, Clone, Copy)]
pub(in crate::store::engine::postgres) struct Token {
    began_at: i64,
    random: i64,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store::engine::postgres) enum Outcome {
    Committed,
    /// It was undone, or will be.
    Undone,
    /// It began too long ago.
    Unknown,
}

impl Token {
    /// A new token. `began_at` is a time of the server.
    pub(in crate::store::engine::postgres) fn new(began_at: Timestamp, environment: &Environment) -> Self {
        let mut bytes = [0; 8];
        environment.entropy.fill(&mut bytes);
        Self { began_at: began_at.millis(), random: i64::from_le_bytes(bytes) }
    }

    /// The statement by which the transaction inserts its token, which is sent as text with the commit.
    pub(in crate::store::engine::postgres) fn insert(self) -> String {
        let Self { began_at, random } = self;
        format!("EXECUTE insert_token({began_at}, {random}, {})", migrations::POSTGRES.known())
    }

    /// Finds out how the transaction ended. If it did not end yet, waits for it, or keeps it from being committed.
    pub(in crate::store::engine::postgres) fn ask(self, connection: &PostgresConnection) -> Result<Outcome> {
        let Self { began_at, random } = self;
        let last = began_at.saturating_add(i64::try_from(MAX_AGE.as_millis()).unwrap_or(i64::MAX));
        let answer = connection.simple_query(&format!(
            "INSERT INTO transaction_tokens (began_at, token, undone)
                SELECT {began_at}, {random}, TRUE WHERE {MILLIS_OF_SERVER} < {last}
                ON CONFLICT (began_at, token) DO UPDATE SET undone = transaction_tokens.undone RETURNING undone"
        ))?;
        match answer.iter().find_map(first_column) {
            Some("f") => Ok(Outcome::Committed),
            Some("t") => Ok(Outcome::Undone),
            None => Ok(Outcome::Unknown),
            Some(_) => Err(Error::Internal("a transaction token is neither stored nor marked as undone".to_owned())),
        }
    }
}

/// Whether there are tokens that are too old.
pub(in crate::store::engine::postgres) fn any_old(tx: &Transaction<'_>) -> Result<bool> {
    let sql = format!("SELECT 1 AS found FROM transaction_tokens WHERE began_at < {} LIMIT 1", deleted_before());
    tx.exists(&sql, &[])
}

/// Deletes tokens that are too old, a limited number of them. Passes over those that another process deletes.
pub(in crate::store::engine::postgres) fn delete_old(tx: &Transaction<'_>) -> Result<()> {
    let sql = format!(
        "DELETE FROM transaction_tokens WHERE (began_at, token) IN (SELECT began_at, token FROM transaction_tokens
            WHERE began_at < {} ORDER BY began_at LIMIT {DELETED_AT_ONCE} FOR UPDATE SKIP LOCKED)",
        deleted_before()
    );
    tx.execute(&sql, &[])
}

fn deleted_before() -> String {
    format!("{MILLIS_OF_SERVER} - {}", RETENTION.as_millis())
}
