//! PostgreSQL servers that sync what they write, and that can crash.

use std::process::Command;

use crate::common::cluster::Cluster;

/// Starts a server. `None`, with a message, if PostgreSQL is not installed.
pub(crate) fn start() -> Option<Cluster> {
    Cluster::start("fsync = on\nmax_connections = 200")
}

/// Ends a server without any preparation.
pub(crate) fn crash(cluster: &Cluster) {
    let pid_file = cluster.path().join("data/postmaster.pid");
    let content = std::fs::read_to_string(&pid_file).unwrap();
    let pid = content.lines().next().unwrap();
    assert!(Command::new("kill").args(["-QUIT", pid]).status().unwrap().success());
    while pid_file.exists() {
        std::thread::yield_now();
    }
}

/// Starts a standby, without which the server acknowledges no commit from now on.
pub(crate) fn start_synchronous_standby(primary: &Cluster) -> Cluster {
    let standby = primary.standby();
    let mut client = primary.client("postgres");
    client.batch_execute("ALTER SYSTEM SET synchronous_standby_names = '*'").unwrap();
    client.batch_execute("SELECT pg_reload_conf()").unwrap();
    let synchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
    while client.query(synchronous, &[]).unwrap().is_empty() {
        std::thread::yield_now();
    }
    standby
}

/// A URL that names two servers. Connections go to the one that accepts writes.
pub(crate) fn url_of_both(first: &Cluster, second: &Cluster) -> String {
    let one = format!("127.0.0.1:{}", first.port);
    let both = format!("{one},127.0.0.1:{}", second.port);
    format!("{}?target_session_attrs=read-write", first.url("postgres").replace(&one, &both))
}
