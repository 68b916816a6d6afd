//! Prepared statements: each text is prepared once for each connection.

use std::collections::HashMap;
use std::sync::Arc;

use postgres::Statement;
use postgres::types::Type;

use crate::store::engine::sql::row::ColumnNames;
use crate::store::engine::sql::values::Bind;

/// How many statements a connection keeps. There are fewer constant texts, but texts that are built at run time are
/// kept as well. When there are more, all are prepared again.
const MAX_STATEMENTS: usize = 1024;

#[derive(Default)]
pub(in crate::store::engine::postgres) struct Statements {
    by_text: HashMap<Box<str>, Vec<Prepared>>,
    number: usize,
}

/// A statement that was prepared for parameters of these types.
#[derive(Clone)]
pub(in crate::store::engine::postgres) struct Prepared {
    types: Arc<[Type]>,
    limits: Arc<[Limit]>,
    pub(in crate::store::engine::postgres) statement: Statement,
    pub(in crate::store::engine::postgres) columns: Arc<ColumnNames>,
}

/// The value of a parameter with which a statement was prepared: the position of the parameter, and the number.
pub(in crate::store::engine::postgres) type Limit = (usize, i64);

impl Statements {
    /// The prepared statement for this text and parameters of these types.
    pub(in crate::store::engine::postgres) fn get(&self, sql: &str, binds: &[Bind<'_>]) -> Option<Prepared> {
        self.by_text.get(sql)?.iter().find(|prepared| prepared.fits(binds)).cloned()
    }

    /// Keeps a statement that was prepared for parameters of these types.
    pub(in crate::store::engine::postgres) fn add(
        &mut self,
        sql: &str,
        (types, limits): (Arc<[Type]>, Arc<[Limit]>),
        statement: Statement,
    ) -> Prepared {
        let columns = Arc::new(ColumnNames::new(statement.columns().iter().map(postgres::Column::name)));
        let prepared = Prepared { types, limits, statement, columns };
        if self.number >= MAX_STATEMENTS {
            *self = Self::default();
        }
        self.number += 1;
        self.by_text.entry(sql.into()).or_default().push(prepared.clone());
        prepared
    }
}

impl Prepared {
    fn fits(&self, binds: &[Bind<'_>]) -> bool {
        let has_limit =
            |(index, number): &Limit| matches!(binds.get(*index), Some(Bind::Int(value)) if value == number);
        self.types.len() == binds.len()
            && self.types.iter().zip(binds).all(|(known, bind)| *known == type_of(bind))
            && self.limits.iter().all(has_limit)
    }
}

/// The types with which a statement is prepared. PostgreSQL infers the types of the parameters that are NULL. It would
/// infer the others too, but a parameter next to a small number, as in `at > ?1 - 5`, would have a type that is too
/// small.
pub(in crate::store::engine::postgres) fn types_of(binds: &[Bind<'_>]) -> Arc<[Type]> {
    binds.iter().map(type_of).collect()
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
///
/// The number of a `LIMIT` is written into the text, and returned. If it were a parameter, PostgreSQL would not know
/// how few rows are read, and plan the statement again each time, which costs more than to read a page.
pub(in crate::store::engine::postgres) fn numbered(sql: &str, binds: &[Bind<'_>]) -> (String, Arc<[Limit]>) {
    let mut text = String::with_capacity(sql.len());
    let mut limits = Vec::new();
    let mut parts = sql.split('?');
    text.extend(parts.next());
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = part.split_at(digits);
        let index = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match (index, index.and_then(|index| binds.get(index))) {
            (Some(index), Some(Bind::Int(limit))) if text.ends_with("LIMIT ") => {
                text.push_str(&limit.to_string());
                limits.push((index, *limit));
            }
            (Some(_), _) => {
                text.push('$');
                text.push_str(number);
            }
            (None, _) => text.push('?'),
        }
        text.push_str(rest);
    }
    (text, limits.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_limit_is_a_part_of_the_text() {
        let (text, limits) =
            numbered("SELECT a FROM t WHERE b = ?1 LIMIT ?2 OFFSET ?1", &[Bind::Int(7), Bind::Int(51)]);
        assert_eq!(text, "SELECT a FROM t WHERE b = $1 LIMIT 51 OFFSET $1");
        assert_eq!(*limits, [(1, 51)]);
    }
}
