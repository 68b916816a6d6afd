//! Invariants of allocations.

use super::invariant::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "allocation-issued",
        table: "allocations",
        sentence: "an allocation must have as many tickets as it has issued: all of its quantity if it is COMPLETE, unless its event is CANCELLED, or an import, and fewer while it is ISSUING",
        violations: "SELECT a.id FROM allocations a JOIN events e ON e.id = a.event_id LEFT JOIN
                (SELECT allocation_id, COUNT(*) AS tickets FROM tickets WHERE allocation_id IS NOT NULL GROUP BY allocation_id) t
                ON t.allocation_id = a.id
            WHERE a.issued <> COALESCE(t.tickets, 0)
                OR a.issued < a.quantity AND (a.is_import = 1 OR a.state = 'COMPLETE' AND e.status <> 'CANCELLED')
                OR a.issued >= a.quantity AND a.state = 'ISSUING'",
    },
    Invariant {
        name: "allocation-organization",
        table: "allocations",
        sentence: "an allocation must have the event and the organization of its ticket type",
        violations: "SELECT a.id FROM allocations a LEFT JOIN ticket_types tt ON tt.id = a.ticket_type_id
            WHERE tt.id IS NULL OR tt.event_id <> a.event_id OR tt.organization_id <> a.organization_id",
    },
    Invariant {
        name: "allocation-work",
        table: "allocations",
        sentence: "there must be work for an allocation that is ISSUING or CANCELLING",
        violations: "SELECT a.id FROM allocations a WHERE (a.state = 'ISSUING' OR a.state = 'CANCELLING')
            AND NOT EXISTS (SELECT 1 FROM work w WHERE w.kind = 'change allocation' AND w.key = a.id)",
    },
    Invariant {
        name: "allocation-labels-left",
        table: "allocations",
        sentence: "only an allocation that is ISSUING may have labels of tickets that are not issued",
        violations: "SELECT a.id FROM allocations a WHERE a.state <> 'ISSUING'
            AND EXISTS (SELECT 1 FROM allocation_labels l WHERE l.allocation_id = a.id)",
    },
];
