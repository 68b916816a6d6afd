//! What every change has to know: whether its organization is active, and which notification handlers are registered.
//! Both are read with one statement, because almost every transaction that writes needs both.

use std::rc::Rc;

use crate::error::{Error, ResourceKind, Result};
use crate::model::values::id::OrganizationId;
use crate::store::{Query, RowLock, Transaction};

/// A row for each handler, or one without a handler if there is none. The organization is kept until the transaction
/// ends: a transaction that suspends or deletes it waits for that.
const READ: Query<'_> = Query::locking(
    RowLock::Keep("o"),
    "SELECT o.id, o.suspended_at, h.name, h.topics
    FROM organizations o LEFT JOIN notification_handlers h ON TRUE WHERE o.id = ?1",
);

struct ChangeContext {
    /// Whether the organization is active; `None` if it does not exist.
    is_active: Option<bool>,
    handlers: Rc<Vec<Handler>>,
}

/// A registered handler. Handlers are those of all organizations.
pub(in crate::store) struct Handler {
    pub(in crate::store) name: String,
    /// The texts of the topics: those of a newer version may be unknown here. `None` if they cannot be read: then every
    /// notification is queued, so that none is lost, and no sale fails.
    topics: Option<Vec<String>>,
}

impl Handler {
    pub(in crate::store) fn wants(&self, topic: &str) -> bool {
        self.topics.as_ref().is_none_or(|topics| topics.iter().any(|known| known == topic))
    }
}

/// Fails if an organization is suspended or was deleted. Every change that a caller makes requires it in its
/// transaction, so that none is committed after the suspension. A transaction reads it once, because its lock lets
/// [`suspend`](super::organizations::suspend) wait.
pub(crate) fn require_active(tx: &Transaction<'_>, organization: OrganizationId) -> Result<()> {
    match read(tx, organization)?.is_active {
        Some(true) => Ok(()),
        Some(false) => Err(Error::OrganizationSuspended),
        None => Err(Error::NotFound(ResourceKind::Organization)),
    }
}

/// The registered handlers, in the order of their names.
pub(in crate::store) fn handlers(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Rc<Vec<Handler>>> {
    Ok(Rc::clone(&read(tx, organization)?.handlers))
}

fn read(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Rc<ChangeContext>> {
    tx.cached(organization, || {
        let mut is_active = None;
        let mut handlers = Vec::new();
        tx.query_each(READ, &[organization.into()], |row| {
            is_active = Some(row.is_null("suspended_at")?);
            if let Some(name) = row.get("name")? {
                handlers.push(Handler { name, topics: row.json("topics").ok() });
            }
            Ok(())
        })?;
        handlers.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(ChangeContext { is_active, handlers: Rc::new(handlers) })
    })
}
