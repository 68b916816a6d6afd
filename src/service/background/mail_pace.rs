//! How fast mails are sent, and what is logged if they are not.

use std::sync::Mutex;
use std::time::Duration;

use crate::environment::{Clock, Locked, SystemClock};
use crate::model::sale::mail::Mail;
use crate::model::values::id::OrganizationId;

/// How long a claim lasts: longer than it takes to render and send a mail. If the process ends meanwhile, the mail is sent
/// after this time.
pub(super) const LEASE: Duration = Duration::from_mins(1);

/// For how long no further problem of the relay is logged.
const LOG_PAUSE: Duration = Duration::from_mins(1);

/// Lets mails be sent at even intervals.
pub(super) struct Pace {
    interval: Duration,
    /// When the next mail may be sent, by the monotonic clock of the system.
    next: Mutex<Duration>,
}

impl Pace {
    pub(super) fn new(per_second: u32) -> Self {
        Self { interval: Duration::from_secs(1) / per_second.max(1), next: Mutex::default() }
    }

    /// Waits until a mail may be sent.
    pub(super) fn wait(&self) {
        let now = SystemClock.monotonic();
        let at = {
            let mut next = self.next.locked();
            let at = now.max(*next);
            *next = at + self.interval;
            at
        };
        std::thread::sleep(at.saturating_sub(now));
    }
}

/// The addresses to which this process is sending, with their organizations.
#[derive(Default)]
pub(super) struct Recipients(Mutex<Vec<(OrganizationId, String)>>);

impl Recipients {
    /// Makes this thread the only one of this process that sends to an address for an organization. `None` if another
    /// thread is.
    pub(super) fn take(&self, organization: OrganizationId, recipient: &str) -> Option<Recipient<'_>> {
        let taken = (organization, recipient.to_owned());
        let mut recipients = self.0.locked();
        if recipients.contains(&taken) {
            return None;
        }
        recipients.push(taken.clone());
        Some(Recipient { recipients: self, taken })
    }
}

/// An address to which a thread sends a mail, until it is dropped.
pub(super) struct Recipient<'r> {
    recipients: &'r Recipients,
    taken: (OrganizationId, String),
}

impl Drop for Recipient<'_> {
    fn drop(&mut self) {
        self.recipients.0.locked().retain(|other| *other != self.taken);
    }
}

/// Logs problems of the relay: they concern all mails, so one is logged in a minute.
#[derive(Default)]
pub(super) struct RelayLog {
    /// When the last one was logged.
    logged_at: Mutex<Option<Duration>>,
}

impl RelayLog {
    /// Logs that the relay does not accept a mail now.
    pub(super) fn unavailable(&self, mail: &Mail, again: Duration) {
        let now = SystemClock.monotonic();
        let mut logged_at = self.logged_at.locked();
        if logged_at.is_none_or(|at| now.saturating_sub(at) >= LOG_PAUSE) {
            *logged_at = Some(now);
            tracing::warn!(
                target: "ticketing::mail",
                mail = %mail.id,
                again_in_seconds = again.as_secs(),
                "a mail could not be sent and is tried again; the list of mails has the answer of the relay. Further ones are \
                 not logged for a minute"
            );
        }
    }
}
