//! The open connections by client network, and which of them is closed to make room for a new one.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use tokio::task::Id;

use super::client_connection::ClientConnection;
use super::client_network::network;

#[derive(Debug, Default)]
pub(in crate::server) struct OpenConnections {
    /// The network of the client of each connection.
    networks: HashMap<Id, IpAddr>,
    /// The connections of each network. No network without connections.
    by_network: HashMap<IpAddr, HashMap<Id, Arc<ClientConnection>>>,
}

impl OpenConnections {
    pub(in crate::server) fn len(&self) -> usize {
        self.networks.len()
    }

    /// Adds the connection of a client that the task serves.
    pub(in crate::server) fn insert(&mut self, task: Id, client: IpAddr, connection: Arc<ClientConnection>) {
        let network = network(client);
        self.networks.insert(task, network);
        self.by_network.entry(network).or_default().insert(task, connection);
    }

    pub(in crate::server) fn remove(&mut self, task: Id) -> Option<Arc<ClientConnection>> {
        let network = self.networks.remove(&task)?;
        let connections = self.by_network.get_mut(&network)?;
        let connection = connections.remove(&task);
        if connections.is_empty() {
            self.by_network.remove(&network);
        }
        connection
    }

    /// Closes a connection of the network that has the most, including one of `newcomer` that is about to be added. In
    /// this network, and among networks with the same number, it is the first in the eviction order. Returns `false` if
    /// all connections have a request in progress.
    pub(in crate::server) fn evict_one(&mut self, newcomer: Option<IpAddr>) -> bool {
        let newcomer = newcomer.map(network);
        let Some(task) = self.first_to_evict(newcomer) else { return false };
        if let Some(connection) = self.remove(task) {
            connection.close();
        }
        true
    }

    fn first_to_evict(&self, newcomer: Option<IpAddr>) -> Option<Id> {
        let count = |network: &IpAddr, connections: &HashMap<_, _>| {
            connections.len() + usize::from(newcomer.as_ref() == Some(network))
        };
        let counts: BTreeSet<usize> = self.by_network.iter().map(|(network, open)| count(network, open)).collect();
        counts.into_iter().rev().find_map(|most| {
            let networks = self.by_network.iter().filter(|(network, open)| count(network, open) == most);
            let candidates = networks
                .flat_map(|(_, open)| open)
                .filter_map(|(task, connection)| Some((connection.eviction_order()?, *task)));
            candidates.min_by_key(|(order, _)| *order).map(|(_, task)| task)
        })
    }
}
