//! The open connections by client network, and which of them is closed to make room for a new one.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::task::Id;

use super::client_connection::ClientConnection;
use super::client_network::network;

/// The connections by the task that serves them, each with the network of its client.
#[derive(Debug, Default)]
pub(in crate::server) struct OpenConnections(HashMap<Id, (IpAddr, Arc<ClientConnection>)>);

impl OpenConnections {
    pub(in crate::server) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds the connection of a client that the task serves.
    pub(in crate::server) fn insert(&mut self, task: Id, client: IpAddr, connection: Arc<ClientConnection>) {
        self.0.insert(task, (network(client), connection));
    }

    pub(in crate::server) fn remove(&mut self, task: Id) {
        self.0.remove(&task);
    }

    /// Closes a connection of the network that has the most, including one of `newcomer` that is about to be added. In
    /// this network, and among networks with the same number, it is the first in the eviction order. Returns `false` if
    /// all connections have a request in progress.
    pub(in crate::server) fn evict_one(&mut self, newcomer: Option<IpAddr>) -> bool {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for network in self.0.values().map(|(network, _)| *network).chain(newcomer.map(network)) {
            *counts.entry(network).or_default() += 1;
        }
        let candidates = self.0.iter().filter_map(|(task, (network, connection))| {
            Some((Reverse(counts.get(network)), connection.eviction_order()?, *task))
        });
        let first = candidates.min_by_key(|(count, order, _)| (*count, *order));
        let Some((_, connection)) = first.and_then(|(.., task)| self.0.remove(&task)) else { return false };
        connection.close();
        true
    }
}
