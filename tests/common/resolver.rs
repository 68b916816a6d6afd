//! A resolver of host names that returns the addresses that a test sets.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use ticketing::webhook::Resolver;

/// Resolves every name to the same addresses, and records the lookups. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct FakeResolver(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next: VecDeque<Vec<IpAddr>>,
    last: Vec<IpAddr>,
    lookups: Vec<String>,
}

impl FakeResolver {
    /// Creates a resolver that returns these addresses.
    pub fn at(addresses: &[&str]) -> Self {
        let resolver = Self::default();
        resolver.0.lock().unwrap().last = parse(addresses);
        resolver
    }

    /// Makes the next lookup return the addresses that were set before, and those after it these.
    pub fn then(self, addresses: &[&str]) -> Self {
        let mut state = self.0.lock().unwrap();
        let before = std::mem::replace(&mut state.last, parse(addresses));
        state.next.push_back(before);
        drop(state);
        self
    }

    /// Returns the names that were looked up.
    pub fn lookups(&self) -> Vec<String> {
        self.0.lock().unwrap().lookups.clone()
    }
}

fn parse(addresses: &[&str]) -> Vec<IpAddr> {
    addresses.iter().map(|address| address.parse().unwrap()).collect()
}

impl Resolver for FakeResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let mut state = self.0.lock().unwrap();
        state.lookups.push(host.to_owned());
        let addresses = state.next.pop_front().unwrap_or_else(|| state.last.clone());
        if addresses.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(addresses) }
    }
}
