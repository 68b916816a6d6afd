//! The caller of an operation: the authenticated principal, and conditions for the operation.

use super::id::{ApiKeyId, OrganizationId};
use super::idempotency::{IdempotencyKey, IdempotentCall};
use crate::error::{Error, Result};
use crate::scope::{Scope, Scopes};

/// The authenticated principal: its organization, its scopes, and the API key used.
///
/// A caller can carry an [idempotency key](Self::with_idempotency_key) and [expected revisions](Self::if_match) for its
/// operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub(crate) organization: OrganizationId,
    pub(crate) scopes: Scopes,
    pub(crate) key: Option<ApiKeyId>,
    pub(crate) idempotent_call: Option<IdempotentCall>,
    revisions: Option<Vec<i64>>,
}

impl Caller {
    pub(crate) const fn new(organization: OrganizationId, scopes: Scopes, key: Option<ApiKeyId>) -> Self {
        Self { organization, scopes, key, idempotent_call: None, revisions: None }
    }

    /// Returns the organization that the caller acts for.
    #[must_use]
    pub const fn organization(&self) -> OrganizationId {
        self.organization
    }

    /// Returns the scopes of the caller: what it may do.
    #[must_use]
    pub const fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// Returns the API key that the caller was authenticated with; `None` for a caller of
    /// [`act_for`](crate::TicketingService::act_for).
    #[must_use]
    pub const fn key(&self) -> Option<ApiKeyId> {
        self.key
    }

    /// Returns the same caller with only those of its scopes that are in `scopes`.
    #[must_use]
    pub fn with_only(&self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        let scopes = scopes.into_iter().filter(|scope| self.scopes.contains(*scope)).collect();
        Self { scopes, ..self.clone() }
    }

    /// Returns the same caller with an idempotency key, under which an operation is executed once.
    ///
    /// Repeating the same request with the same key within 24 hours returns the stored result and changes nothing, in
    /// every process and also after a restart. Errors are not stored: after an error, the same key executes the
    /// operation again.
    ///
    /// The key applies to operations that create something or act on it, those that are a POST over HTTP. Other
    /// operations ignore it.
    ///
    /// # Errors
    /// The operations fail with:
    ///
    /// - [`Error::IdempotencyKeyReused`] if the key was used for another request;
    /// - [`Error::IdempotencyInProgress`] if the same request is being executed.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let caller = caller.with_idempotency_key("basket-4711".parse()?);
    /// let order = CreateOrder::new(event.id, ada, ticket_type.id, 2);
    /// let created = service.create_order(&caller, order.clone())?;
    /// let retried = service.create_order(&caller, order)?;
    /// assert_eq!(retried, created);
    /// assert!(caller.was_replayed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_idempotency_key(&self, key: IdempotencyKey) -> Self {
        Self { idempotent_call: Some(IdempotentCall::new(key)), ..self.clone() }
    }

    /// Whether the last operation of this caller, or of a clone of it, returned a stored result.
    #[must_use]
    pub fn was_replayed(&self) -> bool {
        self.idempotent_call.as_ref().is_some_and(IdempotentCall::was_replayed)
    }

    /// Returns the same caller with expected revisions. It updates or deletes an event, a ticket type, a discount or a
    /// webhook endpoint only if the current `revision` is one of them. That is checked in the transaction of the
    /// change, so that no update of others is lost.
    ///
    /// The revisions apply to operations that update or delete. Other operations ignore them.
    ///
    /// # Errors
    /// The operations fail with [`Error::RevisionMismatch`].
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let caller = caller.if_match([event.revision]);
    /// let changes = UpdateEvent { title: Change::Set("Summer Night II".to_owned()), ..Default::default() };
    /// let event = service.update_event(&caller, event.id, changes.clone())?;
    /// let stale = service.update_event(&caller, event.id, changes);
    /// assert_eq!(stale, Err(Error::RevisionMismatch(event.revision)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn if_match(&self, revisions: impl IntoIterator<Item = i64>) -> Self {
        Self { revisions: Some(revisions.into_iter().collect()), ..self.clone() }
    }

    /// Fails with [`Error::Forbidden`] if the caller lacks the scope.
    pub(crate) fn require(&self, scope: Scope) -> Result<()> {
        if self.scopes.contains(scope) { Ok(()) } else { Err(Error::Forbidden(scope)) }
    }

    /// Fails with [`Error::RevisionMismatch`] if the current revision is not one that the caller expects.
    pub(crate) fn check_revision(&self, revision: i64) -> Result<()> {
        match &self.revisions {
            Some(wanted) if !wanted.contains(&revision) => Err(Error::RevisionMismatch(revision)),
            _ => Ok(()),
        }
    }
}
