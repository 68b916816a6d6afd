//! Invariants of the log of scans.

use super::invariant::{Invariant, RowInvariant, RowInvariants};

/// Rules about a row of the log and what it refers to.
pub(super) const SCANS: RowInvariants = RowInvariants {
    table: "scans",
    key: "s.id",
    rows: "scans s LEFT JOIN events e ON e.id = s.event_id LEFT JOIN tickets t ON t.id = s.ticket_id",
    rules: &[
        RowInvariant {
            name: "scan-event",
            sentence: "a scan must have the organization of its event, whose scans are logged, and the event of its ticket",
            is_violated: "e.id IS NULL OR e.organization_id <> s.organization_id OR e.has_scan_log = 0
                OR t.event_id <> s.event_id",
        },
        RowInvariant {
            name: "scan-outcome",
            sentence: "a scan must have an outcome that its direction, its verdict and its ticket allow",
            is_violated: "s.outcome NOT IN
                    ('ADMITTED', 'LEFT', 'ADMITTED_TWICE', 'WOULD_BE_REFUSED', 'REFUSED', 'UNKNOWN_CODE')
                OR s.kind = 'IN' AND s.outcome = 'LEFT'
                OR s.kind = 'OUT' AND s.outcome IN ('ADMITTED', 'ADMITTED_TWICE')
                OR s.outcome <> 'UNKNOWN_CODE' AND (s.outcome = 'REFUSED') <> (s.verdict = 'REFUSED')
                OR s.ticket_id IS NULL AND s.outcome IN ('ADMITTED', 'LEFT', 'ADMITTED_TWICE')",
        },
        RowInvariant {
            name: "scan-report",
            sentence: "ticket.checked_in must have been sent for each ADMITTED scan",
            is_violated: "s.outcome = 'ADMITTED' AND s.is_reported = 0",
        },
    ],
};

pub(super) const INVARIANTS: &[Invariant] = &[Invariant {
    name: "scan-state",
    table: "tickets",
    sentence: "a ticket must be checked in exactly if the last ADMITTED or LEFT scan of its log is ADMITTED, have the times of the last check-in and check-out of its log, a first scan that is not after the first check-in of the log, and as many scans; its log must have at least as many check-ins as check-outs",
    // To a log of 200 rows no scan is added. A ticket may have been scanned before its log began.
    violations: "SELECT t.id FROM
            (SELECT ticket_id, COUNT(*) AS number, COUNT(*) FILTER (WHERE kind = 'IN') AS scans,
                MAX(scanned_at) FILTER (WHERE kind = 'IN') AS last_scan,
                MIN(scanned_at) FILTER (WHERE outcome = 'ADMITTED') AS first_check_in,
                COUNT(*) FILTER (WHERE outcome = 'ADMITTED' OR kind = 'BASE') AS check_ins,
                MAX(scanned_at) FILTER (WHERE outcome = 'ADMITTED' OR kind = 'BASE') AS last_check_in,
                COUNT(*) FILTER (WHERE outcome = 'LEFT') AS check_outs,
                MAX(scanned_at) FILTER (WHERE outcome = 'LEFT') AS last_check_out
            FROM scans WHERE ticket_id IS NOT NULL GROUP BY ticket_id) l
            JOIN tickets t ON t.id = l.ticket_id
        WHERE l.number < 200 AND (t.status <> 'CANCELLED' AND (t.status = 'CHECKED_IN') <> COALESCE(
                (SELECT s.kind <> 'OUT' FROM scans s WHERE s.ticket_id = t.id
                    AND (s.kind = 'BASE' OR s.outcome = 'ADMITTED' OR s.outcome = 'LEFT')
                ORDER BY s.scanned_at DESC, s.kind = 'BASE', COALESCE(s.client_id, '') DESC, s.id DESC LIMIT 1),
                t.status <> t.status)
            OR l.last_check_in IS NOT NULL AND COALESCE(t.check_in_at, 0) <> l.last_check_in
            OR l.last_check_out IS NOT NULL AND COALESCE(t.check_out_at, 0) <> l.last_check_out
            OR t.first_scan_at > l.first_check_in OR t.scan_count = l.scans AND t.first_scan_at < l.first_check_in
            OR t.scan_count < l.scans OR t.last_scan_at < l.last_scan OR l.check_outs > l.check_ins)",
}];
