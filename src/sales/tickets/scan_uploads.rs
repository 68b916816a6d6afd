//! Reports of scans from devices at the entrance.
//!
//! A report locks its tickets, in the order of their ids, so that two reports never wait for each other. Then it adds its
//! rows to the log of each ticket, replays the log, and writes what differs: the ticket, and the outcomes of earlier scans.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use uuid::Uuid;

use super::server_scans;
use crate::error::{Error, Reason, ResourceKind, Result};
use crate::model::notifications::notification_data::TicketCheckedIn;
use crate::model::notifications::notification_types::NotificationData;
use crate::model::tickets::scan::{
    LoggedKind, LoggedScan, NewScan, OtherScan, ScanKind, ScanOutcome, ScanResult, ScannedTicket, UploadScans,
    UploadedScans, Verdict,
};
use crate::model::tickets::ticket::TicketStatus;
use crate::model::values::id::{ApiKeyId, EventId, OrganizationId, ScanId, TicketId, TicketTypeId};
use crate::rules::Checked;
use crate::rules::entrance::door::{is_proof, no_door_link, time_of_scan};
use crate::rules::entrance::scan_log::{Judgement, MOST_REPLAYED, Replay, TicketState};
use crate::store::sale::sales_figures;
use crate::store::tickets::scan_log::{self, NewScans, StoredScan};
use crate::store::tickets::scans::{self, LockedTicket};
use crate::store::webhooks::{outbox, subscribed_endpoints};
use crate::store::{CommitEvent, Transaction};

/// The device that reports scans.
#[derive(Debug, Clone, Copy)]
struct Device<'r> {
    organization: OrganizationId,
    event: EventId,
    api_key: Option<ApiKeyId>,
    name: &'r str,
}

/// A scan of a report.
#[derive(Debug, Clone, Copy)]
struct Reported<'r> {
    /// The place in the report.
    index: usize,
    scan: &'r NewScan,
    client_id: Uuid,
    code: ScannedCode,
}

/// What the code of a scan belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScannedCode {
    /// A ticket, which has not been read yet.
    Ticket(TicketId),
    /// A ticket of another event.
    OtherEvent,
    Unknown,
}

/// What a report changes besides the tickets and their logs.
#[derive(Default)]
struct Changes {
    notifications: Vec<NotificationData>,
    /// By how much the number of checked-in tickets of a ticket type changes.
    inside: BTreeMap<TicketTypeId, i64>,
    results: HashMap<Uuid, ScanResult>,
}

/// Adds the scans of a report to the logs of their tickets. A scan that was reported before is not added again.
pub(crate) fn upload(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    api_key: Option<ApiKeyId>,
    request: &Checked<UploadScans>,
) -> Result<UploadedScans> {
    let device = Device { organization, event, api_key, name: &request.device };
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
    let mut of_tickets: BTreeMap<TicketId, Vec<Reported<'_>>> = BTreeMap::new();
    for scan in &entries {
        match scan.code {
            ScannedCode::Ticket(id) if shows_code(scan, tickets.get(&id), event) => {
                of_tickets.entry(id).or_default().push(*scan);
            }
            code => {
                let result = match known.get(&scan.client_id) {
                    Some(stored) => stored_result(scan, stored),
                    None => without_ticket(tx, &device, scan, code)?,
                };
                changes.results.insert(scan.client_id, result);
            }
        }
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
        let result = Uuid::try_parse(&scan.id).ok().and_then(|id| results.get(&id)).cloned();
        let result = result.ok_or_else(|| Error::Internal(format!("the scan {} has no result", scan.id)))?;
        Ok(ScanResult { id: scan.id.clone(), ..result })
    };
    Ok(UploadedScans { results: request.scans.iter().map(of_id).collect::<Result<_>>()?, now: tx.now() })
}

/// The scans of a report, each id once, with what their codes belong to.
fn entries<'r>(tx: &Transaction<'_>, device: &Device<'_>, scans: &'r [NewScan]) -> Result<Vec<Reported<'r>>> {
    let of_code = |code: &str| scans::ticket_of_code(tx, device.organization, code);
    tx.read_ahead(|| scans.iter().filter_map(|scan| scan.code.as_deref()).try_for_each(|code| of_code(code).map(drop)));
    let mut entries: Vec<Reported<'r>> = Vec::with_capacity(scans.len());
    for (index, scan) in scans.iter().enumerate() {
        let code = match (&scan.code, scan.ticket_id) {
            (Some(code), _) => match of_code(code)? {
                Some((ticket, event)) if event == device.event => ScannedCode::Ticket(ticket),
                Some(_) => ScannedCode::OtherEvent,
                None => ScannedCode::Unknown,
            },
            (None, Some(ticket)) => ScannedCode::Ticket(ticket),
            (None, None) => ScannedCode::Unknown,
        };
        let client_id = Uuid::try_parse(&scan.id).map_err(|error| Error::Internal(error.to_string()))?;
        if entries.iter().all(|earlier| earlier.client_id != client_id) {
            entries.push(Reported { index, scan, client_id, code });
        }
    }
    Ok(entries)
}

/// Locks the tickets of the scans, in the order of their ids.
fn lock_tickets(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    entries: &[Reported<'_>],
) -> Result<BTreeMap<TicketId, LockedTicket>> {
    let ids = entries.iter().filter_map(|scan| match scan.code {
        ScannedCode::Ticket(id) => Some(id),
        _ => None,
    });
    let ids: BTreeSet<TicketId> = ids.collect();
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

/// The scans that were reported before.
fn known_scans(
    tx: &Transaction<'_>,
    device: &Device<'_>,
    entries: &[Reported<'_>],
) -> Result<HashMap<Uuid, StoredScan>> {
    let find = |scan: &Reported<'_>| scan_log::find(tx, device.organization, scan.client_id);
    tx.read_ahead(|| entries.iter().try_for_each(|scan| find(scan).map(drop)));
    let mut known = HashMap::new();
    for scan in entries {
        match find(scan)? {
            Some(stored) if stored.logged.event_id != device.event => {
                return Err(Error::field(format!("scans[{}].id", scan.index), "is that of a scan at another event"));
            }
            Some(stored) => drop(known.insert(scan.client_id, stored)),
            None => {}
        }
    }
    Ok(known)
}

/// Whether the scan shows that the code of the ticket was seen.
fn shows_code(scan: &Reported<'_>, ticket: Option<&LockedTicket>, event: EventId) -> bool {
    ticket.is_some_and(|found| {
        found.state.event_id == event
            && scan.scan.proof.as_ref().is_none_or(|proof| is_proof(proof, event, &found.ticket.code))
    })
}

/// The result of a scan of a code that no ticket of the event has. It is logged only if somebody passed: invented codes would
/// fill the log.
fn without_ticket(
    tx: &Transaction<'_>,
    device: &Device<'_>,
    scan: &Reported<'_>,
    code: ScannedCode,
) -> Result<ScanResult> {
    let has_passed = scan.scan.verdict == Some(Verdict::Admitted);
    let (outcome, reason) = match (code, has_passed) {
        (ScannedCode::OtherEvent, true) => (ScanOutcome::WouldBeRefused, Some(Reason::WrongEvent)),
        (ScannedCode::OtherEvent, false) => (ScanOutcome::Refused, Some(Reason::WrongEvent)),
        (ScannedCode::Unknown | ScannedCode::Ticket(_), _) => (ScanOutcome::UnknownCode, None),
    };
    let mut row = new_row(tx, device, scan, None);
    row.logged.outcome = Some(outcome);
    row.logged.reason = reason;
    if has_passed {
        scan_log::insert(tx, device.organization, &row)?;
    }
    if row.row.kind == LoggedKind::In {
        tx.record(reason.map_or(CommitEvent::ScanUnknown, CommitEvent::ScanRefused));
    }
    Ok(stored_result(scan, &row))
}

/// The row of a scan that is not stored yet.
fn new_row(tx: &Transaction<'_>, device: &Device<'_>, scan: &Reported<'_>, ticket: Option<TicketId>) -> StoredScan {
    let NewScan { kind, scanned_at, verdict, is_override, .. } = scan.scan;
    let logged = LoggedScan {
        id: ScanId::UNKNOWN,
        uuid: Some(scan.client_id.to_string()),
        event_id: device.event,
        ticket_id: ticket,
        api_key_id: device.api_key,
        device: Some(device.name.to_owned()),
        kind: match kind {
            ScanKind::In => LoggedKind::In,
            ScanKind::Out => LoggedKind::Out,
        },
        scanned_at: time_of_scan(*scanned_at, scan.index, tx.now()),
        received_at: tx.now(),
        verdict: *verdict,
        outcome: None,
        reason: None,
        is_override: is_override.unwrap_or_default(),
    };
    StoredScan::new(logged, Some(scan.client_id))
}

/// Adds scans to the log of a locked ticket, and writes what follows.
fn merge(
    tx: &Transaction<'_>,
    device: &Device<'_>,
    ticket: &LockedTicket,
    scans: &[Reported<'_>],
    known: &HashMap<Uuid, StoredScan>,
    changes: &mut Changes,
) -> Result<()> {
    let id = ticket.ticket.id;
    let present = ticket.present();
    let mut log = scan_log::of_ticket(tx, id)?;
    let new = scans.iter().filter(|scan| !known.contains_key(&scan.client_id));
    let (decided, open): (Vec<_>, Vec<_>) = new.partition(|scan| scan.scan.verdict.is_some());
    let has_new = !decided.is_empty() || !open.is_empty();
    if has_new && log.is_empty() {
        log.extend(server_scans::base(tx, ticket));
    }
    let is_long = log.len() > MOST_REPLAYED;
    if is_long {
        log.clear();
    }
    log.extend(decided.into_iter().map(|scan| new_row(tx, device, scan, Some(id))));
    let mut replay = if is_long {
        let mut replay = Replay::after(present.clone());
        for scan in &log {
            replay.push(&scan.row);
        }
        replay
    } else {
        log.sort_by_cached_key(|scan| scan.row.position());
        Replay::of(&present, log.iter().map(|scan| &scan.row))
    };
    if !open.is_empty() {
        let in_log = log.iter().map(|scan| scan.row.at).max();
        let mut last = if is_long { in_log.max(scan_log::last(tx, id)?) } else { in_log };
        for scan in open {
            let mut row = new_row(tx, device, scan, Some(id));
            let at = server_scans::next_after(tx, last);
            row.set_decision(at, replay.state.decide(row.row.kind, at));
            replay.push(&row.row);
            log.push(row);
            last = Some(at);
        }
    }
    let Replay { state, judgements, .. } = replay;
    if has_new {
        write(tx, device.organization, ticket, &state, &mut log, &judgements, changes)?;
    }
    let shown = if has_new { &state } else { &present };
    for scan in scans {
        let position = log.iter().position(|row| row.row.client_id == Some(scan.client_id));
        let (Some(index), Some(judgement)) = (position, position.and_then(|index| judgements.get(index))) else {
            // It was reported of another ticket, or is one of very many.
            if let Some(stored) = known.get(&scan.client_id) {
                changes.results.insert(scan.client_id, stored_result(scan, stored));
            }
            continue;
        };
        let other = judgement.other.and_then(|other| log.get(other));
        let result = ScanResult {
            ticket: Some(shown_ticket(ticket, shown)),
            other: other.map(|other| OtherScan { at: other.row.at, device: other.logged.device.clone() }),
            ..stored_result(scan, &log[index])
        };
        changes.results.insert(scan.client_id, result);
    }
    Ok(())
}

/// Writes what follows from the log of a ticket.
fn write(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    ticket: &LockedTicket,
    state: &TicketState,
    log: &mut [StoredScan],
    judgements: &[Judgement],
    changes: &mut Changes,
) -> Result<()> {
    let new: Vec<_> = log.iter().filter(|scan| scan.is_new() && scan.row.kind == LoggedKind::In).collect();
    let added = NewScans {
        count: i64::try_from(new.len()).unwrap_or(i64::MAX),
        last: new.iter().map(|scan| scan.row.at).max(),
    };
    let inside = |status| i64::from(status == TicketStatus::CheckedIn);
    let by = inside(state.ticket.status) - inside(ticket.ticket.status);
    *changes.inside.entry(ticket.ticket.ticket_type_id).or_default() += by;
    scan_log::set_ticket(tx, ticket.ticket.id, state, added)?;
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
    let keeps_reason = judgement.outcome == Some(ScanOutcome::Refused) && scan.row.client_id.is_none();
    let is_same = before == judgement.outcome && (keeps_reason || scan.logged.reason == judgement.reason);
    if !scan.is_new() && is_same {
        return Ok(());
    }
    scan.logged.outcome = judgement.outcome;
    scan.logged.reason = judgement.reason;
    if judgement.outcome == Some(ScanOutcome::Admitted) && !scan.is_reported {
        scan.is_reported = true;
        changes.notifications.push(NotificationData::TicketCheckedIn(TicketCheckedIn {
            issued_ticket_id: ticket.ticket.id,
            ticket_type_id: ticket.ticket.ticket_type_id,
            event_id: ticket.state.event_id,
            order_id: ticket.order_id,
            check_in_date: scan.row.at,
        }));
    }
    match (judgement.outcome, judgement.reason) {
        (Some(ScanOutcome::AdmittedTwice), _) if before != judgement.outcome => {
            tx.record(CommitEvent::AdmittedTwice { ticket: ticket.ticket.id, scan: scan.row.client_id });
        }
        (Some(ScanOutcome::Admitted), _) if scan.is_new() => tx.record(CommitEvent::ScanAccepted),
        (_, Some(reason)) if scan.is_new() && scan.row.kind == LoggedKind::In => {
            tx.record(CommitEvent::ScanRefused(reason));
        }
        _ => {}
    }
    if scan.is_new() { scan_log::insert(tx, organization, scan) } else { scan_log::judge(tx, scan) }
}

/// The result of a scan as it is stored, without its ticket.
fn stored_result(scan: &Reported<'_>, stored: &StoredScan) -> ScanResult {
    ScanResult {
        id: scan.scan.id.clone(),
        outcome: stored.logged.outcome.unwrap_or(ScanOutcome::UnknownCode),
        reason: stored.logged.reason,
        ticket: None,
        other: None,
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
    }
}
