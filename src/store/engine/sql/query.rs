//! Statements that return rows, and what they do besides.

use crate::store::engine::lock::RowLock;

/// A statement that returns rows. The text of one that only reads is a query by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'s> {
    pub(in crate::store::engine) sql: &'s str,
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "SQLite has only one write transaction at a time")
    )]
    pub(in crate::store::engine) access: Access,
}

/// What a query does with the rows that it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store::engine) enum Access {
    Read,
    /// Locks them until the transaction ends.
    Lock(RowLock),
    /// Changes or deletes them: the statement ends with RETURNING.
    Change,
}

impl<'s> Query<'s> {
    pub(in crate::store) const fn locking(lock: RowLock, sql: &'s str) -> Self {
        Self { sql, access: Access::Lock(lock) }
    }

    /// A statement that returns the rows that it has changed.
    pub(in crate::store) const fn changing(sql: &'s str) -> Self {
        Self { sql, access: Access::Change }
    }
}

impl<'s> From<&'s str> for Query<'s> {
    fn from(sql: &'s str) -> Self {
        debug_assert!(!sql.contains("RETURNING"), "a query that changes rows must say so: {sql}");
        Self { sql, access: Access::Read }
    }
}

impl<'s> From<&'s String> for Query<'s> {
    fn from(sql: &'s String) -> Self {
        sql.as_str().into()
    }
}
