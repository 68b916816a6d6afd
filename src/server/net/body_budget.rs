//! The memory for bodies of requests that nobody has authenticated yet: a bound for all of them, and for those of each
//! client network.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::client_network::network;

/// How many bytes these bodies may have together: 16 MiB.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// How many bytes those of one client network may have: 2 MiB.
const MAX_BYTES_OF_NETWORK: usize = MAX_BYTES / 8;

#[derive(Debug, Default)]
pub(in crate::server) struct BodyBudget {
    reserved: Arc<Mutex<ReservedBytes>>,
}

#[derive(Debug, Default)]
struct ReservedBytes {
    total: usize,
    /// By client network; `None` for clients without a known address. No network without bytes.
    by_network: HashMap<Option<IpAddr>, usize>,
}

/// Memory for one body. It is free again when this is dropped.
#[derive(Debug)]
pub(in crate::server) struct Reservation {
    reserved: Arc<Mutex<ReservedBytes>>,
    network: Option<IpAddr>,
    bytes: usize,
}

impl BodyBudget {
    /// Reserves memory for a body of at most this many bytes. `None` if too much is reserved.
    pub(in crate::server) fn reserve(&self, client: Option<IpAddr>, bytes: usize) -> Option<Reservation> {
        let network = client.map(network);
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let of_network = reserved.by_network.get(&network).copied().unwrap_or(0);
        if of_network + bytes > MAX_BYTES_OF_NETWORK || reserved.total + bytes > MAX_BYTES {
            return None;
        }
        reserved.total += bytes;
        reserved.by_network.insert(network, of_network + bytes);
        Some(Reservation { reserved: Arc::clone(&self.reserved), network, bytes })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        reserved.total -= self.bytes;
        if let Some(bytes) = reserved.by_network.get_mut(&self.network) {
            *bytes -= self.bytes;
            if *bytes == 0 {
                reserved.by_network.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = 256 * 1024;

    #[test]
    fn bodies_are_bounded_in_all_and_for_each_network_until_they_are_dropped() {
        let budget = BodyBudget::default();
        let client = |number: u32| Some(IpAddr::V4(number.into()));
        let of_one: Vec<_> = (0..100).map_while(|_| budget.reserve(client(1), LARGE)).collect();
        assert_eq!(of_one.len(), 8);
        assert!(budget.reserve(client(1), 1).is_none());
        let of_all: Vec<_> =
            (2..100).flat_map(|number| [number; 8]).map_while(|number| budget.reserve(client(number), LARGE)).collect();
        assert_eq!(of_one.len() + of_all.len(), 64);
        assert!(budget.reserve(client(100), 1).is_none());
        drop(of_one);
        assert!(budget.reserve(client(1), LARGE).is_some());
        drop(of_all);
        let reserved = budget.reserved.lock().unwrap();
        assert!(reserved.total == 0 && reserved.by_network.is_empty());
    }
}
