//! A two-level round robin: over organizations, and within each over its endpoints. An organization with a thousand
//! endpoints is served no more often than one with a single endpoint.

use std::collections::{HashMap, VecDeque};

use crate::model::id::{OrganizationId, WebhookId};

#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    /// The organizations that have endpoints here, each once, in the order in which they are served.
    organizations: VecDeque<OrganizationId>,
    endpoints: HashMap<OrganizationId, VecDeque<WebhookId>>,
}

impl RoundRobin {
    /// Adds an endpoint behind the others of its organization.
    pub(super) fn push(&mut self, organization: OrganizationId, endpoint: WebhookId) {
        let endpoints = self.endpoints.entry(organization).or_default();
        if endpoints.is_empty() {
            self.organizations.push_back(organization);
        }
        endpoints.push_back(endpoint);
    }

    /// Removes and returns the next endpoint. Its organization moves behind all others.
    pub(super) fn pop(&mut self) -> Option<WebhookId> {
        let organization = self.organizations.pop_front()?;
        let endpoints = self.endpoints.get_mut(&organization)?;
        let endpoint = endpoints.pop_front();
        if endpoints.is_empty() {
            self.endpoints.remove(&organization);
        } else {
            self.organizations.push_back(organization);
        }
        endpoint
    }

    /// Removes an endpoint from any position.
    pub(super) fn remove(&mut self, organization: OrganizationId, endpoint: WebhookId) {
        let Some(endpoints) = self.endpoints.get_mut(&organization) else { return };
        endpoints.retain(|other| *other != endpoint);
        if endpoints.is_empty() {
            self.endpoints.remove(&organization);
            self.organizations.retain(|other| *other != organization);
        }
    }

    /// All endpoints, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &WebhookId> {
        self.endpoints.values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn organization(number: i64) -> OrganizationId {
        OrganizationId::from_raw(number)
    }

    fn pop_all(round_robin: &mut RoundRobin) -> Vec<i64> {
        std::iter::from_fn(|| round_robin.pop()).map(WebhookId::raw).collect()
    }

    #[test]
    fn organizations_take_turns_and_so_do_the_endpoints_of_each() {
        let mut round_robin = RoundRobin::default();
        for (owner, endpoint) in [(1, 11), (1, 12), (1, 13), (2, 21), (3, 31), (3, 32)] {
            round_robin.push(organization(owner), WebhookId::from_raw(endpoint));
        }
        assert_eq!(round_robin.iter().count(), 6);
        assert_eq!(pop_all(&mut round_robin), [11, 21, 31, 12, 32, 13]);
        assert_eq!(round_robin.iter().count(), 0);
    }

    #[test]
    fn removing_the_last_endpoint_removes_its_organization() {
        let mut round_robin = RoundRobin::default();
        for (owner, endpoint) in [(1, 11), (2, 21), (2, 22)] {
            round_robin.push(organization(owner), WebhookId::from_raw(endpoint));
        }
        round_robin.remove(organization(1), WebhookId::from_raw(11));
        round_robin.remove(organization(2), WebhookId::from_raw(21));
        round_robin.remove(organization(3), WebhookId::from_raw(31));
        round_robin.push(organization(1), WebhookId::from_raw(12));
        assert_eq!(pop_all(&mut round_robin), [22, 12]);
    }
}
