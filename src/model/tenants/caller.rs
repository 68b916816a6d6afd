//! The caller of an operation, and the options that a caller can give with one call: an idempotency key, or the
//! expected revision of a resource.

use std::sync::Arc;

use super::idempotency::{IdempotencyKey, ParseIdempotencyKeyError, Replayable};
use super::suspended::SuspendedOrganizations;
use crate::enums::scope::{Scope, Scopes};
use crate::error::{Error, ResourceKind, Result};
use crate::form::declare::fields::form;
use crate::form::limits::ENTRY_LENGTH;
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::form::request::Request;
use crate::model::values::id::{ApiKeyId, EventId, OrganizationId};

/// The authenticated principal: its organization, its scopes, and the API key used.
///
/// Operations accept a `&Caller`. Operations that create something or act on it also accept a
/// [`&KeyedCaller`](KeyedCaller), and those that update or delete a resource a
/// [`&ConditionalCaller`](ConditionalCaller).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub(crate) organization: OrganizationId,
    pub(crate) scopes: Scopes,
    pub(crate) key: Option<ApiKeyId>,
    pub(crate) event: Option<EventId>,
    pub(crate) name: Option<Arc<str>>,
    /// `None` if the caller works for suspended organizations too.
    pub(crate) suspended: Option<SuspendedOrganizations>,
}

/// Who a caller is, without what it may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) organization: OrganizationId,
    pub(crate) key: Option<ApiKeyId>,
    /// Whether it works for suspended organizations too.
    pub(crate) works_if_suspended: bool,
}

/// The caller that records a payment or a refund, as the ledger stores it.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    pub(crate) key: Option<ApiKeyId>,
    pub(crate) name: Option<Arc<str>>,
}

form! {
    /// The name of a caller.
    struct CallerName {
        name: String [MinLength(1), MaxLength(ENTRY_LENGTH)],
    }
}

impl Caller {
    pub(crate) fn recorder(&self) -> Recorder {
        Recorder { key: self.key, name: self.name.clone() }
    }

    pub(crate) const fn identity(&self) -> Identity {
        let works_if_suspended = self.suspended.is_none();
        Identity { organization: self.organization, key: self.key, works_if_suspended }
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

    /// Returns the only event that the API key of the caller works for; `None` if it is not restricted to one.
    #[must_use]
    pub const fn event(&self) -> Option<EventId> {
        self.event
    }

    /// Returns the same caller, restricted to these scopes: it has those of them that this caller has.
    ///
    /// ```
    /// use ticketing::organization::Scope;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let entrance = caller.with_scopes([Scope::TicketsCheckIn]);
    /// let refused = service.get_event(&entrance, event.id);
    /// assert_eq!(refused, Err(Error::Forbidden(Scope::EventsRead)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_scopes(&self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        let scopes = scopes.into_iter().filter(|scope| self.scopes.contains(*scope)).collect();
        Self { scopes, ..self.clone() }
    }

    /// Returns the name that the caller was [given](Self::named).
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the same caller with a name, such as that of a till or of a cashier. The payments and refunds that it
    /// records show the name in [`list_payments`](crate::TicketingService::list_payments) and in the
    /// [ledger](crate::TicketingService::list_ledger_entries), beside its API key if it has one. The name gives no
    /// rights, and callers of different names share their idempotency keys.
    ///
    /// # Errors
    /// - [`Error::Validation`] for `name`, unless it is one line of 1 to 100 characters.
    ///
    /// ```
    /// use ticketing::payment::{ListLedgerEntries, ManualMethod};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let till = caller.named("till-1")?;
    /// service.create_order(&till, CreateOrder::new(event.id, ada, ticket_type.id, 2).paid(ManualMethod::Cash))?;
    /// let ledger = service.list_ledger_entries(&caller, ListLedgerEntries::default())?;
    /// assert_eq!(ledger.data[0].recorded_by_name.as_deref(), Some("till-1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn named(&self, name: impl Into<String>) -> Result<Self> {
        let CallerName { name } = Request::from(CallerName { name: name.into() }).into_inner()?;
        Ok(Self { name: Some(name.into()), ..self.clone() })
    }

    /// Returns this caller with an idempotency key, under which an operation is executed once.
    ///
    /// Repeating the same request with the same key within 24 hours returns the stored result and changes nothing, in
    /// every process and also after a restart. The field [`replayed`](field@Replayable::replayed) of the result reports
    /// whether that has happened. Errors are not stored: after an error, the same key executes the operation again.
    ///
    /// Each API key has idempotency keys of its own: no caller can use up those of another. The callers of
    /// [`act_for`](crate::TicketingService::act_for) share one set for each organization.
    ///
    /// # Errors
    /// An operation with a key also fails with:
    ///
    /// - [`Error::Validation`] for `idempotencyKey`, unless it has 1 to 255 visible ASCII characters;
    /// - [`Error::IdempotencyKeyReused`] if the key was used for another request;
    /// - [`Error::IdempotencyInProgress`] if the same request is being executed.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let order = CreateOrder::new(event.id, ada, ticket_type.id, 2);
    /// let created = service.create_order(&caller.with_idempotency_key("basket-4711"), order.clone())?;
    /// let retried = service.create_order(&caller.with_idempotency_key("basket-4711"), order)?;
    /// assert!(!created.replayed && retried.replayed);
    /// assert_eq!(retried.value, created.value);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_idempotency_key(&self, key: impl AsRef<str>) -> KeyedCaller {
        KeyedCaller { caller: self.clone(), key: Some(key.as_ref().parse()) }
    }

    /// Returns this caller with an expected revision. The operation updates or deletes the resource only if this is its
    /// current `revision`. That is checked in the transaction of the change, so that no update of others is lost.
    ///
    /// # Errors
    /// The operation fails with [`Error::RevisionMismatch`] if the resource has another revision.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let changes = UpdateEvent::default().title("Summer Night II");
    /// let expected = caller.if_revision(event.revision);
    /// let event = service.update_event(&expected, event.id, changes.clone())?;
    /// let stale = service.update_event(&expected, event.id, changes);
    /// assert_eq!(stale, Err(Error::RevisionMismatch(event.revision)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn if_revision(&self, revision: i64) -> ConditionalCaller {
        self.if_revision_in([revision])
    }

    /// Like [`if_revision`](Self::if_revision), but the current revision may be any of these.
    #[must_use]
    pub fn if_revision_in(&self, revisions: impl IntoIterator<Item = i64>) -> ConditionalCaller {
        ConditionalCaller { caller: self.clone(), revisions: Some(revisions.into_iter().collect()) }
    }

    /// Fails with [`Error::OrganizationSuspended`] if this process knows that the organization is suspended, and with
    /// [`Error::Forbidden`] if the caller lacks the scope.
    pub(crate) fn require(&self, scope: Scope) -> Result<()> {
        if self.suspended.as_ref().is_some_and(|suspended| suspended.contains(self.organization)) {
            return Err(Error::OrganizationSuspended);
        }
        self.require_even_if_suspended(scope)
    }

    /// Fails if the API key of the caller is restricted to another event.
    pub(crate) fn require_event(&self, event: EventId) -> Result<()> {
        if self.event.is_none_or(|own| own == event) { Ok(()) } else { Err(Error::NotFound(ResourceKind::Event)) }
    }

    /// Fails with [`Error::Forbidden`] if the caller lacks the scope. For what a suspended organization must still do.
    pub(crate) fn require_even_if_suspended(&self, scope: Scope) -> Result<()> {
        if self.scopes.contains(scope) { Ok(()) } else { Err(Error::Forbidden(scope)) }
    }
}

/// A caller with an idempotency key: see [`Caller::with_idempotency_key`]. An operation that would ignore the key does
/// not accept it:
///
/// ```compile_fail,E0308
#[doc = include_str!("../../doc_fixture.md")]
/// service.get_event(&caller.with_idempotency_key("basket-4711"), event.id)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedCaller {
    pub(crate) caller: Caller,
    /// `None` for a client of the server that sends no key.
    pub(crate) key: Option<Result<IdempotencyKey, ParseIdempotencyKeyError>>,
}

impl KeyedCaller {
    /// The idempotency key, if there is one. Fails with [`Error::Validation`] if it is not valid.
    pub(crate) fn idempotency_key(&self) -> Result<Option<IdempotencyKey>> {
        let refused = |_| Error::field("idempotencyKey", "must have 1 to 255 visible ASCII characters");
        self.key.clone().transpose().map_err(refused)
    }
}

/// How an operation is called that an idempotency key can make safe to retry: with a `&Caller` it returns its result,
/// and with a [`&KeyedCaller`](KeyedCaller) a [`Replayable`] of its result.
///
/// The trait is sealed: no other type implements it.
pub trait IdempotentCall: sealed::Sealed {
    /// What an operation returns whose result is a `T`.
    type Output<T>;

    #[doc(hidden)]
    fn as_caller(&self) -> &Caller;

    #[doc(hidden)]
    fn has_key(&self) -> bool;

    /// The caller, and the key if it has one.
    #[doc(hidden)]
    fn keyed(&self) -> KeyedCaller;

    /// Converts a result.
    #[doc(hidden)]
    fn output<T>(result: Replayable<T>) -> Self::Output<T>;
}

impl IdempotentCall for Caller {
    type Output<T> = T;

    fn as_caller(&self) -> &Caller {
        self
    }

    fn has_key(&self) -> bool {
        false
    }

    fn keyed(&self) -> KeyedCaller {
        KeyedCaller { caller: self.clone(), key: None }
    }

    fn output<T>(result: Replayable<T>) -> T {
        result.value
    }
}

impl IdempotentCall for KeyedCaller {
    type Output<T> = Replayable<T>;

    fn as_caller(&self) -> &Caller {
        &self.caller
    }

    fn has_key(&self) -> bool {
        self.key.is_some()
    }

    fn keyed(&self) -> KeyedCaller {
        self.clone()
    }

    fn output<T>(result: Replayable<T>) -> Replayable<T> {
        result
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Caller {}
    impl Sealed for super::KeyedCaller {}
}

/// A caller that expects a revision: see [`Caller::if_revision`]. Only operations that update or delete accept it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionalCaller {
    pub(crate) caller: Caller,
    /// The expected revisions; `None` accepts any.
    pub(crate) revisions: Option<Vec<i64>>,
}

impl ConditionalCaller {
    /// Fails with [`Error::RevisionMismatch`] if the current revision is not an expected one.
    pub(crate) fn check_revision(&self, revision: i64) -> Result<()> {
        match &self.revisions {
            Some(expected) if !expected.contains(&revision) => Err(Error::RevisionMismatch(revision)),
            _ => Ok(()),
        }
    }
}

impl From<&Caller> for ConditionalCaller {
    fn from(caller: &Caller) -> Self {
        Self { caller: caller.clone(), revisions: None }
    }
}

impl From<&Self> for ConditionalCaller {
    fn from(call: &Self) -> Self {
        call.clone()
    }
}
