//! An open PostgreSQL database: its connections for writing and reading.

use std::sync::{Arc, OnceLock};

use super::connections::announcer::Announcer;
use super::connections::listener::Listener;
use super::connections::pool::Connector;
use super::connections::standby::{ReadPool, Standby};
use super::net::purpose::Purpose;
use super::postgres_options::PostgresOptions;
use super::postgres_snapshots::PostgresSnapshots;
use super::schema::migrate;
use super::statements::postgres_connection::{PostgresConnection, first_column};
use super::statements::write_state::EventLock;
use super::writing::event_owners::EventOwners;
use super::writing::tokens;
use super::writing::writer::PostgresWriter;
use crate::environment::{Entropy, Environment, SystemEntropy};
use crate::error::{Result, StoreError, StoreErrorKind};
use crate::fair::Tenant;
use crate::store::commits::commit_notifier::CommitNotifier;
use crate::store::engine::after_commit::AfterCommit;
use crate::store::engine::engine_options::ReaderOptions;
use crate::store::engine::engines::{Engine, JobEvent};
use crate::store::engine::jobs::{self, Job};
use crate::store::engine::lock::EventKey;
use crate::store::engine::readers::{Isolation, Readers};
use crate::store::engine::snapshots::Snapshots;
use crate::store::engine::tables::{EventOwner, Tables};
use crate::store::engine::transaction::Transaction;
use crate::store::migrations;

/// How a database is created whose encoding is UTF-8, also on a server whose own encoding is another one.
const CREATE_DATABASE: &str = "CREATE DATABASE ticketing ENCODING 'UTF8' TEMPLATE template0";

/// An open PostgreSQL database.
pub(in crate::store) struct PostgresEngine {
    readers: Readers,
    writer: PostgresWriter,
    event_owners: EventOwners,
    tables: Tables,
    connector: Connector,
    /// Serves reads that may look at many rows, if there is one.
    standby: Option<Arc<Standby>>,
    environment: Environment,
    /// Tells other processes of the commits of this one. Dropped after the writer.
    _announcer: Announcer,
    /// Hears of the commits of others, once somebody waits for them.
    listener: OnceLock<Listener>,
    options: PostgresOptions,
    commit_notifier: Arc<CommitNotifier>,
    /// A random number, by which this process knows its own announcements.
    process: u64,
}

impl PostgresEngine {
    /// Opens the database, and creates or migrates its schema.
    pub(in crate::store) fn open(
        options: &PostgresOptions,
        readers: ReaderOptions,
        environment: &Environment,
        after_commit: AfterCommit,
        tables: Tables,
    ) -> Result<Self> {
        let known = migrations::POSTGRES.known();
        let writing = Connector::new(options, Purpose::Write);
        let first_writing = writing.open()?;
        require_utf8(&first_writing)?;
        let migrated_from = migrate(&first_writing, options)?;
        warn_if_asynchronous(&first_writing)?;
        let tx = Transaction::new(&first_writing, environment.now(), environment);
        // A damaged table must not keep the others from being used.
        if let Ok(Some(newest)) = (tables.newest_id)(&tx) {
            environment.ids.continue_after(newest, environment.now());
        }
        let environment = (tables.open_links)(&tx)?;
        drop(tx);
        let connector = Connector::new(options, Purpose::Read);
        let scan_connections = (readers.connections / 2).max(1);
        let standby = options.read_from.as_ref().map(|options| Connector::new(options, Purpose::Read));
        let standby = standby.map(|connector| Arc::new(Standby::new(connector, scan_connections)));
        let look_ups = ReadPool::new(connector.clone().pool(readers.connections), None);
        let scans = ReadPool::new(connector.clone().pool(scan_connections), standby.clone());
        let readers = Readers::new(look_ups, scans, scan_connections, readers.max_scan_time, environment.clone());
        let commit_notifier = Arc::clone(&after_commit.commit_notifier);
        let process = random_number();
        let announcer = Announcer::start(writing.clone(), &commit_notifier, process)?;
        let writers = writing.pool(options.writers);
        writers.keep(first_writing);
        let writer = PostgresWriter::new(
            (writers, options.writers),
            (options.server_clock.clone(), options.uses_server_clock),
            environment.clone(),
            after_commit,
        );
        tracing::info!(
            target: "ticketing::store",
            database = %options,
            schema_version = known,
            migrated_from = (migrated_from < known).then_some(migrated_from),
            "database opened"
        );
        Ok(Self {
            readers,
            writer,
            event_owners: EventOwners::default(),
            tables,
            connector,
            standby,
            environment,
            _announcer: announcer,
            listener: OnceLock::new(),
            options: options.clone(),
            commit_notifier,
            process,
        })
    }

    fn owner_of(&self, key: EventKey) -> Result<Option<EventOwner>> {
        self.event_owners
            .owner_of(key, || self.readers.look_up(Isolation::Statement, |tx| (self.tables.event_owner)(tx, key)))
    }
}

impl Engine for PostgresEngine {
    fn submit(&self, tenant: Tenant, event: Option<JobEvent>, job: Box<dyn Job>) -> bool {
        let Some(JobEvent { key, waits_briefly }) = event else {
            return self.writer.submit(tenant, EventLock::None, job);
        };
        let lock = match self.owner_of(key) {
            Err(error) => {
                job.answer(Err(error));
                return false;
            }
            Ok(None) => EventLock::Unknown,
            Ok(Some(owner)) if waits_briefly => EventLock::Background(owner.event, key),
            Ok(Some(owner)) if tenant == Some(owner.organization) => {
                self.writer.submit_to_queue(tenant, owner.event, key, job);
                return false;
            }
            // The job fails, because it does not find the event. It neither waits for the others of the event nor locks
            // it.
            Ok(Some(_)) => EventLock::Foreign,
        };
        self.writer.submit(tenant, lock, job)
    }

    fn readers(&self) -> &Readers {
        &self.readers
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(PostgresSnapshots::new(self.connector.clone(), self.standby.clone(), self.environment.clone()))
    }

    fn waiting(&self) -> usize {
        self.writer.waiting()
    }

    fn stopped(&self) -> Option<&StoreError> {
        self.writer.stopped()
    }

    fn last_write_failed(&self) -> bool {
        self.writer.last_write_failed()
    }

    /// Fails if the store has stopped, if the server does not answer within seconds, or if there is a reason to doubt
    /// that it accepts writes and it does not accept one.
    fn ready(&self) -> Result<()> {
        self.writer.check()
    }

    fn delete_expired(&self) -> Result<()> {
        if self.readers.look_up(Isolation::Statement, tokens::any_old)? {
            let (job, answer) = jobs::job(tokens::delete_old);
            self.writer.submit(None, EventLock::None, job);
            answer.wait()?;
        }
        Ok(())
    }

    fn listen(&self) {
        self.listener
            .get_or_init(|| Listener::start(self.options.clone(), Arc::clone(&self.commit_notifier), self.process));
    }
}

/// Not from the source of the service: in tests, several have the same.
fn random_number() -> u64 {
    let mut bytes = [0; 8];
    SystemEntropy.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Fails if the database cannot store all texts, and count their characters.
fn require_utf8(connection: &PostgresConnection) -> Result<()> {
    let answer = connection.simple_query("SHOW server_encoding")?;
    match answer.iter().find_map(first_column) {
        Some("UTF8") => Ok(()),
        encoding => {
            let encoding = encoding.unwrap_or("unknown");
            let problem = format!("its encoding is {encoding} and must be UTF8: create it with {CREATE_DATABASE}");
            Err(StoreErrorKind::CannotOpen(problem).into())
        }
    }
}

/// Warns if a crash of the server, or a failover, may lose what was acknowledged.
fn warn_if_asynchronous(connection: &PostgresConnection) -> Result<()> {
    let answer = connection.simple_query("SHOW synchronous_commit")?;
    match answer.iter().find_map(first_column) {
        Some("off") => tracing::warn!(
            target: "ticketing::store",
            "synchronous_commit is off: a crash of the database server loses orders that were acknowledged"
        ),
        Some("local") => tracing::warn!(
            target: "ticketing::store",
            "synchronous_commit is local: a failover to a standby loses orders that were acknowledged"
        ),
        _ => {}
    }
    Ok(())
}

impl Drop for PostgresEngine {
    fn drop(&mut self) {
        tracing::info!(target: "ticketing::store", "database closed");
    }
}
