//! PostgreSQL servers that tests start for themselves, with Debian's package postgresql.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use postgres::{Client, NoTls};
use tempfile::TempDir;

use super::unavailable;

/// The user of every cluster, which owns it, and the password of that user.
pub const USER: &str = "ticketing";
pub const PASSWORD: &str = "sword:fish/7";
/// The password in a URL.
const ENCODED_PASSWORD: &str = "sword%3Afish%2F7";

/// A server with a folder of its own. It is stopped when it is dropped.
pub struct Cluster {
    folder: TempDir,
    pub port: u16,
}

/// The folder with PostgreSQL's programs. Prints a message and returns `None` if PostgreSQL is not installed.
fn programs() -> Option<PathBuf> {
    let mut versions: Vec<_> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|folder| folder.join("initdb").exists())
        .collect();
    versions.sort();
    if versions.is_empty() {
        unavailable("PostgreSQL is not installed");
    }
    versions.pop()
}

/// The command of one of PostgreSQL's programs. They refuse to run as root.
fn program(name: &str) -> Command {
    let path = programs().expect("PostgreSQL").join(name);
    let is_root = text(&Command::new("id").arg("-u").output().expect("id").stdout) == "0";
    if !is_root {
        return Command::new(path);
    }
    let mut command = Command::new("runuser");
    command.args(["--user", "postgres", "--"]).arg(path);
    command
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_owned()
}

#[track_caller]
fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{command:?}: {} {}", text(&output.stdout), text(&output.stderr));
    output
}

/// A folder in which the user of the server can write.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    // Fails if this is not root, and the folder is the right one then.
    drop(Command::new("chown").arg("postgres").arg(folder.path()).output());
    folder
}

fn free_port() -> u16 {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    socket.local_addr().expect("an address").port()
}

impl Cluster {
    /// Starts a server with these settings, on which users need their password. `None`, with a message, if PostgreSQL
    /// is not installed.
    pub fn start(settings: &str) -> Option<Self> {
        Self::start_with(|_| settings.to_owned())
    }

    /// The same with the settings that `settings` returns, which can write files for them.
    pub fn start_with(settings: impl FnOnce(&Self) -> String) -> Option<Self> {
        programs()?;
        let cluster = Self { folder: folder(), port: free_port() };
        let password = cluster.write("password", PASSWORD);
        let mut create = program("initdb");
        create.args(["--username", USER, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8"]);
        create.arg("--no-sync").arg("--pwfile").arg(password).arg("--pgdata").arg(cluster.data());
        succeed(create.current_dir("/"));
        cluster.configure(&settings(&cluster));
        cluster.run();
        Some(cluster)
    }

    /// Starts a hot standby of this server.
    pub fn standby(&self) -> Self {
        let standby = Self { folder: folder(), port: free_port() };
        let mut copy = program("pg_basebackup");
        copy.env("PGPASSWORD", PASSWORD).args(["--host", "127.0.0.1", "--username", USER, "--checkpoint", "fast"]);
        copy.args(["--write-recovery-conf", "--no-sync", "--port", &self.port.to_string(), "--pgdata"]);
        succeed(copy.arg(standby.data()).current_dir("/"));
        standby.configure("");
        standby.run();
        standby
    }

    fn configure(&self, settings: &str) {
        let folder = self.folder.path().display();
        let own = format!(
            "fsync = off\nunix_socket_directories = '{folder}'\nlisten_addresses = '127.0.0.1'\nport = {}\n{settings}\n",
            self.port
        );
        std::fs::write(self.folder.path().join("settings"), own).expect("the settings");
        let include = format!("include = '{folder}/settings'\n");
        let mut append = std::fs::read_to_string(self.data().join("postgresql.conf")).expect("the settings");
        append.push_str(&include);
        std::fs::write(self.data().join("postgresql.conf"), append).expect("the settings");
    }

    /// Writes a file that only the user of the server can read. Returns its path.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("the file");
        drop(Command::new("chown").arg("postgres").arg(&path).output());
        succeed(Command::new("chmod").arg("600").arg(&path));
        path
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts the server again and waits until it accepts connections.
    pub fn run(&self) {
        let log = self.folder.path().join("log");
        let mut start = program("pg_ctl");
        start.args(["start", "--silent", "--wait", "--pgdata"]).arg(self.data()).arg("--log").arg(log);
        succeed(start.current_dir("/"));
    }

    /// Stops the server. Its connections are lost.
    pub fn stop(&self) {
        succeed(
            program("pg_ctl")
                .args(["stop", "--silent", "--mode", "fast", "--pgdata"])
                .arg(self.data())
                .current_dir("/"),
        );
    }

    /// Stops all processes of the server. They keep their connections and their locks, and answer nothing.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Lets the processes of a server go on that was frozen.
    pub fn unfreeze(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid_file = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let Some(server) = pid_file.lines().next() else { return };
        // The first process starts the others: it is stopped before they are listed.
        drop(Command::new("kill").args([signal, server]).output());
        let children = Command::new("pgrep").args(["--parent", server]).output().expect("pgrep");
        drop(Command::new("kill").arg(signal).args(text(&children.stdout).lines()).output());
    }

    /// Makes a standby a server that accepts writes.
    pub fn promote(&self) {
        succeed(
            program("pg_ctl").args(["promote", "--silent", "--wait", "--pgdata"]).arg(self.data()).current_dir("/"),
        );
    }

    /// The URL of a database with the password.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}:{ENCODED_PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }

    /// The URL of a database without the password.
    pub fn url_without_password(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Creates a database. Returns its URL with the password.
    pub fn create(&self, database: &str) -> String {
        self.client("postgres").batch_execute(&format!("CREATE DATABASE {database}")).expect("a database");
        self.url(database)
    }

    pub fn client(&self, database: &str) -> Client {
        Client::connect(&self.url(database), NoTls).expect("a connection")
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).expect("the log")
    }

    /// The folder of the server.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.unfreeze();
        let mut stop = program("pg_ctl");
        stop.args(["stop", "--silent", "--mode", "immediate", "--pgdata"]).arg(self.data()).current_dir("/");
        drop(stop.output());
    }
}
