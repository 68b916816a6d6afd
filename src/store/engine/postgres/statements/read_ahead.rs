//! Queries that are sent with others before their rows are needed.

use std::sync::{Arc, OnceLock};

use tokio_postgres::Row;

use crate::store::engine::sql::values::Bind;

/// The rows of a query, once they are received.
pub(in crate::store::engine::postgres) type Rows = Arc<OnceLock<Vec<Row>>>;

/// The queries of a transaction whose rows are not used yet.
#[derive(Default)]
pub(in crate::store::engine::postgres) struct ReadAhead(Vec<Query>);

struct Query {
    sql: Box<str>,
    binds: Vec<Bind<'static>>,
    rows: Rows,
}

impl ReadAhead {
    /// Notes a query. Returns where its rows go.
    pub(in crate::store::engine::postgres) fn add(&mut self, sql: &str, binds: &[Bind<'_>]) -> Rows {
        let rows = Rows::default();
        let binds = binds.iter().map(Bind::owned).collect();
        self.0.push(Query { sql: sql.into(), binds, rows: Arc::clone(&rows) });
        rows
    }

    /// The rows of the query with this text and these parameters, which are used once.
    pub(in crate::store::engine::postgres) fn take(&mut self, sql: &str, binds: &[Bind<'_>]) -> Option<Rows> {
        let index = self.0.iter().position(|query| *query.sql == *sql && query.binds == binds)?;
        Some(self.0.remove(index).rows)
    }

    pub(in crate::store::engine::postgres) fn clear(&mut self) {
        self.0.clear();
    }
}
