//! A resolver that says what a test tells it, and remembers how often it was asked.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use ticketing::webhook::Resolver;

/// The addresses of every name. Clones are one and the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeResolver(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next: VecDeque<Vec<IpAddr>>,
    last: Vec<IpAddr>,
    asked: Vec<String>,
}

impl FakeResolver {
    /// A resolver that has these addresses for every name.
    pub(crate) fn at(addresses: &[&str]) -> Self {
        let names = Self::default();
        names.0.lock().unwrap().last = read(addresses);
        names
    }

    /// What it says the next time that nothing is planned for; the last of these it says from then on.
    pub(crate) fn then(self, addresses: &[&str]) -> Self {
        let mut state = self.0.lock().unwrap();
        let before = std::mem::replace(&mut state.last, read(addresses));
        state.next.push_back(before);
        drop(state);
        self
    }

    /// The names that it was asked for.
    pub(crate) fn lookups(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }
}

fn read(addresses: &[&str]) -> Vec<IpAddr> {
    addresses.iter().map(|address| address.parse().unwrap()).collect()
}

impl Resolver for FakeResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let mut state = self.0.lock().unwrap();
        state.asked.push(host.to_owned());
        let addresses = state.next.pop_front().unwrap_or_else(|| state.last.clone());
        if addresses.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(addresses) }
    }
}
