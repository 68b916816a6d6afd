//! API keys.

use std::sync::PoisonError;

use sha2::{Digest, Sha256};

use super::TicketingService;
use crate::error::{Error, FieldErrors, Result};
use crate::model::caller::Caller;
use crate::model::id::{ApiKeyId, OrganizationId};
use crate::model::organization::{ApiKey, CreateApiKey, CreatedApiKey};
use crate::model::secret::Secret;
use crate::model::timestamp::Timestamp;
use crate::rules::{self, Checked};
use crate::store::{api_keys, organizations};

const MINUTE: i64 = 60_000;

fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

impl TicketingService {
    /// Creates an API key. The answer is the only place where the key itself can ever be read.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such organization; a validation error names `name` (at least 1 character),
    /// `scopes` (at least one) or `expiresAt` (in the future).
    ///
    /// ```
    /// use ticketing::{CreateApiKey, Scope};
    #[doc = include_str!("../doc_fixture.md")]
    /// let created = service.create_api_key(caller.organization(), CreateApiKey {
    ///     name: "Entrance scanner".to_owned(),
    ///     scopes: [Scope::TicketsCheckIn].into_iter().collect(),
    ///     expires_at: None,
    /// })?;
    /// assert!(created.key.expose().starts_with("tk_"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_api_key(&self, organization: OrganizationId, request: CreateApiKey) -> Result<CreatedApiKey> {
        let (new, hash, key) = self.new_key(request)?;
        let api_key = self.store().write(move |tx| {
            let organization = organizations::get(tx, organization)?;
            api_keys::insert(tx, organization.id, &new, &hash)
        })?;
        Ok(CreatedApiKey { api_key, key })
    }

    /// What is stored of a new key, its hash, and the key itself.
    pub(super) fn new_key(&self, request: CreateApiKey) -> Result<(Checked<CreateApiKey>, [u8; 32], Secret)> {
        let new = rules::api_key::check(request, self.inner.environment.now(), FieldErrors::default())?;
        let random = self.inner.environment.random_text(rules::api_key::ALPHABET, rules::api_key::RANDOM_LENGTH);
        let key = rules::api_key::from_random(&random);
        Ok((new, hash(&key), Secret::new(key)))
    }

    /// The keys of an organization, newest first, revoked ones included.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such organization.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// assert!(service.list_api_keys(caller.organization())?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_api_keys(&self, organization: OrganizationId) -> Result<Vec<ApiKey>> {
        self.store().read(|tx| {
            let organization = organizations::get(tx, organization)?;
            api_keys::list(tx, organization.id)
        })
    }

    /// Revokes a key: from the next request on it is refused, in every process. Revoking twice changes nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such key.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let request = CreateApiKey { name: "Lost".to_owned(), scopes: Scopes::all(), expires_at: None };
    /// let created = service.create_api_key(caller.organization(), request)?;
    /// service.revoke_api_key(created.api_key.id)?;
    /// assert!(service.authenticate(created.key.expose()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn revoke_api_key(&self, id: ApiKeyId) -> Result<ApiKey> {
        self.store().write(move |tx| api_keys::revoke(tx, id))
    }

    /// Who shows this key.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] where the key is malformed, unknown, expired or revoked: one and the same answer.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let request = CreateApiKey { name: "Office".to_owned(), scopes: Scopes::all(), expires_at: None };
    /// let created = service.create_api_key(caller.organization(), request)?;
    /// let caller = service.authenticate(created.key.expose())?;
    /// assert_eq!(caller.key(), Some(created.api_key.id));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn authenticate(&self, api_key: &str) -> Result<Caller> {
        if !rules::api_key::is_well_formed(api_key) {
            return Err(Error::Unauthenticated);
        }
        let hash = hash(api_key);
        let found = self.store().read_one(|tx| api_keys::caller(tx, &hash))?;
        let (caller, last_used) = found.ok_or(Error::Unauthenticated)?;
        let now = self.inner.environment.now().millis();
        let minute = Timestamp::from_millis(now - now % MINUTE);
        if let Some(key) = caller.key
            && last_used.is_none_or(|last| last < minute)
        {
            self.inner.keys_used.lock().unwrap_or_else(PoisonError::into_inner).insert(key, minute);
        }
        Ok(caller)
    }

    /// Writes down when keys were used last.
    pub(super) fn record_key_use(&self) -> Result<()> {
        let used = std::mem::take(&mut *self.inner.keys_used.lock().unwrap_or_else(PoisonError::into_inner));
        if used.is_empty() {
            return Ok(());
        }
        self.store().write(move |tx| {
            for (key, at) in &used {
                api_keys::used(tx, *key, *at)?;
            }
            Ok(())
        })
    }
}
