//! Reports of scans from devices at the entrance.
//!
//! A report locks its tickets, in the order of their ids, so that two reports never wait for each other. Then it adds its
//! rows to the log of each ticket, replays the log, and writes what differs: the ticket, and the outcomes of earlier scans.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use uuid::Uuid;

use super::server_scans;
use crate::error::{Error, Reason, ResourceKind, Result};
use crate::model::notifications::notification_types::NotificationData;
use crate::model::sale::ticket::TicketStatus;
use crate::model::tenants::caller::Identity;
use crate::model::tickets::scan::{
    LoggedKind, LoggedScan, NewScan, OtherScan, ScanKind, ScanOutcome, ScanResult, ScannedTicket, UploadScans,
    UploadedScans, Verdict,
};
use crate::model::values::id::{EventId, OrganizationId, TicketId, TicketTypeId};
use crate::rules::Checked;
use crate::rules::entrance::door::{self, no_door_link, time_of_scan};
use crate::rules::entrance::scan_log::{Judgement, MOST_REPLAYED, Replay, TicketState};
use crate::store::sale::sales_figures;
use crate::store::tenants::api_keys;
use crate::store::tickets::scan_log::{self, StoredScan};
use crate::store::tickets::scans::{self, LockedTicket};
use crate::store::tickets::ticket_codes;
use crate::store::webhooks::{outbox, subscribed_endpoints};
use crate::store::{CommitEvent, Transaction};

/// The device that reports scans.
#[derive(Debug, Clone, Copy)]
struct Device<'r> {
    caller: Identity,
    event: EventId,
    name: &'r str,
}

/// A scan of a report.
#[derive(Debug)]
struct Reported<'r> {
    /// The place in the report.
    index: usize,
    scan: &'r NewScan,
    /// Its id, as the log has it.
    uuid: String,
    /// The ticket that it names, or whose code it has. It can be one of another event.
    ticket: Option<TicketId>,
}

/// What a report changes besides the tickets and their logs.
#[derive(Default)]
struct Changes {
    notifications: Vec<NotificationData>,
    /// By how much the number of checked-in tickets of a ticket type changes.
    inside: BTreeMap<TicketTypeId, i64>,
    /// By the ids of the scans.
    results: HashMap<String, ScanResult>,
}

/// Adds the scans of a report to the logs of their tickets. A scan that was reported before is not added again.
pub(crate) fn upload(
    tx: &Transaction<'_>,
    caller: Identity,
    event: EventId,
    request: &Checked<UploadScans>,
) -> Result<UploadedScans> {
    let organization = caller.organization;
    let device = Device { caller, event, name: &request.device };
    tx.read_ahead(|| subscribed_endpoints::enabled(tx, organization));
    match scan_log::is_kept(tx, organization, event)? {
        None => return Err(Error::NotFound(ResourceKind::Event)),
        Some(false) => return Err(no_door_link()),
        Some(true) => {}
    }
    let entries = entries(tx, &device, &request.scans)?;
    let tickets = lock_tickets(tx, organization, &entries)?;
    let known = known_scans(tx, &device, &entries)?;
    tx.read_ahead(|| tickets.keys().try_for_each(|ticket| scan_log::of_ticket(tx, *ticket).map(drop)));

    let mut changes = Changes::default();
    let mut of_tickets: BTreeMap<TicketId, Vec<&Reported<'_>>> = BTreeMap::new();
    for scan in &entries {
        let ticket = scan.ticket.and_then(|id| tickets.get(&id));
        if let Some(shown) = ticket.filter(|ticket| shows_code(scan, ticket, event)) {
            of_tickets.entry(shown.ticket.id).or_default().push(scan);
            continue;
        }
        let result = match known.get(&scan.uuid) {
            Some(stored) => stored_result(scan, stored),
            // Whoever names a ticket without the proof has not seen its code, and learns nothing of it.
            None => without_ticket(tx, &device, scan, ticket.is_some() && scan.scan.code.is_some())?,
        };
        changes.results.insert(scan.uuid.clone(), result);
    }
    for (id, scans) in of_tickets {
        if let Some(ticket) = tickets.get(&id) {
            merge(tx, &device, ticket, &scans, &known, &mut changes)?;
        }
    }
    let Changes { notifications, inside, results } = changes;
    outbox::enqueue(tx, organization, notifications)?;
    // Last, because all scans of the ticket types wait for each other from here to the commit.
    for (ticket_type, by) in inside.into_iter().filter(|(_, by)| *by != 0) {
        sales_figures::inside_changed(tx, ticket_type, by)?;
    }
    let of_id = |scan: &NewScan| {
        let result = results.get(&uuid(scan)?).cloned();
        let result = result.ok_or_else(|| Error::Internal(format!("the scan {} has no result", scan.id)))?;
        Ok(ScanResult { id: scan.id.clone(), ..result })
    };
    Ok(UploadedScans { results: request.scans.iter().map(of_id).collect::<Result<_>>()?, now: tx.now() })
}

/// The scans of a report, each id once, with what their codes belong to.
fn entries<'r>(tx: &Transaction<'_>, device: &Device<'_>, scans: &'r [NewScan]) -> Result<Vec<Reported<'r>>> {
    let of_code = |code: &str| ticket_codes::find(tx, device.caller.organization, code, Some(device.event));
    tx.read_ahead(|| scans.iter().filter_map(|scan| scan.code.as_deref()).try_for_each(|code| of_code(code).map(drop)));
    let mut entries: Vec<Reported<'r>> = Vec::with_capacity(scans.len());
    for (index, scan) in scans.iter().enumerate() {
        let ticket = match &scan.code {
            Some(code) => of_code(code)?,
            None => scan.ticket_id,
        };
        let uuid = uuid(scan)?;
        if entries.iter().all(|earlier| earlier.uuid != uuid) {
            entries.push(Reported { index, scan, uuid, ticket });
        }
    }
    Ok(entries)
}

/// The id of a scan in the form in which the log has it: with small letters and hyphens.
fn uuid(scan: &NewScan) -> Result<String> {
    let uuid = Uuid::try_parse(&scan.id).map_err(|error| Error::Internal(error.to_string()))?;
    Ok(uuid.to_string())
}

fn lock_tickets(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    entries: &[Reported<'_>],
) -> Result<BTreeMap<TicketId, LockedTicket>> {
    let ids: BTreeSet<TicketId> = entries.iter().filter_map(|scan| scan.ticket).collect();
    let find = |id: &TicketId| scans::find_by_id(tx, organization, *id);
    tx.read_ahead(|| ids.iter().try_for_each(|id| find(id).map(drop)));
    let mut tickets = BTreeMap::new();
    for id in &ids {
        if let Some(ticket) = find(id)? {
            tickets.insert(*id, ticket);
        }
    }
    Ok(tickets)
}

fn known_scans(
    tx: &Transaction<'_>,
    device: &Device<'_>,
    entries: &[Reported<'_>],
) -> Result<HashMap<String, StoredScan>> {
    let find = |scan: &Reported<'_>| scan_log::find(tx, device.caller.organization, &scan.uuid);
    tx.read_ahead(|| entries.iter().try_for_each(|scan| find(scan).map(drop)));
    let mut known = HashMap::new();
    for scan in entries {
        match find(scan)? {
            Some(stored) if stored.logged.event_id != device.event => {
                return Err(Error::field(format!("scans[{}].id", scan.index), "is that of a scan at another event"));
            }
            Some(stored) => drop(known.insert(scan.uuid.clone(), stored)),
            None => {}
        }
    }
    Ok(known)
}

/// Whether the scan shows that the code of the ticket was seen, and the ticket is one of the event.
fn shows_code(scan: &Reported<'_>, ticket: &LockedTicket, event: EventId) -> bool {
    ticket.state.event_id == event
        && scan.scan.proof.as_ref().is_none_or(|proof| *proof == door::proof(event, &ticket.ticket.code))
}

/// The result of a scan of a code that no ticket of the event has. It is logged only if somebody passed: invented codes would
/// fill the log.
fn without_ticket(
    tx: &Transaction<'_>,
    device: &Device<'_>,
    scan: &Reported<'_>,
    is_of_other_event: bool,
) -> Result<ScanResult> {
    let has_passed = scan.scan.verdict == Some(Verdict::Admitted);
    let (outcome, reason) = match (is_of_other_event, has_passed) {
        (true, true) => (ScanOutcome::WouldBeRefused, Some(Reason::WrongEvent)),
        (true, false) => (ScanOutcome::Refused, Some(Reason::WrongEvent)),
        (false, _) => (ScanOutcome::UnknownCode, None),
    };
    let logged = LoggedScan { outcome: Some(outcome), reason, ..new_row(tx, device, scan, None) };
    let mut row = StoredScan::from(logged);
    if has_passed {
        // A caller without a key is the program itself.
        let has_room = device.caller.key.map_or(Ok(true), |key| api_keys::count_scan_without_ticket(tx, key))?;
        row.log_is_full = !has_room;
    }
    if has_passed && !row.log_is_full {
        scan_log::insert(tx, device.caller.organization, &row)?;
    }
    if row.logged.kind == LoggedKind::In {
        tx.record(reason.map_or(CommitEvent::ScanUnknown, CommitEvent::ScanRefused));
    }
    Ok(stored_result(scan, &row))
}

/// The row of a scan that is not stored yet.
fn new_row(tx: &Transaction<'_>, device: &Device<'_>, scan: &Reported<'_>, ticket: Option<TicketId>) -> LoggedScan {
    let NewScan { kind, scanned_at, verdict, is_override, .. } = scan.scan;
    let kind = match kind {
        ScanKind::In => LoggedKind::In,
        ScanKind::Out => LoggedKind::Out,
    };
    let at = time_of_scan(*scanned_at, scan.index, tx.now());
    LoggedScan {
        uuid: Some(scan.uuid.clone()),
        api_key_id: device.caller.key,
        device: Some(device.name.to_owned()),
        verdict: *verdict,
        is_override: is_override.unwrap_or_default(),
        ..LoggedScan::new(device.event, ticket, kind, at, tx.now())
    }
}

/// Adds scans to the log of a locked ticket, and writes what follows.
fn merge(
    tx: &Transaction<'_>,
    device: &Device<'_>,
    ticket: &LockedTicket,
    scans: &[&Reported<'_>],
    known: &HashMap<String, StoredScan>,
    changes: &mut Changes,
) -> Result<()> {
    let id = ticket.ticket.id;
    let present = ticket.present();
    let mut log = scan_log::of_ticket(tx, id)?;
    let new: Vec<_> = scans.iter().copied().filter(|scan| !known.contains_key(&scan.uuid)).collect();
    if !new.is_empty() && log.is_empty() {
        log.extend(server_scans::base(tx, ticket));
    }
    let room = MOST_REPLAYED.saturating_sub(log.len()).min(new.len());
    let (kept, beyond) = new.split_at(room);
    // The log does not say everything that has happened to the ticket.
    let is_full = log.len() + usize::from(!new.is_empty()) > MOST_REPLAYED;
    if is_full {
        log.clear();
    }
    let (decided, open): (Vec<_>, Vec<_>) = kept.iter().copied().partition(|scan| scan.scan.verdict.is_some());
    log.extend(decided.into_iter().map(|scan| StoredScan::from(new_row(tx, device, scan, Some(id)))));
    log.sort_by(|one, other| one.logged.position().cmp(&other.logged.position()));
    let rows: Vec<_> = log.iter().map(|scan| &scan.logged).collect();
    let mut replay = Replay::from(if is_full { present.clone() } else { present.before(&rows) });
    for row in rows {
        replay.push(row);
    }
    let in_log = log.iter().map(|scan| scan.logged.scanned_at).max();
    let mut last = if is_full { scan_log::end(tx, id)?.last } else { in_log };
    for (scan, log_is_full) in open.into_iter().map(|scan| (scan, false)).chain(beyond.iter().map(|scan| (*scan, true)))
    {
        let mut row = new_row(tx, device, scan, Some(id));
        if row.verdict.is_none() {
            row.scanned_at = server_scans::next_after(tx, last);
            row.verdict = Some(replay.state.decide(row.kind, row.scanned_at));
        }
        last = last.max(Some(row.scanned_at));
        replay.push(&row);
        log.push(StoredScan { log_is_full, ..row.into() });
    }
    let Replay { state, judgements, .. } = replay;
    if !new.is_empty() {
        write(tx, device.caller.organization, ticket, &state, &mut log, &judgements, changes)?;
    }
    let shown = if new.is_empty() { &present } else { &state };
    for scan in scans {
        let position = log.iter().position(|row| row.logged.uuid.as_ref() == Some(&scan.uuid));
        let (Some(index), Some(judgement)) = (position, position.and_then(|index| judgements.get(index))) else {
            // It was reported of another ticket, or is one of very many.
            if let Some(stored) = known.get(&scan.uuid) {
                changes.results.insert(scan.uuid.clone(), stored_result(scan, stored));
            }
            continue;
        };
        let other = judgement.other.and_then(|other| log.get(other));
        let result = ScanResult {
            ticket: Some(shown_ticket(ticket, shown)),
            other: other.map(|other| OtherScan { at: other.logged.scanned_at, device: other.logged.device.clone() }),
            ..stored_result(scan, &log[index])
        };
        changes.results.insert(scan.uuid.clone(), result);
    }
    Ok(())
}

fn write(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    ticket: &LockedTicket,
    state: &TicketState,
    log: &mut [StoredScan],
    judgements: &[Judgement],
    changes: &mut Changes,
) -> Result<()> {
    let new = log.iter().filter(|scan| scan.is_new() && scan.logged.kind == LoggedKind::In);
    let new: Vec<_> = new.map(|scan| scan.logged.scanned_at).collect();
    let inside = |status| i64::from(status == TicketStatus::CheckedIn);
    let by = inside(state.ticket.status) - inside(ticket.ticket.status);
    *changes.inside.entry(ticket.ticket.ticket_type_id).or_default() += by;
    scan_log::set_ticket(tx, ticket.ticket.id, state, new.len(), new.iter().max().copied())?;
    log.iter_mut()
        .zip(judgements)
        .try_for_each(|(scan, judgement)| write_judgement(tx, organization, ticket, scan, *judgement, changes))
}

/// Writes a row if it is new or judged in another way than before, and reports an admission that counts now.
fn write_judgement(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    ticket: &LockedTicket,
    scan: &mut StoredScan,
    judgement: Judgement,
    changes: &mut Changes,
) -> Result<()> {
    let before = scan.logged.outcome;
    // The server has said why it turned somebody away.
    let keeps_reason = judgement.outcome == Some(ScanOutcome::Refused) && scan.logged.uuid.is_none();
    let is_same = before == judgement.outcome && (keeps_reason || scan.logged.reason == judgement.reason);
    if !scan.is_new() && is_same {
        return Ok(());
    }
    scan.logged.outcome = judgement.outcome;
    scan.logged.reason = judgement.reason;
    if judgement.outcome == Some(ScanOutcome::Admitted) && !scan.is_reported {
        scan.is_reported = true;
        changes.notifications.push(ticket.checked_in(scan.logged.scanned_at));
    }
    match (judgement.outcome, judgement.reason) {
        (Some(ScanOutcome::AdmittedTwice), _) if before != judgement.outcome => {
            tx.record(CommitEvent::AdmittedTwice);
            let scan = scan.logged.uuid.as_deref().and_then(|uuid| Uuid::try_parse(uuid).ok());
            let ticket = ticket.ticket.id;
            tx.after_commit(move || {
                let scan = scan.map(tracing::field::display);
                tracing::warn!(target: "ticketing::door", %ticket, scan, "two people came in with one ticket");
            });
        }
        (Some(ScanOutcome::Admitted), _) if scan.is_new() => tx.record(CommitEvent::ScanAccepted),
        (_, Some(reason)) if scan.is_new() && scan.logged.kind == LoggedKind::In => {
            tx.record(CommitEvent::ScanRefused(reason));
        }
        _ => {}
    }
    match (scan.is_new(), scan.log_is_full) {
        (true, true) => Ok(()),
        (true, false) => scan_log::insert(tx, organization, scan),
        (false, _) => scan_log::judge(tx, scan),
    }
}

/// The result of a scan as it is stored, without its ticket.
fn stored_result(scan: &Reported<'_>, stored: &StoredScan) -> ScanResult {
    ScanResult {
        id: scan.scan.id.clone(),
        outcome: stored.logged.outcome.unwrap_or(ScanOutcome::UnknownCode),
        reason: stored.logged.reason,
        ticket: None,
        other: None,
        log_full: stored.log_is_full,
    }
}

fn shown_ticket(ticket: &LockedTicket, state: &TicketState) -> ScannedTicket {
    ScannedTicket {
        ticket_id: ticket.ticket.id,
        ticket_type_id: ticket.ticket.ticket_type_id,
        ticket_type_name: ticket.ticket.ticket_type.name.clone(),
        status: state.ticket.status,
        check_in_date: state.ticket.check_in_date,
        first_scan_date: state.ticket.first_scan_date,
        expires_at: state.ticket.expires_at,
        ticket_label: ticket.ticket.ticket_label.clone(),
    }
}
