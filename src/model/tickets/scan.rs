//! Scans that devices at the entrance report, and the log of them.

use crate::enums::text_enum::text_enum;
use crate::error::Reason;
use crate::form::declare::fields::form;
use crate::form::limits::LINE_LENGTH;
use crate::form::limits::ListLimit::{MaxItems, MinItems};
use crate::form::limits::TextLimit::{MaxLength, MinLength, TicketCode, Uuid};
use crate::model::sale::ticket::TicketStatus;
use crate::model::values::id::{ApiKeyId, EventId, ScanId, TicketId, TicketTypeId};
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

/// The greatest number of scans in one request.
const MAX_SCANS: usize = 100;

/// The greatest length of the name of a device, in characters.
const DEVICE_LENGTH: usize = 64;

text_enum! {
    /// In which direction a holder passes the entrance.
    pub enum ScanKind {
        /// In.
        In = "IN",
        /// Out.
        Out = "OUT",
    }
}

text_enum! {
    /// What a row of the log records.
    pub enum LoggedKind {
        /// A scan for check-in.
        In = "IN",
        /// A scan for check-out.
        Out = "OUT",
        /// The last check-in of a ticket that was checked in when its log began.
        Base = "BASE",
        /// The ticket was cancelled.
        Cancelled = "CANCELLED",
    }
}

text_enum! {
    /// What was decided at the entrance.
    pub enum Verdict {
        /// The holder was let through.
        Admitted = "ADMITTED",
        /// The holder was not let through.
        Refused = "REFUSED",
    }
}

text_enum! {
    /// What all scans of a ticket together say of one of them.
    pub enum ScanOutcome {
        /// The holder was let in, and the ticket admits them.
        Admitted = "ADMITTED",
        /// The holder was let out.
        Left = "LEFT",
        /// The holder was let in, although the ticket was checked in already: two people came in with it.
        AdmittedTwice = "ADMITTED_TWICE",
        /// The holder was let through, although the rules refuse it, for example because the ticket was cancelled.
        WouldBeRefused = "WOULD_BE_REFUSED",
        /// The holder was not let through.
        Refused = "REFUSED",
        /// No ticket of the organization has the code, or the proof is not that of the ticket.
        UnknownCode = "UNKNOWN_CODE",
    }
}

/// # Constructors
impl UploadScans {
    /// Creates a report of the scans of a device.
    #[must_use]
    pub fn new(device: impl Into<String>, scans: impl IntoIterator<Item = NewScan>) -> Self {
        Self { event_id: None, device: device.into(), scans: scans.into_iter().collect() }
    }
}

form! {
    /// A report of what a device at the entrance has scanned.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct UploadScans {
        /// The event at whose entrance the device is. Needed unless the API key is restricted to an event.
        pub event_id: Option<EventId>,
        /// The name of the device, which the log shows: 1 to 64 characters.
        pub device: String [MinLength(1), MaxLength(DEVICE_LENGTH)],
        /// The scans: 1 to 100.
        pub scans: Vec<NewScan> [MinItems(1), MaxItems(MAX_SCANS)],
    }
}

/// # Constructors
impl NewScan {
    /// Creates a scan of a code that the service decides on. `id` is a UUID (RFC 9562).
    #[must_use]
    pub fn of_code(id: impl Into<String>, kind: ScanKind, code: impl Into<String>, scanned_at: Timestamp) -> Self {
        let code = Some(code.into());
        Self { id: id.into(), code, ticket_id: None, proof: None, kind, scanned_at, verdict: None, is_override: None }
    }

    /// Creates a scan of a ticket of the [roster](crate::TicketingService::get_roster) that the service decides on. `id`
    /// is a UUID (RFC 9562).
    #[must_use]
    pub fn of_ticket(
        id: impl Into<String>,
        kind: ScanKind,
        ticket: TicketId,
        proof: impl Into<String>,
        scanned_at: Timestamp,
    ) -> Self {
        let (ticket_id, proof) = (Some(ticket), Some(proof.into()));
        Self { id: id.into(), code: None, ticket_id, proof, kind, scanned_at, verdict: None, is_override: None }
    }
}

form! {
    /// A scan: of a code, or of a ticket of the roster with the proof that its code was seen.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct NewScan {
        /// The id of the scan: a UUID (RFC 9562) that the device generates. A scan with the same id is not stored again.
        pub id: String [Uuid],
        /// The code of the ticket, which is read as for a check-in: at most 255 characters. Not together with
        /// `ticketId`.
        pub code: Option<String> [nullable, MinLength(1), MaxLength(LINE_LENGTH), TicketCode],
        /// The issued ticket. It needs `proof`.
        pub ticket_id: Option<TicketId> [nullable],
        /// The proof that the code was seen: the first 16 bytes of the SHA-256 hash of `scan`, the id of the event and
        /// the code as it is stored, in base64url without padding (RFC 4648).
        pub proof: Option<String> [nullable, MinLength(1), MaxLength(64)],
        /// The direction.
        pub kind: ScanKind,
        /// When the ticket was scanned, by the clock of the service. It counts as at most 48 hours before the report is
        /// received, and at most 10 minutes after. Without a verdict, the time of the decision counts instead.
        pub scanned_at: Timestamp,
        /// What was decided at the entrance. If it is not set, the service decides now.
        pub verdict: Option<Verdict> [nullable],
        /// Whether the staff decided against the device. Default: false.
        pub is_override as "override": Option<bool> [nullable],
    }
}

responses! {
    /// The answer to a report of scans.
    pub struct UploadedScans {
        /// A result for each scan, in the same order.
        pub results: Vec<ScanResult>,
        /// The time of the service, with which a device can correct its clock.
        pub now: Timestamp,
    }

    /// The result of a scan.
    pub struct ScanResult {
        /// The id of the scan that the device gave: a UUID.
        #[cfg_attr(feature = "server", schemars(extend("format" = "uuid")))]
        pub id: String,
        /// What all scans of the ticket together say of it. Scans that are reported later can change it.
        pub outcome: ScanOutcome,
        /// Why the rules refuse it.
        pub reason: Option<Reason>,
        /// The ticket. Not set if it is not one of the event.
        pub ticket: Option<ScannedTicket>,
        /// The earlier admission, if the ticket was checked in already.
        pub other: Option<OtherScan>,
        /// Whether the log has no room for the scan: a ticket has at most 200 rows, and an API key adds at most 1,000
        /// without a ticket. What the scan changes of its ticket is stored all the same.
        pub log_full: bool [default],
    }

    /// The ticket of a scan, without its holder.
    pub struct ScannedTicket {
        /// The issued ticket.
        pub ticket_id: TicketId,
        /// The ticket type.
        pub ticket_type_id: TicketTypeId,
        /// The name of the ticket type.
        pub ticket_type_name: String,
        /// The status.
        pub status: TicketStatus,
        /// When the ticket was last checked in.
        pub check_in_date: Option<Timestamp>,
        /// When the ticket was first checked in.
        pub first_scan_date: Option<Timestamp>,
        /// From this time on, the ticket cannot be checked in.
        pub expires_at: Option<Timestamp>,
        /// What distinguishes the ticket from others of its allocation, such as a seat.
        pub ticket_label: Option<String> [default],
    }

    /// Another scan of the same ticket.
    pub struct OtherScan {
        /// When the ticket was scanned.
        pub at: Timestamp,
        /// The device. Not set if the scan was not reported by a device.
        pub device: Option<String>,
    }
}

list_request! {
    /// A request to list the scans of an event.
    pub struct ListScans {
        /// Only scans with this outcome.
        pub outcome: Option<ScanOutcome>,
        /// Only scans of the device with exactly this name.
        pub device: Option<String> [MaxLength(DEVICE_LENGTH)],
        /// Only what was received at this time or later.
        pub since: Option<Timestamp>,
        /// The part of the log to return.
        pub page: PageRequest<ScanId>,
    }
}

impl LoggedScan {
    /// A row that is not stored yet, without what is said of scans only.
    pub(crate) const fn new(
        event: EventId,
        ticket: Option<TicketId>,
        kind: LoggedKind,
        scanned_at: Timestamp,
        received_at: Timestamp,
    ) -> Self {
        Self {
            id: ScanId::UNKNOWN,
            uuid: None,
            event_id: event,
            ticket_id: ticket,
            api_key_id: None,
            device: None,
            kind,
            scanned_at,
            received_at,
            verdict: None,
            outcome: None,
            reason: None,
            is_override: false,
        }
    }

    /// The position of the row in the log of its ticket. Rows of the server at the same time stay in the order of their ids.
    pub(crate) fn position(&self) -> impl Ord {
        (self.scanned_at, self.kind != LoggedKind::Base, self.uuid.as_deref())
    }
}

responses! {
    /// A row of the log of an event.
    pub struct LoggedScan {
        /// The id of the row.
        pub id: ScanId,
        /// The id that the device gave: a UUID. Not set if no device reported the scan.
        pub uuid: Option<String>,
        /// The event at whose entrance the ticket was scanned.
        pub event_id: EventId,
        /// The issued ticket. Not set if it is not one of the event.
        pub ticket_id: Option<TicketId>,
        /// The API key that reported it.
        pub api_key_id: Option<ApiKeyId>,
        /// The name of the device.
        pub device: Option<String>,
        /// What the row records.
        pub kind: LoggedKind,
        /// When it happened.
        pub scanned_at: Timestamp,
        /// When it was received.
        pub received_at: Timestamp,
        /// What was decided at the entrance. Set for scans only.
        pub verdict: Option<Verdict>,
        /// What all scans of the ticket together say of it. Set for scans only.
        pub outcome: Option<ScanOutcome>,
        /// Why the rules refuse it.
        pub reason: Option<Reason>,
        /// Whether the staff decided against the device.
        #[serde(rename = "override")]
        pub is_override: bool,
    }
}
