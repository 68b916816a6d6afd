//! The secret with which the tokens of links are made.

use crate::error::{Error, Result};
use crate::model::tickets::link_token::LinkSecret;
use crate::store::Transaction;

const SECRET: &str = "SELECT secret FROM link_secret WHERE id = 1";
const INSERT_SECRET: &str = "INSERT INTO link_secret (id, secret) VALUES (1, ?1) ON CONFLICT (id) DO NOTHING";

/// Returns the secret of the store. `None` if no link was ever made.
pub(crate) fn get(tx: &Transaction<'_>) -> Result<Option<LinkSecret>> {
    let parse = |text: &str| {
        let mut secret = [0; 32];
        hex::decode_to_slice(text, &mut secret).ok().map(|()| LinkSecret(secret))
    };
    tx.query_opt(SECRET, &[], |row| row.parsed("secret", parse, "is not 32 bytes in hexadecimal"))
}

/// Returns the secret of the store, and makes it if there is none.
pub(crate) fn get_or_make(tx: &Transaction<'_>) -> Result<LinkSecret> {
    if let Some(secret) = get(tx)? {
        return Ok(secret);
    }
    tx.execute(INSERT_SECRET, &[hex::encode(tx.environment().random::<32>()).into()])?;
    // Another process may have been first.
    get(tx)?.ok_or_else(|| Error::Internal("the secret of the links was not stored".to_owned()))
}
