//! Large results: pages that end early, and tables that are read in steps.

use std::ops::ControlFlow;

use postgres::Column;
use postgres::types::Type;

use super::postgres_connection::PostgresConnection;
use super::prepared::Prepared;
use crate::error::Result;
use crate::store::engine::connection::{Connection as _, Visit};
use crate::store::engine::sql::row::{ColumnNames, Row};
use crate::store::engine::sql::values::Bind;

/// After how many bytes of values no row of a page is received, unless the page has room for it.
const PAGE_BYTES: i64 = 4 * 1024 * 1024;

/// How many rows the first step receives.
const FIRST_ROWS: usize = 20;

/// How many rows each further step receives at most.
const MAX_ROWS: usize = 1000;

/// How many bytes a further step receives if its rows are as long as those before.
const STEP_BYTES: usize = 1024 * 1024;

impl PostgresConnection {
    /// Passes the rows of a page to `visit`, until it breaks.
    ///
    /// The server sends the rows up to [`PAGE_BYTES`] of texts. A page that has room for more is read once more,
    /// without that limit.
    pub(in crate::store::engine::postgres) fn visit_page(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let Some(bounded) = bounded(sql, &self.prepare(sql, binds)?) else {
            return self.query(sql.into(), binds, visit);
        };
        let (mut visited, mut bytes) = (0, 0);
        let mut flow = ControlFlow::Continue(());
        self.query((&bounded).into(), binds, &mut |row| {
            visited += 1;
            bytes = row.get("bytes_so_far")?;
            flow = visit(row)?;
            Ok(flow)
        })?;
        if flow.is_break() || bytes <= PAGE_BYTES {
            return Ok(());
        }
        let mut skipped = 0;
        self.query(sql.into(), binds, &mut |row| {
            if skipped == visited {
                return visit(row);
            }
            skipped += 1;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Passes all rows of a query without parameters to `visit`, until it breaks. Keeps a few of them in memory at a
    /// time. The connection has a transaction, and `visit` runs no such query.
    pub(in crate::store::engine::postgres) fn visit_in_steps(&self, sql: &str, visit: &mut Visit<'_>) -> Result<()> {
        // All rows will be read, which is not what the planner expects of a cursor.
        self.queue_batch(format!(
            "SET LOCAL cursor_tuple_fraction = 1; DECLARE rows_in_steps NO SCROLL CURSOR FOR {sql}"
        ));
        let visited = self.fetch_all(visit);
        self.queue_batch("CLOSE rows_in_steps");
        visited
    }

    fn fetch_all(&self, visit: &mut Visit<'_>) -> Result<()> {
        let mut number = FIRST_ROWS;
        loop {
            let sql = format!("FETCH {number} FROM rows_in_steps");
            let rows = self.request(|client| async move { client.query_typed(&sql, &[]).await })?;
            let Some(first) = rows.first() else { return Ok(()) };
            let columns = ColumnNames::new(first.columns().iter().map(Column::name));
            for row in &rows {
                if visit(&Row::new(row, &columns))?.is_break() {
                    return Ok(());
                }
            }
            if rows.len() < number {
                return Ok(());
            }
            let bytes: usize = rows.iter().map(postgres::Row::raw_size_bytes).sum();
            number = (STEP_BYTES * rows.len() / bytes.max(1)).clamp(1, MAX_ROWS);
        }
    }
}

/// A query for the rows of another one, up to the first that comes after [`PAGE_BYTES`] of texts. `None` if no column
/// is a text. The server does not read long texts of the rows that it leaves out.
fn bounded(sql: &str, prepared: &Prepared) -> Option<String> {
    let is_text = |column: &&Column| matches!(*column.type_(), Type::TEXT | Type::BYTEA);
    let texts = prepared.statement.columns().iter().filter(is_text);
    let lengths: Vec<_> = texts.map(|column| format!("COALESCE(OCTET_LENGTH({}), 0)", column.name())).collect();
    let bytes = lengths.join(" + ");
    (!bytes.is_empty()).then(|| {
        format!(
            "SELECT * FROM (SELECT *, SUM(row_bytes) OVER (ROWS UNBOUNDED PRECEDING) AS bytes_so_far
                FROM (SELECT *, {bytes} AS row_bytes FROM ({sql}) page) page) page
            WHERE bytes_so_far - row_bytes <= {PAGE_BYTES}"
        )
    })
}
