//! A ring in which organizations take turns, and within each its endpoints: who has a thousand endpoints is served no more
//! often than who has one.

use std::collections::{HashMap, VecDeque};

use crate::model::id::{OrganizationId, WebhookId};

#[derive(Debug, Default)]
pub(super) struct Ring {
    /// Those that have endpoints in the ring, each once.
    turns: VecDeque<OrganizationId>,
    endpoints: HashMap<OrganizationId, VecDeque<WebhookId>>,
}

impl Ring {
    /// Puts an endpoint behind the others of its organization.
    pub(super) fn push(&mut self, organization: OrganizationId, endpoint: WebhookId) {
        let endpoints = self.endpoints.entry(organization).or_default();
        if endpoints.is_empty() {
            self.turns.push_back(organization);
        }
        endpoints.push_back(endpoint);
    }

    /// Takes the endpoint whose turn it is; its organization is behind the others now.
    pub(super) fn pop(&mut self) -> Option<WebhookId> {
        let organization = self.turns.pop_front()?;
        let endpoints = self.endpoints.get_mut(&organization)?;
        let endpoint = endpoints.pop_front();
        if endpoints.is_empty() {
            self.endpoints.remove(&organization);
        } else {
            self.turns.push_back(organization);
        }
        endpoint
    }

    /// Takes an endpoint out, wherever it stands.
    pub(super) fn remove(&mut self, organization: OrganizationId, endpoint: WebhookId) {
        let Some(endpoints) = self.endpoints.get_mut(&organization) else { return };
        endpoints.retain(|other| *other != endpoint);
        if endpoints.is_empty() {
            self.endpoints.remove(&organization);
            self.turns.retain(|other| *other != organization);
        }
    }

    /// Every endpoint in the ring.
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

    fn all(ring: &mut Ring) -> Vec<i64> {
        std::iter::from_fn(|| ring.pop()).map(WebhookId::raw).collect()
    }

    #[test]
    fn organizations_take_turns_and_within_each_its_endpoints() {
        let mut ring = Ring::default();
        for (of, endpoint) in [(1, 11), (1, 12), (1, 13), (2, 21), (3, 31), (3, 32)] {
            ring.push(organization(of), WebhookId::from_raw(endpoint));
        }
        assert_eq!(ring.iter().count(), 6);
        assert_eq!(all(&mut ring), [11, 21, 31, 12, 32, 13]);
        assert_eq!(ring.iter().count(), 0);
    }

    #[test]
    fn what_is_taken_out_leaves_no_turn_behind() {
        let mut ring = Ring::default();
        for (of, endpoint) in [(1, 11), (2, 21), (2, 22)] {
            ring.push(organization(of), WebhookId::from_raw(endpoint));
        }
        ring.remove(organization(1), WebhookId::from_raw(11));
        ring.remove(organization(2), WebhookId::from_raw(21));
        ring.remove(organization(3), WebhookId::from_raw(31));
        ring.push(organization(1), WebhookId::from_raw(12));
        assert_eq!(all(&mut ring), [22, 12]);
    }
}
