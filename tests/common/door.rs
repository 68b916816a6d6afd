//! An entrance: a key of one event, and reports of what devices there have scanned.

use ticketing::Caller;
use ticketing::door::{GetRoster, ListScans, LoggedScan, NewScan, Roster, ScanKind, ScanResult, UploadScans, Verdict};
use ticketing::event::Event;
use ticketing::organization::{CreateApiKey, Scope};
use ticketing::{Timestamp, page};

use super::Fixture;

/// A UUID with this number at its end.
pub fn scan_id(number: u64) -> String {
    format!("01920000-0000-7000-8000-{number:012x}")
}

/// A scan of a code for which the device has decided.
pub fn decided(number: u64, kind: ScanKind, code: &str, scanned_at: Timestamp, verdict: Verdict) -> NewScan {
    let mut scan = NewScan::of_code(scan_id(number), kind, code, scanned_at);
    scan.verdict = Some(verdict);
    scan
}

/// A holder who was let in.
pub fn let_in(number: u64, code: &str, scanned_at: &str) -> NewScan {
    decided(number, ScanKind::In, code, super::at(scanned_at), Verdict::Admitted)
}

/// A holder who was let out.
pub fn let_out(number: u64, code: &str, scanned_at: &str) -> NewScan {
    decided(number, ScanKind::Out, code, super::at(scanned_at), Verdict::Admitted)
}

impl Fixture {
    /// A caller with a new key of one event.
    pub fn gate(&self, event: &Event) -> Caller {
        let key = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.id);
        let created = self.service.create_api_key(self.caller.organization(), key).expect("a key");
        self.service.authenticate(&created.key).expect("a valid key")
    }

    /// Reports scans of a device.
    #[track_caller]
    pub fn report(&self, gate: &Caller, device: &str, scans: impl IntoIterator<Item = NewScan>) -> Vec<ScanResult> {
        self.service.upload_scans(gate, UploadScans::new(device, scans)).expect("a report").results
    }

    /// The whole roster of an event.
    pub fn roster(&self, gate: &Caller, event: &Event) -> Roster {
        self.service.get_roster(gate, event.id, GetRoster::new()).expect("a roster")
    }

    /// The log of an event, oldest first.
    pub fn scan_log(&self, event: &Event) -> Vec<LoggedScan> {
        let list = |page| self.service.list_scans(&self.caller, event.id, ListScans::new().page(page));
        let mut log: Vec<_> = page::all(list).collect::<ticketing::Result<_>>().expect("a log");
        log.reverse();
        log
    }
}
