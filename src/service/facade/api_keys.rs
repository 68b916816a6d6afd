//! API keys: creation, revocation and authentication. Only the hash of a key is stored.

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::model::tenants::caller::Caller;
use crate::model::tenants::organization::{ApiKey, CreateApiKey, CreatedApiKey};
use crate::model::values::id::{ApiKeyId, OrganizationId};
use crate::model::values::secret::Secret;
use crate::rules::api_key as rules;
use crate::sales::catalog::organization_changes::{self, NewApiKey};
use crate::service::TicketingService;
use crate::service::state::ticketing_service::Inner;
use crate::store::tenants::api_keys::{self, AuthenticatedKey};

/// How many uses of keys one transaction stores. Other writes wait for as long as this takes.
const USES_PER_TRANSACTION: usize = 500;

fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// # API keys
///
/// These methods take no caller, because they are for the program that embeds the service. The server has no routes for
/// them.
impl TicketingService {
    /// Creates an API key of an organization. The result contains the key, which cannot be read again later.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the organization does not exist.
    /// - [`Error::Validation`] for `name` (1 to 255 characters), `scopes` (at least one; of a key of one event only
    ///   `tickets:check-in`), `eventId` (an event of the organization) or `expiresAt` (must be in the future).
    /// - [`Error::Conflict`] with the reason `limit-reached` if the organization has 1,000 keys that are neither revoked
    ///   nor expired.
    ///
    /// ```
    /// use ticketing::organization::{CreateApiKey, Scope};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let scanner = CreateApiKey::new("Entrance scanner").scopes([Scope::TicketsCheckIn]);
    /// let created = service.create_api_key(caller.organization(), scanner)?;
    /// assert!(created.key.expose().starts_with("tk_"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_api_key(&self, organization: OrganizationId, request: CreateApiKey) -> Result<CreatedApiKey> {
        let key = self.generate_api_key(request)?;
        let store = self.store()?;
        match key.request.event_id {
            None => store.write(organization, move |tx| organization_changes::create_api_key(tx, organization, &key)),
            Some(event) => store.write_event(organization, event.into(), move |tx| {
                organization_changes::create_api_key(tx, organization, &key)
            }),
        }
    }

    pub(in crate::service) fn generate_api_key(&self, request: CreateApiKey) -> Result<NewApiKey> {
        let request = rules::check(request, self.inner.environment.now())?;
        let (key, hash) = self.random_api_key();
        Ok(NewApiKey { request, key, hash })
    }

    /// The secret of a new key, and its hash.
    pub(in crate::service) fn random_api_key(&self) -> (Secret, [u8; 32]) {
        let random = self.inner.environment.random_text(rules::ALPHABET, rules::RANDOM_LENGTH);
        let key = rules::from_random(&random);
        let hash = hash(&key);
        (Secret::new(key), hash)
    }

    /// Returns the API keys of an organization, newest first, including revoked ones.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the organization does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// assert!(service.list_api_keys(caller.organization())?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_api_keys(&self, organization: OrganizationId) -> Result<Vec<ApiKey>> {
        self.store()?.read(|tx| organization_changes::list_api_keys(tx, organization))
    }

    /// Revokes an API key of an organization. From the next request on it is refused, in every process. Revoking a key
    /// again changes nothing.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the organization has no such key.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = CreateApiKey::new("Lost");
    /// let created = service.create_api_key(caller.organization(), request)?;
    /// service.revoke_api_key(caller.organization(), created.api_key.id)?;
    /// assert!(service.authenticate(&created.key).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn revoke_api_key(&self, organization: OrganizationId, id: ApiKeyId) -> Result<ApiKey> {
        self.store()?.write(organization, move |tx| api_keys::revoke(tx, organization, id))
    }

    /// Returns the caller that an API key belongs to: its organization and scopes.
    ///
    /// # Errors
    /// - [`Error::Unauthenticated`] if the key is malformed, unknown, expired or revoked. The error does not say which.
    /// - [`Error::OrganizationSuspended`] if the key is valid, and its organization is
    ///   [suspended](Self::suspend_organization).
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = CreateApiKey::new("Box office");
    /// let created = service.create_api_key(caller.organization(), request)?;
    /// let caller = service.authenticate(&created.key)?;
    /// assert_eq!(caller.key(), Some(created.api_key.id));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn authenticate(&self, api_key: impl AsRef<str>) -> Result<Caller> {
        let api_key = api_key.as_ref();
        if !rules::is_well_formed(api_key) {
            return Err(Error::Unauthenticated);
        }
        let hash = hash(api_key);
        let found = self.store()?.read_one(|tx| api_keys::authenticate(tx, &hash))?;
        let found = found.ok_or(Error::Unauthenticated)?;
        self.inner.suspended.set(found.organization, found.is_suspended);
        if found.is_suspended {
            return Err(Error::OrganizationSuspended);
        }
        self.remember_key_use(&found);
        Ok(Caller {
            organization: found.organization,
            scopes: found.scopes,
            key: Some(found.id),
            event: found.event,
            name: None,
            suspended: Some(self.inner.suspended.clone()),
        })
    }

    /// Remembers that a key was used, to the minute, until the next maintenance stores it.
    fn remember_key_use(&self, key: &AuthenticatedKey) {
        let minute = key.read_at.start_of_minute();
        if key.last_used_at.is_none_or(|last| last < minute) {
            // If there is no room, the next use of the key is remembered.
            self.inner.keys_used.add(key.id, minute);
        }
    }
}

impl Inner {
    /// Stores when keys were last used. Every process changes the rows in the same order, so that none waits for
    /// another that waits for it.
    pub(in crate::service) fn store_key_uses(&self, stop: &dyn Fn() -> bool) -> Result<()> {
        self.keys_used.store(USES_PER_TRANSACTION, stop, |used| {
            let store = self.writes.store_in_operation();
            store.write(None, move |tx| used.iter().try_for_each(|(key, at)| api_keys::record_use(tx, *key, *at)))?;
            Ok(true)
        })
    }
}
