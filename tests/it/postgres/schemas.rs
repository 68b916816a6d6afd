//! The schemas of database files and of PostgreSQL are the same: PostgreSQL is given the statements of a file, and
//! compares what it makes of them with its own tables.

use std::collections::BTreeSet;

use postgres::Client;

use crate::postgres::clusters::start;
use crate::postgres::sale::open;

/// The tables that only PostgreSQL has: the number of its migrations, which a file has in its header, and the tokens by
/// which the outcome of a commit is found out after a lost connection.
const OWN_TABLES: &str = "'schema_version', 'transaction_tokens'";

/// The columns with their types, whether they may be NULL, and their defaults; the CHECKs and foreign keys; the indexes
/// with their columns, whether they are unique, and the rows that they have.
fn facts(client: &mut Client, schema: &str) -> BTreeSet<String> {
    // Names are qualified unless they are in the path.
    client.batch_execute(&format!("SET search_path = {schema}")).unwrap();
    let tables = format!("relnamespace = '{schema}'::regnamespace AND relkind = 'r' AND relname NOT IN ({OWN_TABLES})");
    let columns = format!(
        "SELECT FORMAT('%s.%s %s %s DEFAULT %s', relname, attname, FORMAT_TYPE(atttypid, atttypmod),
            CASE WHEN attnotnull THEN 'NOT NULL' ELSE 'NULL' END, PG_GET_EXPR(adbin, adrelid))
        FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
            LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE {tables}"
    );
    let constraints = format!(
        "SELECT FORMAT('%s %s', relname, PG_GET_CONSTRAINTDEF(pg_constraint.oid))
        FROM pg_class JOIN pg_constraint ON conrelid = pg_class.oid AND contype IN ('c', 'f') WHERE {tables}"
    );
    // The rows of a file are sorted by their key within an index.
    let indexes = format!(
        "SELECT FORMAT('%s %s (%s) WHERE %s', relname, CASE WHEN indisunique THEN 'UNIQUE' ELSE 'INDEX' END,
            CASE WHEN indisunique THEN columns ELSE REGEXP_REPLACE(columns, ', id$', '') END, PG_GET_EXPR(indpred, indrelid))
        FROM pg_class JOIN pg_index ON indrelid = pg_class.oid CROSS JOIN LATERAL (
            SELECT STRING_AGG(PG_GET_INDEXDEF(indexrelid, number, FALSE), ', ' ORDER BY number) AS columns
            FROM GENERATE_SERIES(1, indnkeyatts) number) keys
        WHERE {tables}"
    );
    let queries = [columns, constraints, indexes];
    let rows = queries.iter().flat_map(|sql| client.query(sql, &[]).unwrap());
    rows.map(|row| plain(row.get(0))).collect()
}

/// An expression without parentheses, casts and `ANY`, which only one of the engines writes.
fn plain(fact: &str) -> String {
    let mut text = fact.replace("::text", "").replace("::bigint", "").replace("'::", "' ");
    while let Some((before, rest)) = text.split_once(" = ANY (ARRAY[") {
        let (values, after) = rest.split_once("])").unwrap();
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let column = &before[start..];
        let any: Vec<_> = values.split(", ").map(|value| format!("{column} = {value}")).collect();
        text = format!("{}{}{after}", &before[..start], any.join(" OR "));
    }
    text.replace(['(', ')'], "")
}

/// Creates the tables and indexes of a database file in another schema of the server.
fn create_tables_of_file(client: &mut Client) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticketing.db");
    drop(ticketing::TicketingService::open(&path).unwrap());
    let file = rusqlite::Connection::open(&path).unwrap();
    let sql =
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type = 'index'";
    let mut query = file.prepare(sql).unwrap();
    let mut statements: Vec<String> = query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    client.batch_execute("CREATE SCHEMA file; SET search_path = file").unwrap();
    // A table is created after those that its foreign keys refer to.
    while !statements.is_empty() {
        let mut failed = Vec::new();
        let mut error = None;
        for statement in &statements {
            let sql = statement.trim_end().trim_end_matches("STRICT");
            let sql = sql.replace(" INTEGER", " BIGINT").replace(" BLOB", " BYTEA");
            if let Err(reason) = client.batch_execute(&sql) {
                failed.push(statement.clone());
                error = Some((sql, reason));
            }
        }
        assert!(failed.len() < statements.len(), "{error:#?}");
        statements = failed;
    }
}

#[test]
fn the_tables_of_a_file_and_of_postgresql_are_the_same() {
    let Some(cluster) = start() else { return };
    drop(open(&cluster.url("postgres")));
    let mut client = cluster.client("postgres");
    create_tables_of_file(&mut client);
    let of_file = facts(&mut client, "file");
    assert!(of_file.len() > 400, "{}", of_file.len());
    let differences = |client: &mut Client| -> BTreeSet<String> {
        let of_server = facts(client, "public");
        let only_file = of_file.difference(&of_server).map(|fact| format!("file: {fact}"));
        only_file.chain(of_server.difference(&of_file).map(|fact| format!("server: {fact}"))).collect()
    };
    assert_eq!(differences(&mut client), BTreeSet::new());

    // Control: each kind of change is noticed.
    for change in [
        "CREATE TABLE further (id BIGINT)",
        "ALTER TABLE orders ADD COLUMN further BIGINT",
        "ALTER TABLE orders ALTER COLUMN total TYPE NUMERIC",
        "ALTER TABLE orders ALTER COLUMN total DROP NOT NULL",
        "ALTER TABLE webhook_outbox ALTER COLUMN attempts SET DEFAULT 1",
        "ALTER TABLE webhook_outbox DROP CONSTRAINT webhook_outbox_attempts_check",
        "ALTER TABLE order_items DROP CONSTRAINT order_items_order_id_fkey",
        "DROP INDEX webhook_outbox_waiting",
        "DROP INDEX webhook_outbox_finished; CREATE INDEX ON webhook_outbox (finished_at) WHERE state = 'DEAD'",
        "DROP INDEX customers_by_email; CREATE INDEX ON customers (organization_id, email_key)",
    ] {
        client.batch_execute(&format!("SET search_path = public; BEGIN; {change}")).unwrap();
        assert_ne!(differences(&mut client), BTreeSet::new(), "{change}");
        client.batch_execute("ROLLBACK").unwrap();
    }
}
