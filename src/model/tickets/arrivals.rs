//! How people come in: admissions, departures and refused scans by five minutes and gate.

use crate::error::Reason;
use crate::form::declare::fields::form;
use crate::form::declare::setters::constructor;
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

/// The greatest number of items in one answer.
pub(crate) const MAX_ITEMS: usize = 10_000;

constructor! { GetEventArrivals "Creates a request for all arrivals of an event." }

form! {
    /// A request for the arrivals at an event.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct GetEventArrivals {
        /// Only what was scanned at this time or later. Default: 6 hours before the start of the event.
        pub from: Option<Timestamp>,
        /// Only what was scanned before this time. Default: 24 hours after the end of the event.
        pub before: Option<Timestamp>,
    }
}

responses! {
    /// The arrivals at an event. All figures are of one snapshot of its tickets and its log of scans.
    pub struct EventArrivals {
        /// The instant of the snapshot, by the clock of the service.
        pub as_of: Timestamp,
        /// The number of tickets that are checked in now.
        pub inside: i64,
        /// The number of valid tickets.
        pub expected: i64,
        /// The number of valid tickets that were never checked in.
        pub missing: i64,
        /// Five minutes at a gate each, in the order of time: at most 10,000. Those in which nothing happened are left
        /// out.
        pub items: Vec<ArrivalsItem>,
    }

    /// What happened at one gate in five minutes.
    pub struct ArrivalsItem {
        /// The first instant.
        pub from: Timestamp,
        /// The first instant after the five minutes.
        pub until: Timestamp,
        /// The name of the API key of the scans, which is that of the door link. Not set for scans without a key.
        pub gate: Option<String>,
        /// The number of admissions, also of tickets that were admitted again after they had left.
        pub admitted: i64,
        /// The number of tickets that were checked out.
        pub left: i64,
        /// Scans for check-in that the rules refuse, by reason. Somebody who was let in all the same, such as a second
        /// person with the same ticket, is one of them.
        pub refused: Vec<RefusedScans>,
    }

    /// The number of scans that were refused for one reason.
    pub struct RefusedScans {
        /// The reason. Not set if no ticket has the code.
        pub reason: Option<Reason>,
        /// The number of scans.
        pub count: i64,
    }
}

/// How many times of five minutes a report shows: the last ten hours with scans.
#[cfg(feature = "server")]
pub(crate) const REPORTED_SLOTS: i64 = 120;

/// The arrivals that a report shows. However long an event lasts, they are few.
#[cfg(feature = "server")]
#[derive(Debug, Clone)]
pub(crate) struct ReportedArrivals {
    /// Those of the last [`REPORTED_SLOTS`].
    pub(crate) arrivals: EventArrivals,
    /// Those of the whole event, at each gate.
    pub(crate) gates: Vec<ArrivalsItem>,
}
