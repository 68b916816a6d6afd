//! Mails. One that waits has work with its id as the key; what is sent is made of the rows that it is about.

use std::time::Duration;

use crate::error::Result;
#[cfg(feature = "mail")]
use crate::error::{Error, ResourceKind};
use crate::model::sale::mail::MailKind;
#[cfg(feature = "mail")]
use crate::model::sale::mail::{ListMails, Mail, MailState};
use crate::model::values::id::{EventId, MailId, OrderId, OrganizationId, TicketId};
#[cfg(feature = "mail")]
use crate::model::values::page::Page;
use crate::model::values::timestamp::Timestamp;
#[cfg(feature = "mail")]
use crate::rules::Checked;
#[cfg(feature = "mail")]
use crate::store::RowLength;
use crate::store::columns::Column;
#[cfg(feature = "mail")]
use crate::store::columns::columns;
#[cfg(feature = "mail")]
use crate::store::lists::list_query::{cursor_bound, limit_plus_one};
#[cfg(feature = "mail")]
use crate::store::lists::pages::read_page;
#[cfg(feature = "mail")]
use crate::store::newest_id::first_kept;
#[cfg(feature = "mail")]
use crate::store::work::ClaimedWork;
use crate::store::work::{self, KeyedWork};
use crate::store::{Bind, LockedEvent, Transaction};

/// The kind of work that sends a mail. Its key is the id of the mail.
pub(crate) const SEND: &str = "mail";

/// The kind of work that causes a reminder of an unpaid order. Its key is the id of the order.
pub(crate) const REMIND: &str = "remind";

/// How many old mails one transaction deletes. Other writers wait for as long as this takes.
#[cfg(feature = "mail")]
const BATCH: i64 = 1000;

const INSERT: &str =
    "INSERT INTO mails (id, organization_id, kind, order_id, ticket_ids, recipient, dedup_key, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING";
pub(in crate::store) const OF_CAUSES: &str = "SELECT id, dedup_key, state, created_at FROM mails
    WHERE organization_id = ?1 AND dedup_key >= ?2 AND dedup_key < ?3 ORDER BY dedup_key";

/// A mail that is caused now.
pub(crate) struct NewMail<'a> {
    pub(crate) organization: OrganizationId,
    pub(crate) event: EventId,
    pub(crate) kind: MailKind,
    /// `None` if it is about issued tickets.
    pub(crate) order: Option<OrderId>,
    pub(crate) tickets: &'a [TicketId],
    pub(crate) recipient: &'a str,
    /// What has caused it. No other mail of the organization has the same cause.
    pub(crate) cause: &'a str,
    /// How long it waits at least.
    pub(crate) delay: Duration,
}

/// Returns how many mails wait to be sent, and for how long the oldest one has been due.
pub(crate) fn backlog(tx: &Transaction<'_>) -> Result<(u64, Option<Duration>)> {
    work::backlog(tx, SEND)
}

/// Inserts a mail, and the work that sends it.
pub(crate) fn insert(tx: &LockedEvent<'_>, new: &NewMail<'_>) -> Result<MailId> {
    let tickets = new.tickets.to_vec();
    let tickets = if new.order.is_some() { Bind::Null } else { tickets.bind()? };
    let binds = [
        new.organization.into(),
        new.kind.as_str().into(),
        new.order.into(),
        tickets,
        new.recipient.into(),
        new.cause.into(),
        tx.now().into(),
    ];
    let id: MailId = tx.insert(INSERT, &binds)?;
    work::add_with_key(tx, &sending(new.organization, new.event, id, tx.now().saturating_add(new.delay)))?;
    Ok(id)
}

fn sending(organization: OrganizationId, event: EventId, id: MailId, due_at: Timestamp) -> KeyedWork<'static> {
    KeyedWork { kind: SEND, key: id.raw(), organization, event: Some(event), body: "", due_at }
}

/// Lets a reminder of an order be caused at this time.
pub(crate) fn remind_at(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    event: EventId,
    order: OrderId,
    due_at: Timestamp,
) -> Result<()> {
    work::add_with_key(
        tx,
        &KeyedWork { kind: REMIND, key: order.raw(), organization, event: Some(event), body: "", due_at },
    )
}

/// A mail with one of some causes.
pub(crate) struct CausedMail {
    pub(crate) id: MailId,
    /// The number of its cause. Old mails are deleted, so it can be greater than the number of mails.
    number: u64,
    pub(crate) is_waiting: bool,
    #[cfg(feature = "mail")]
    pub(crate) created_at: Timestamp,
}

/// The mails whose causes are this text and a number. The text ends with a colon.
pub(crate) fn of_causes(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    beginning: &str,
) -> Result<Vec<CausedMail>> {
    let after = format!("{};", beginning.trim_end_matches(':'));
    tx.query_all(OF_CAUSES, &[organization.into(), beginning.into(), (&after).into()], |row| {
        let (cause, state): (String, String) = (row.get("dedup_key")?, row.get("state")?);
        Ok(CausedMail {
            id: row.get("id")?,
            number: cause.rsplit(':').next().and_then(|number| number.parse().ok()).unwrap_or(0),
            is_waiting: state == "WAITING",
            #[cfg(feature = "mail")]
            created_at: row.get("created_at")?,
        })
    })
}

/// The cause of the next mail after these.
pub(crate) fn next_cause(beginning: &str, earlier: &[CausedMail]) -> String {
    let last = earlier.iter().map(|mail| mail.number).max().unwrap_or(0);
    format!("{beginning}{}", last + 1)
}

/// Whether a process has begun to send a mail, and has not recorded how that ended: what it sends may not tell a new fact.
pub(crate) fn is_being_sent(tx: &LockedEvent<'_>, id: MailId) -> Result<bool> {
    work::is_claimed(tx, SEND, id.raw())
}

/// Sets when a mail that waits is due. Returns `false` if it is being sent.
pub(crate) fn reschedule(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    event: EventId,
    id: MailId,
    delay: Duration,
) -> Result<bool> {
    if is_being_sent(tx, id)? {
        return Ok(false);
    }
    work::set(tx, &sending(organization, event, id, tx.now().saturating_add(delay)))?;
    Ok(true)
}

#[cfg(feature = "mail")]
columns! {
    select selected_columns!("") { kind, state, order_id, recipient, created_at, sent_at, last_answer }

    read decode(row: &Row<'_>) -> Mail {} and {
        id: row.get("id")?,
        ticket_ids: if row.is_null("ticket_ids")? { Vec::new() } else { row.get("ticket_ids")? },
    }
}

#[cfg(feature = "mail")]
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT id, ticket_ids", selected_columns!(), " FROM mails ", $rest)
    };
}

#[cfg(feature = "mail")]
const BY_ID: &str = select!("WHERE id = ?1 AND organization_id = ?2");
#[cfg(feature = "mail")]
pub(in crate::store) const LIST: &str = select!(
    "WHERE organization_id = ?1 AND id < ?2 AND (CAST(?3 AS TEXT) IS NULL OR kind = ?3)
        AND (CAST(?4 AS TEXT) IS NULL OR state = ?4) ORDER BY id DESC LIMIT ?5"
);
#[cfg(feature = "mail")]
pub(in crate::store) const LIST_OF_ORDER: &str = select!(
    "WHERE order_id = ?6 AND +organization_id = ?1 AND id < ?2 AND (CAST(?3 AS TEXT) IS NULL OR kind = ?3)
        AND (CAST(?4 AS TEXT) IS NULL OR state = ?4) ORDER BY id DESC LIMIT ?5"
);
#[cfg(feature = "mail")]
const EXISTS: &str = "SELECT 1 FROM mails WHERE id = ?1 AND organization_id = ?2";
#[cfg(feature = "mail")]
const FINISH: &str = "UPDATE mails SET state = ?2, sent_at = ?3, last_answer = ?4
    WHERE id = ?1 AND state || '' = 'WAITING'";
// Ids contain the time of creation, so mails are selected by id. Waiting ones are never deleted here.
#[cfg(feature = "mail")]
pub(in crate::store) const OLD: &str =
    "SELECT id FROM mails WHERE id < ?1 AND state || '' <> 'WAITING' ORDER BY id LIMIT ?2";
#[cfg(feature = "mail")]
pub(in crate::store) const DELETE_OLD: &str = "DELETE FROM mails
    WHERE id IN (SELECT id FROM mails WHERE id < ?1 AND state || '' <> 'WAITING' ORDER BY id LIMIT ?2)";
#[cfg(feature = "mail")]
const ANSWERED: &str = "UPDATE mails SET last_answer = ?2 WHERE id = ?1";
#[cfg(feature = "mail")]
pub(in crate::store) const EARLIER: &str = "SELECT m.id, w.due_at, w.claim FROM mails m
    JOIN work w ON w.key = m.id AND w.kind = 'mail'
    WHERE m.order_id = ?1 AND m.id < ?2 AND m.recipient = ?3 AND m.state = 'WAITING' ORDER BY m.id LIMIT 1";
#[cfg(feature = "mail")]
pub(in crate::store) const NTH_SENT: &str = "SELECT sent_at FROM mails
    WHERE organization_id = ?1 AND sent_at > ?2 ORDER BY sent_at DESC LIMIT 1 OFFSET ?3";
#[cfg(feature = "mail")]
pub(in crate::store) const NTH_SENT_TO: &str = "SELECT sent_at FROM mails
    WHERE organization_id = ?1 AND recipient = ?4 AND sent_at > ?2 ORDER BY sent_at DESC LIMIT 1 OFFSET ?3";

/// Returns a mail. `None` if there is none with this id.
#[cfg(feature = "mail")]
pub(crate) fn find(tx: &Transaction<'_>, organization: OrganizationId, id: MailId) -> Result<Option<Mail>> {
    tx.query_opt(BY_ID, &[id.into(), organization.into()], decode)
}

#[cfg(feature = "mail")]
pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: MailId) -> Result<Mail> {
    find(tx, organization, id)?.ok_or(Error::NotFound(ResourceKind::Mail))
}

/// Lists the mails of an organization, newest first.
#[cfg(feature = "mail")]
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListMails>,
) -> Result<Page<Mail, MailId>> {
    let mut binds = vec![
        organization.into(),
        cursor_bound(tx, &request.page, EXISTS, organization.into())?,
        request.kind.map(MailKind::as_str).into(),
        request.state.map(MailState::as_str).into(),
        limit_plus_one(&request.page),
    ];
    let sql = match request.order_id {
        Some(order) => {
            binds.push(order.into());
            LIST_OF_ORDER
        }
        None => LIST,
    };
    read_page(tx, RowLength::Short, sql, &binds, &request.page, decode, |mail| mail.id)
}

/// An earlier mail to the same address about the same order, which waits.
#[cfg(feature = "mail")]
pub(crate) struct EarlierMail {
    pub(crate) due_at: Timestamp,
    pub(crate) is_being_sent: bool,
}

#[cfg(feature = "mail")]
pub(crate) fn earlier(tx: &Transaction<'_>, mail: &Mail) -> Result<Option<EarlierMail>> {
    let Some(order) = mail.order_id else { return Ok(None) };
    tx.query_opt(EARLIER, &[order.into(), mail.id.into(), (&mail.recipient).into()], |row| {
        Ok(EarlierMail { due_at: row.get("due_at")?, is_being_sent: !row.is_null("claim")? })
    })
}

/// When the mail was sent before which `most - 1` others were sent since a time: to an address, or to all. `None` if
/// fewer were sent.
#[cfg(feature = "mail")]
pub(crate) fn nth_sent_since(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    to: Option<&str>,
    since: Timestamp,
    most: u32,
) -> Result<Option<Timestamp>> {
    let mut binds = vec![organization.into(), since.into(), Bind::Int(i64::from(most) - 1)];
    let sql = match to {
        Some(to) => {
            binds.push(to.into());
            NTH_SENT_TO
        }
        None => NTH_SENT,
    };
    tx.query_opt(sql, &binds, |row| row.get("sent_at"))
}

/// Records that the relay has accepted a mail, and removes its work. That is so whatever became of the claim, so another
/// process that has it meanwhile does not send the mail once more.
#[cfg(feature = "mail")]
pub(crate) fn sent(tx: &LockedEvent<'_>, id: MailId, answer: &str) -> Result<()> {
    tx.execute(FINISH, &[id.into(), MailState::Sent.as_str().into(), tx.now().into(), answer.into()])?;
    work::forget_all(tx, SEND, id.raw())
}

/// Records that a mail is not sent, and removes its work. Does nothing if this process has lost its claim.
#[cfg(feature = "mail")]
pub(crate) fn give_up(
    tx: &LockedEvent<'_>,
    claimed: &ClaimedWork,
    id: MailId,
    state: MailState,
    reason: &str,
) -> Result<()> {
    if work::is_held(tx, claimed)? {
        tx.execute(FINISH, &[id.into(), state.as_str().into(), Bind::Null, reason.into()])?;
        work::done(tx, claimed)?;
    }
    Ok(())
}

/// Whether there are mails that are old enough to be deleted.
#[cfg(feature = "mail")]
pub(crate) fn any_old(tx: &Transaction<'_>, kept: Duration) -> Result<bool> {
    tx.exists(OLD, &[first_kept(tx, kept).into(), Bind::Int(1)])
}

/// Deletes a batch of old mails. Returns how many. Deletes nothing while another process does.
#[cfg(feature = "mail")]
pub(crate) fn delete_old(tx: &Transaction<'_>, kept: Duration) -> Result<usize> {
    if !tx.try_lock_cleanup()? {
        return Ok(0);
    }
    let first_kept = first_kept(tx, kept);
    let delete = |part: i64| tx.execute_counted(DELETE_OLD, &[first_kept.into(), part.into()]);
    Ok(tx.in_parts(BATCH, delete)?.rows)
}

/// Records what the relay said, and lets the mail be sent again after this time.
#[cfg(feature = "mail")]
pub(crate) fn retry(
    tx: &LockedEvent<'_>,
    claimed: &ClaimedWork,
    id: MailId,
    answer: &str,
    delay: Duration,
) -> Result<()> {
    if work::is_held(tx, claimed)? {
        tx.execute(ANSWERED, &[id.into(), answer.into()])?;
        work::later(tx, claimed, delay)?;
    }
    Ok(())
}
