//! Prepared statements: each text is prepared once for each connection.

use std::collections::HashMap;
use std::sync::Arc;

use postgres::types::Type;
use postgres::{Client, Statement};

use crate::store::engine::row::ColumnNames;
use crate::store::engine::values::Bind;

/// How many statements a connection keeps. There are fewer constant texts, but texts that are built at run time are kept
/// as well. When there are more, all are prepared again.
const MAX_STATEMENTS: usize = 1024;

/// The prepared statements of a connection.
#[derive(Default)]
pub(super) struct Statements {
    by_text: HashMap<Box<str>, Vec<Prepared>>,
    number: usize,
}

/// A statement that was prepared for parameters of these types.
#[derive(Clone)]
pub(super) struct Prepared {
    types: Arc<[Type]>,
    pub(super) statement: Statement,
    pub(super) columns: Arc<ColumnNames>,
}

impl Statements {
    /// Returns the prepared statement. PostgreSQL infers the types of the parameters that are NULL. It would infer the
    /// others too, but a parameter next to a small number, as in `at > ?1 - 5`, would have a type that is too small.
    pub(super) fn prepare(
        &mut self,
        client: &mut Client,
        sql: &str,
        binds: &[Bind<'_>],
    ) -> Result<Prepared, postgres::Error> {
        let known = self.by_text.get(sql).and_then(|all| all.iter().find(|prepared| prepared.fits(binds)));
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let types: Arc<[Type]> = binds.iter().map(type_of).collect();
        let statement = client.prepare_typed(&numbered(sql), &types)?;
        let columns = Arc::new(ColumnNames::new(statement.columns().iter().map(postgres::Column::name)));
        let prepared = Prepared { types, statement, columns };
        if self.number >= MAX_STATEMENTS {
            *self = Self::default();
        }
        self.number += 1;
        self.by_text.entry(sql.into()).or_default().push(prepared.clone());
        Ok(prepared)
    }
}

impl Prepared {
    fn fits(&self, binds: &[Bind<'_>]) -> bool {
        self.types.len() == binds.len() && self.types.iter().zip(binds).all(|(known, bind)| *known == type_of(bind))
    }
}

fn type_of(bind: &Bind<'_>) -> Type {
    match bind {
        Bind::Null => Type::UNKNOWN,
        Bind::Int(_) => Type::INT8,
        Bind::Text(_) => Type::TEXT,
        Bind::Blob(_) => Type::BYTEA,
    }
}

/// The text with PostgreSQL's parameters, `$1` for `?1`. No literal of a statement has a question mark before a digit.
fn numbered(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        let is_parameter = c == '?' && chars.peek().is_some_and(char::is_ascii_digit);
        text.push(if is_parameter { '$' } else { c });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_as_postgresql_does_it() {
        assert_eq!(
            numbered("SELECT ?1, a FROM t WHERE b = ?12 AND c = '?'"),
            "SELECT $1, a FROM t WHERE b = $12 AND c = '?'"
        );
    }
}
