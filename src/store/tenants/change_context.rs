//! What every change has to know: whether its organization is active, which notification handlers are registered, and
//! which mails the organization has sent. All are read with one statement, because almost every transaction that writes needs them.

use std::rc::Rc;
use std::time::Duration;

use crate::error::{Error, ResourceKind, Result};
use crate::model::values::id::OrganizationId;
use crate::store::{Query, Row, RowLock, Transaction};

/// A row for each handler, or one without a handler if there is none. The organization is kept until the transaction
/// ends: a transaction that suspends or deletes it waits for that.
const READ: Query<'_> = Query::locking(
    RowLock::Keep("o"),
    "SELECT o.id, o.suspended_at, o.mail_enabled, o.notify_address, o.payment_reminder_minutes, h.name, h.topics
    FROM organizations o LEFT JOIN notification_handlers h ON TRUE WHERE o.id = ?1",
);

struct ChangeContext {
    /// Whether the organization is active; `None` if it does not exist.
    is_active: Option<bool>,
    handlers: Rc<Vec<Handler>>,
    mail: MailTerms,
}

/// Which mails an organization has sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct MailTerms {
    pub(crate) is_enabled: bool,
    /// The address to which the organizer's own mails go.
    pub(crate) notify_address: Option<String>,
    /// How long before the end of its hold the customer of an unpaid order is reminded.
    pub(crate) reminder: Option<Duration>,
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

/// Which mails are sent for the organization. None if the service sends no mails.
pub(crate) fn mail_terms(tx: &Transaction<'_>, organization: OrganizationId) -> Result<MailTerms> {
    if tx.environment().sends_mails { Ok(read(tx, organization)?.mail.clone()) } else { Ok(MailTerms::default()) }
}

fn read(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Rc<ChangeContext>> {
    tx.cached(organization, || {
        let mut is_active = None;
        let mut handlers = Vec::new();
        let mut mail = MailTerms::default();
        tx.query_each(READ, &[organization.into()], |row| {
            is_active = Some(row.is_null("suspended_at")?);
            mail = mail_terms_of(row)?;
            if let Some(name) = row.get("name")? {
                handlers.push(Handler { name, topics: row.json("topics").ok() });
            }
            Ok(())
        })?;
        handlers.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(ChangeContext { is_active, handlers: Rc::new(handlers), mail })
    })
}

fn mail_terms_of(row: &Row<'_>) -> Result<MailTerms> {
    let minutes: Option<i64> = row.get("payment_reminder_minutes")?;
    Ok(MailTerms {
        is_enabled: row.get("mail_enabled")?,
        notify_address: row.get("notify_address")?,
        reminder: minutes.and_then(|minutes| u64::try_from(minutes).ok()).map(Duration::from_mins),
    })
}
