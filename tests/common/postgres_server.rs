//! The PostgreSQL server on which the tests run instead of database files, if `TICKETING_TEST_POSTGRES` is the URL of
//! one. Each path of a database file has a database of its own on it, until the folder of the path is deleted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::Type;
use postgres::{Client, NoTls, SimpleQueryMessage};
use rusqlite::types::Value;

/// The databases that this process uses, by their paths.
static DATABASES: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// Connections to the database that every server has, which nobody uses.
static CLIENTS: Mutex<Vec<Client>> = Mutex::new(Vec::new());

/// The server.
struct Server {
    /// Its URL without a database.
    url: String,
}

/// Whether the tests use databases of a server.
pub fn is_used() -> bool {
    server().is_some()
}

fn server() -> Option<Server> {
    let url = std::env::var("TICKETING_TEST_POSTGRES").ok()?;
    let (url, _) = url.rsplit_once('/').expect("a URL with a database");
    Some(Server { url: url.to_owned() })
}

fn databases() -> MutexGuard<'static, BTreeMap<PathBuf, String>> {
    DATABASES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The URL of the database for this path, which is created if it does not exist. `None` if the tests use database
/// files.
pub fn database_of(path: &Path) -> Option<String> {
    let server = server()?;
    if let Some(name) = databases().get(path) {
        return Some(server.database(name));
    }
    let mut client = server.client();
    drop_unused(&mut client);
    let name = name_of(path);
    if !exists(&mut client, &name) {
        copy(&mut client, &server.template(), &name);
        record(&mut client, &name);
    }
    databases().insert(path.to_owned(), name.clone());
    Some(server.database(&name))
}

/// Whether `.ci/postgres/run select` has started the tests.
fn is_recorded() -> bool {
    std::env::var_os("TICKETING_TEST_RECORD").is_some()
}

/// Stores which test uses a database, if that is recorded. The statements of the tests themselves have another user.
fn record(client: &mut Client, name: &str) {
    if is_recorded() {
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        let sql = "INSERT INTO recorded SELECT oid, $2 FROM pg_database WHERE datname = $1";
        client.execute(sql, &[&name, &test]).expect(sql);
    }
}

/// Creates the database for this path without tables. Does nothing if the tests use database files.
pub fn create_empty(path: &Path) {
    if let Some(server) = server() {
        let name = name_of(path);
        server.client().batch_execute(&format!("CREATE DATABASE {name}")).expect("a new database");
        databases().insert(path.to_owned(), name);
    }
}

/// Creates the database of the path `copy` like that of `path`, to which nobody is connected. Returns false, and does
/// nothing, if the tests use database files.
pub fn copy_of(path: &Path, copied: &Path) -> bool {
    let Some(server) = server() else { return false };
    copy(&mut server.client(), &name_of(path), &name_of(copied));
    databases().insert(copied.to_owned(), name_of(copied));
    true
}

/// Drops the database of a path. Returns false, and does nothing, if the tests use database files.
pub fn delete(path: &Path) -> bool {
    let Some(server) = server() else { return false };
    databases().remove(path);
    drop_database(&mut server.client(), &name_of(path));
    true
}

fn drop_database(client: &mut Client, name: &str) {
    client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).expect("dropped");
}

/// Drops the databases whose folder does not exist any more: their tests have ended.
fn drop_unused(client: &mut Client) {
    let unused: Vec<_> = databases().extract_if(.., |path, _| !path.parent().is_some_and(Path::exists)).collect();
    for (_, name) in unused {
        drop_database(client, &name);
    }
}

/// Creates the database `name` like another one to which nobody is connected, unless another process does so. Its files are
/// copied, which takes half as long as to log its pages.
fn copy(client: &mut Client, original: &str, name: &str) {
    if let Err(error) = client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {original} STRATEGY FILE_COPY"))
    {
        let exists = [SqlState::DUPLICATE_DATABASE, SqlState::UNIQUE_VIOLATION];
        assert!(exists.contains(error.code().expect("a code")), "{error:?}");
    }
}

fn exists(client: &mut Client, name: &str) -> bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)";
    client.query_one(sql, &[&name]).expect(sql).get(0)
}

/// The name of the database for a path, which is the same in each process.
fn name_of(path: &Path) -> String {
    format!("test_{:016x}", hash(path))
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Server {
    /// The URL of a database.
    fn database(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    /// A connection to the database that every server has.
    fn client(&self) -> LentClient {
        let unused = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connect = || Client::connect(&self.database("postgres"), NoTls).expect("the server");
        LentClient(Some(unused.unwrap_or_else(connect)))
    }

    /// The name of a database with the schema of this program, which is created first unless another process has done
    /// so. To copy it is faster than to create the schema again.
    fn template(&self) -> String {
        static NAME: OnceLock<String> = OnceLock::new();
        let create = || {
            let program = std::env::current_exe().expect("the program");
            let built = program.metadata().and_then(|metadata| metadata.modified()).expect("its time");
            let name = format!("template_{:016x}", hash((program, built)));
            let mut client = self.client();
            client.batch_execute("SELECT pg_advisory_lock(0)").expect("locked");
            if !exists(&mut client, &name) {
                client.batch_execute(&format!("CREATE DATABASE {name}")).expect("a new database");
                let opened = ticketing::TicketingService::postgres(
                    ticketing::PostgresDatabase::new(&self.database(&name)).expect("a URL"),
                )
                .open();
                drop(opened.expect("the template"));
            }
            client.batch_execute("SELECT pg_advisory_unlock(0)").expect("unlocked");
            name
        };
        NAME.get_or_init(create).clone()
    }
}

/// A connection of [`CLIENTS`].
struct LentClient(Option<Client>);

impl Deref for LentClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.0.as_ref().expect("it is lent")
    }
}

impl DerefMut for LentClient {
    fn deref_mut(&mut self) -> &mut Client {
        self.0.as_mut().expect("it is lent")
    }
}

impl Drop for LentClient {
    fn drop(&mut self) {
        let client = self.0.take().filter(|client| !client.is_closed());
        CLIENTS.lock().unwrap_or_else(PoisonError::into_inner).extend(client);
    }
}

/// A connection to a database. Its methods panic if a statement fails.
pub struct Database(RefCell<Client>);

impl Database {
    pub fn open(url: &str) -> Self {
        let url = if is_recorded() { &url.replace("//ticketing@", "//test@") } else { url };
        Self(RefCell::new(Client::connect(url, NoTls).expect("the database")))
    }

    /// Drops all CHECK and FOREIGN KEY constraints, one connection at a time.
    pub fn drop_constraints(&self) {
        self.run("SELECT pg_advisory_lock(0)");
        let sql = "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint
            WHERE contype IN ('c', 'f') AND connamespace = 'public'::regnamespace";
        let statements = self.0.borrow_mut().simple_query(sql).expect(sql);
        for statement in statements {
            if let SimpleQueryMessage::Row(row) = statement {
                self.run(row.get(0).expect("a statement"));
            }
        }
        self.run("SELECT pg_advisory_unlock(0)");
    }

    /// Creates a trigger and its function, which have the same name.
    #[track_caller]
    pub fn trigger(&self, name: &str, when: &str, condition: &str, action: &str) {
        self.run(&format!(
            "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN IF {condition} THEN {action}; END IF; RETURN COALESCE(NEW, OLD); END $$;
            CREATE TRIGGER {name} {when} FOR EACH ROW EXECUTE FUNCTION {name}()"
        ));
    }

    /// Begins a transaction that keeps all others from writing. `wait` is empty or `NOWAIT`.
    pub fn lock_tables(&self, wait: &str) -> Result<(), postgres::Error> {
        let mut client = self.0.borrow_mut();
        let tables = client.query_one(
            "SELECT string_agg(CAST(tablename AS TEXT), ', ') FROM pg_tables WHERE schemaname = 'public'",
            &[],
        )?;
        let tables: String = tables.get(0);
        client.batch_execute(&format!("BEGIN; LOCK TABLE {tables} IN EXCLUSIVE MODE {wait}"))
    }

    /// Begins a transaction that keeps all others from writing, and waits for those that write. The tables are locked
    /// one after the other, so the server may end this transaction for another one that wants them in another order.
    #[track_caller]
    pub fn lock_tables_when_free(&self) {
        while let Err(error) = self.lock_tables("") {
            assert_eq!(error.code(), Some(&postgres::error::SqlState::T_R_DEADLOCK_DETECTED), "{error}");
            self.run("ROLLBACK");
        }
    }

    /// Waits until this is the only connection to the database: a connection ends a moment after it was closed.
    #[track_caller]
    pub fn assert_no_other_connection(&self) {
        let sql = "SELECT COUNT(*) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
        let others = || self.0.borrow_mut().query_one(sql, &[]).expect(sql).get::<_, i64>(0);
        let closed = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            others() == 0
        });
        assert!(closed, "{} connections are left", others());
    }

    #[track_caller]
    pub fn run(&self, sql: &str) {
        self.0.borrow_mut().batch_execute(sql).expect(sql);
    }

    #[track_caller]
    pub fn execute(&self, sql: &str, values: &[Value]) -> usize {
        let mut client = self.0.borrow_mut();
        let statement = client.prepare_typed(&numbered(sql), &types(values)).expect(sql);
        let values: Vec<Parameter<'_>> = values.iter().map(Parameter).collect();
        let mut rows = client.query_raw(&statement, &values).expect(sql);
        while rows.next().expect(sql).is_some() {}
        usize::try_from(rows.rows_affected().unwrap_or(0)).expect("a number")
    }

    /// The names of the columns, and the rows.
    pub fn query(&self, sql: &str, values: &[Value]) -> Result<(Vec<String>, Vec<Vec<Value>>), String> {
        let mut client = self.0.borrow_mut();
        let described = |error: postgres::Error| format!("{error:?}");
        let statement = client.prepare_typed(&numbered(sql), &types(values)).map_err(described)?;
        let columns = statement.columns().iter().map(|column| column.name().to_owned()).collect();
        let values: Vec<Parameter<'_>> = values.iter().map(Parameter).collect();
        let rows = client.query_raw(&statement, &values).map_err(described)?;
        let rows = rows.map(|row| Ok((0..row.len()).map(|index| row.get::<_, Read>(index).0).collect()));
        Ok((columns, rows.collect().map_err(described)?))
    }
}

fn types(values: &[Value]) -> Vec<Type> {
    let of = |value: &Value| match value {
        Value::Null => Type::UNKNOWN,
        Value::Integer(_) => Type::INT8,
        Value::Real(_) => Type::FLOAT8,
        Value::Text(_) => Type::TEXT,
        Value::Blob(_) => Type::BYTEA,
    };
    values.iter().map(of).collect()
}

/// The text with PostgreSQL's parameters.
fn numbered(sql: &str) -> String {
    let mut text = String::new();
    let mut parameters = 0;
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '?' {
            text.push(c);
            continue;
        }
        text.push('$');
        if !chars.peek().is_some_and(char::is_ascii_digit) {
            parameters += 1;
            text.push_str(&parameters.to_string());
        }
    }
    text
}

#[derive(Debug)]
struct Parameter<'v>(&'v Value);

impl postgres::types::ToSql for Parameter<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<postgres::types::IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(postgres::types::IsNull::Yes),
            Value::Integer(value) => value.to_sql(ty, out),
            Value::Real(value) => value.to_sql(ty, out),
            Value::Text(value) => value.to_sql(ty, out),
            Value::Blob(value) => value.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

/// Reads PostgreSQL's binary format of a decimal number without decimals, which sums have: the number of its digits to
/// the base 10,000, the power of the first one, the sign, the number of decimals, and the digits.
fn integer(raw: &[u8]) -> Result<i64, Box<dyn std::error::Error + Sync + Send>> {
    let words: Vec<i16> = raw.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]])).collect();
    let [digits, weight, sign, decimals, rest @ ..] = words.as_slice() else { return Err("no number".into()) };
    if *decimals != 0 {
        return Err("not an integer".into());
    }
    let mut number = 0;
    for power in 0..=*weight {
        let digit = if power < *digits { rest.get(usize::try_from(power)?).copied().unwrap_or(0) } else { 0 };
        number = number * 10_000 + i64::from(digit);
    }
    Ok(if *sign == 0 { number } else { -number })
}

struct Read(Value);

impl<'r> postgres::types::FromSql<'r> for Read {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(match *ty {
            Type::INT8 => Value::Integer(i64::from_sql(ty, raw)?),
            Type::INT4 => Value::Integer(i32::from_sql(ty, raw)?.into()),
            Type::BOOL => Value::Integer(bool::from_sql(ty, raw)?.into()),
            Type::NUMERIC => Value::Integer(integer(raw)?),
            Type::FLOAT8 => Value::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Value::Blob(raw.to_vec()),
            _ => Value::Text(std::str::from_utf8(raw)?.to_owned()),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
