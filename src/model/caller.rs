//! Who asks, and on which conditions.

use super::id::{ApiKeyId, OrganizationId};
use super::idempotency::{IdempotencyKey, IdempotentCall};
use crate::error::{Error, Result};
use crate::scope::{Scope, Scopes};

/// Who asks: an organization, what may be done for it, and with which key. It can carry conditions too, under which one
/// operation is done: see [`Caller::with_idempotency_key`] and [`Caller::if_match`].
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

    /// The organization that the caller acts for.
    #[must_use]
    pub const fn organization(&self) -> OrganizationId {
        self.organization
    }

    /// What the caller may do.
    #[must_use]
    pub const fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// The key that the caller showed; `None` for the program itself.
    #[must_use]
    pub const fn key(&self) -> Option<ApiKeyId> {
        self.key
    }

    /// The same caller with no scope but these.
    #[must_use]
    pub fn with_only(&self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        let scopes = scopes.into_iter().filter(|scope| self.scopes.contains(*scope)).collect();
        Self { scopes, ..self.clone() }
    }

    /// The same caller, whose operation is done once under this key, however often it is asked for: within 24 hours the
    /// same request gets the first answer again, from every process and after a restart too, and nothing is done twice.
    /// Refusals and failures are not kept: after them the same key tries anew.
    ///
    /// It concerns the operations that create something or act on it, those that are a POST over HTTP; others ignore it.
    ///
    /// # Errors
    /// Of those operations: [`Error::IdempotencyKeyReused`] where the key came with another request before, and
    /// [`Error::IdempotencyInProgress`] where the same request is being worked on.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let once = caller.with_idempotency_key("basket-4711".parse()?);
    /// let order = CreateOrder::new(event.id, ada, ticket_type.id, 2);
    /// let placed = service.create_order(&once, order.clone())?;
    /// let again = service.create_order(&once, order)?;
    /// assert_eq!(again, placed);
    /// assert!(once.was_replayed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_idempotency_key(&self, key: IdempotencyKey) -> Self {
        Self { idempotent_call: Some(IdempotentCall::new(key)), ..self.clone() }
    }

    /// Whether the last operation of this caller, or of a clone of it, was answered with what an earlier one had come to.
    #[must_use]
    pub fn was_replayed(&self) -> bool {
        self.idempotent_call.as_ref().is_some_and(IdempotentCall::was_replayed)
    }

    /// The same caller, who changes or deletes an event, a ticket type, a discount or a webhook endpoint only where its
    /// `revision` is one of these. Whether it is gets judged in the transaction of the change.
    ///
    /// It concerns the operations that update or delete; others ignore it.
    ///
    /// # Errors
    /// Of those operations: [`Error::RevisionMismatch`].
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let seen = caller.if_match([event.revision]);
    /// let retitled = UpdateEvent { title: Change::Set("Summer Night II".to_owned()), ..Default::default() };
    /// let event = service.update_event(&seen, event.id, retitled.clone())?;
    /// let stale = service.update_event(&seen, event.id, retitled);
    /// assert_eq!(stale, Err(Error::RevisionMismatch(event.revision)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn if_match(&self, revisions: impl IntoIterator<Item = i64>) -> Self {
        Self { revisions: Some(revisions.into_iter().collect()), ..self.clone() }
    }

    pub(crate) fn require(&self, scope: Scope) -> Result<()> {
        if self.scopes.contains(scope) { Ok(()) } else { Err(Error::Forbidden(scope)) }
    }

    /// Refuses to change what stands at another revision than the caller wants to change.
    pub(crate) fn check_revision(&self, revision: i64) -> Result<()> {
        match &self.revisions {
            Some(wanted) if !wanted.contains(&revision) => Err(Error::RevisionMismatch(revision)),
            _ => Ok(()),
        }
    }
}
