//! The keys by which texts are compared. SQL cannot compute them: a migration of both engines calls [`recompute`].

use std::ops::ControlFlow;

use super::connection::Connection;
use crate::error::Result;
use crate::rules::event::search_text;
use crate::rules::text::{email_key, fold};

const EVENTS: &str = "SELECT id, title || '\n' || slug AS text, search_text AS key FROM events";
// The key of an ASCII address is as it was.
const CUSTOMERS: &str = "SELECT id, email AS text, email_key AS key FROM customers
    WHERE octet_length(email) <> length(email) ORDER BY id";
const DISCOUNTS: &str = "SELECT id, code AS text, code_key AS key FROM discounts ORDER BY id";
const SAME_CUSTOMER: &str = "SELECT c.id FROM customers c JOIN customers own ON own.organization_id = c.organization_id
    WHERE own.id = ?1 AND c.email_key = ?2 AND c.id <> ?1";
const SAME_CODE: &str = "SELECT d.id FROM discounts d JOIN discounts own ON own.event_id = d.event_id
    WHERE own.id = ?1 AND d.code_key = ?2 AND d.id <> ?1";

/// Computes all keys again. If another customer has the key already, its orders and tickets become those of the other
/// one. If another discount of the event has it, a number is added to the code: `CODE-2`.
pub(super) fn recompute(connection: &dyn Connection) -> Result<()> {
    let search_text =
        |text: &str| text.rsplit_once('\n').map_or_else(String::new, |(title, slug)| search_text(title, slug));
    for (id, _, key) in changed(connection, EVENTS, search_text)? {
        connection.execute("UPDATE events SET search_text = ?2 WHERE id = ?1", &[id.into(), key.into()])?;
    }
    for (id, _, key) in changed(connection, CUSTOMERS, email_key)? {
        if let Some(same) = find(connection, SAME_CUSTOMER, id, &key)? {
            connection
                .execute("UPDATE orders SET customer_id = ?2 WHERE customer_id = ?1", &[id.into(), same.into()])?;
            connection
                .execute("UPDATE tickets SET customer_id = ?2 WHERE customer_id = ?1", &[id.into(), same.into()])?;
            connection.execute("DELETE FROM customers WHERE id = ?1", &[id.into()])?;
        } else {
            connection.execute("UPDATE customers SET email_key = ?2 WHERE id = ?1", &[id.into(), key.into()])?;
        }
    }
    for (id, mut code, mut key) in changed(connection, DISCOUNTS, fold)? {
        let (unnumbered, mut number) = (code.clone(), 1);
        while find(connection, SAME_CODE, id, &key)?.is_some() {
            number += 1;
            code = format!("{unnumbered}-{number}");
            key = fold(&code);
        }
        let sql = "UPDATE discounts SET code = ?2, code_key = ?3, revision = revision + ?4 WHERE id = ?1";
        connection.execute(sql, &[id.into(), code.into(), key.into(), i64::from(number > 1).into()])?;
    }
    Ok(())
}

/// The ids, texts and keys of the rows whose key is not the stored one. Rows that cannot be read are left to the check
/// of the database.
fn changed(connection: &dyn Connection, sql: &str, key: impl Fn(&str) -> String) -> Result<Vec<(i64, String, String)>> {
    let mut changed = Vec::new();
    connection.query_table(sql, &mut |row| {
        if let (Ok(id), Ok(text), Ok(stored)) = (row.get("id"), row.get::<String>("text"), row.get::<String>("key")) {
            changed.extend(Some((id, key(&text), text)).filter(|(_, key, _)| *key != stored));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(changed.into_iter().map(|(id, key, text)| (id, text, key)).collect())
}

/// Returns another row with this key.
fn find(connection: &dyn Connection, sql: &str, id: i64, key: &str) -> Result<Option<i64>> {
    let mut found = None;
    connection.query(sql.into(), &[id.into(), key.into()], &mut |row| {
        found = Some(row.get("id")?);
        Ok(ControlFlow::Break(()))
    })?;
    if let Some(same) = found {
        tracing::warn!(target: "ticketing::store", id, same, "two addresses or codes count as equal now");
    }
    Ok(found)
}
