//! The work that sends mails, and the work that causes reminders.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::documents::TicketDocument;
use crate::environment::{Clock, Locked, SystemClock};
use crate::error::{Error, Result};
use crate::mail::{self, MailError, MailOptions, MailReceipt, OutgoingMail, ascii_address};
use crate::model::operation::statistics::MailOutcome;
use crate::model::sale::mail::{Mail, MailState};
use crate::model::tickets::mail_facts::MailFacts;
use crate::model::values::id::{EventId, MailId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::mail::{ANSWER_LENGTH, LATEST_DUE, delay_after, reason_to_drop};
use crate::sales::orders::{mail_facts, payment_reminders};
use crate::service::TicketingService;
use crate::service::opening::close::WeakTicketingService;
use crate::store::order::mails::{self, REMIND, SEND};
use crate::store::work::{self, ClaimedWork};
use crate::store::{LockedEvent, Transaction};
use crate::work::background_threads::MaintenanceGuard;
use crate::work::queues::{Kind, Outcome, Queue, Queues, Room, Schedule};
use crate::work::workers;

/// How many mails are sent at the same time.
const THREADS: usize = 4;

/// How many of these are of one organization at most: others always find a thread.
const OF_ORGANIZATION: usize = 3;

/// How long a claim lasts: longer than it takes to render and send a mail. If the process ends meanwhile, the mail is sent
/// after this time.
const LEASE: Duration = Duration::from_mins(1);

/// The time for which the mails of an organization are limited.
const HOUR: Duration = Duration::from_hours(1);

/// How often it is tried to record that a mail was sent, and the pause after each failure. Together they are shorter than
/// what is left of the lease.
const RECORD_ATTEMPTS: usize = 20;
const RECORD_PAUSE: Duration = Duration::from_millis(500);

/// For how long no further problem of the relay is logged.
const LOG_PAUSE: Duration = Duration::from_mins(1);

impl TicketingService {
    /// The mails that this process sends, and the reminders that it causes.
    fn mail_queues(&self) -> &Queues {
        self.inner.mail_queues.get_or_init(|| {
            let Some(options) = &self.inner.mail else { return Vec::new() };
            let sending = Mails {
                service: self.downgrade(),
                options: options.clone(),
                pace: Pace::new(options.per_second),
                recipients: Mutex::default(),
                logged_at: Mutex::default(),
            };
            let reminding = Reminders { service: self.downgrade() };
            vec![Arc::new(Queue::new(Box::new(reminding))), Arc::new(Queue::new(Box::new(sending)))]
        })
    }

    /// Starts the thread that looks for mails that are due.
    pub(in crate::service) fn start_mails(&self) -> Result<()> {
        if self.inner.mail.as_ref().is_none_or(|options| !options.has_threads) {
            return Ok(());
        }
        let queues = self.mail_queues().clone();
        let (writes, store) = (Arc::downgrade(&self.inner.writes), Some(&**self.store_in_operation()));
        let mut guard = MaintenanceGuard::default();
        guard.start("ticketing-work-finder", store, move |stop| workers::run(&writes, &queues, &stop))?;
        self.inner.background.locked().mails = guard;
        Ok(())
    }

    /// Sends the mails that are due now, by the service's clock, and causes the reminders that are. For tests: with
    /// [`MailOptions::threads(false)`](crate::mail::MailOptions::threads), nothing else sends mails.
    ///
    /// # Errors
    /// - [`Error::Store`] if the database cannot be read or written.
    pub fn deliver_due_mails(&self) -> Result<()> {
        let is_over = || self.writes().is_closing();
        self.mail_queues().iter().try_for_each(|queue| workers::do_due(queue, self.writes(), &is_over).map(drop))
    }
}

/// The kind of work that sends mails.
struct Mails {
    service: WeakTicketingService,
    options: MailOptions,
    pace: Pace,
    /// The addresses to which this process is sending, with their organizations.
    recipients: Mutex<Vec<(OrganizationId, String)>>,
    /// When a problem of the relay was last logged.
    logged_at: Mutex<Option<Duration>>,
}

/// What is done with a claimed mail.
enum Next {
    Send(Box<MailFacts>),
    /// It has been sent, or does not exist.
    Nothing,
    Wait(Duration),
    /// The organization has sent as many mails as it may: all that are due wait until this time.
    WaitAll(Timestamp),
    /// Another one is sent first.
    NotNow,
    Drop(Mail, &'static str),
}

impl Kind for Mails {
    fn name(&self) -> &str {
        SEND
    }

    fn schedule(&self) -> Schedule {
        Schedule { lease: LEASE, max_attempts: i64::MAX, latest_due: LATEST_DUE }
    }

    fn room(&self) -> Room {
        Room { attempts: THREADS, of_organization: OF_ORGANIZATION }
    }

    fn attempt(&self, claimed: &ClaimedWork) -> Outcome {
        let Some(service) = self.service.upgrade() else { return Outcome::NotNow };
        match self.try_attempt(&service, claimed) {
            Ok(outcome) => outcome,
            Err(error) if error.concerns_all_rows() => Outcome::Interrupted(error),
            Err(error) => Outcome::Damaged(error),
        }
    }
}

impl Mails {
    fn try_attempt(&self, service: &TicketingService, claimed: &ClaimedWork) -> Result<Outcome> {
        let organization = claimed.work.organization_id;
        let id = MailId::from_raw(claimed.work.key.unwrap_or_default());
        let next = service.store()?.read(|tx| {
            let Some(mail) = mails::find(tx, organization, id)? else { return Ok(Next::Nothing) };
            if mail.state != MailState::Waiting {
                return Ok(Next::Nothing);
            }
            if let Some(earlier) = mails::earlier(tx, &mail)? {
                let until_due = earlier.due_at.duration_since(tx.now()).filter(|_| !earlier.is_being_sent);
                return Ok(until_due.map_or(Next::NotNow, Next::Wait));
            }
            let facts = mail_facts::read(tx, organization, mail)?;
            if let Some(reason) = reason_to_drop(&facts) {
                return Ok(Next::Drop(facts.mail, reason));
            }
            let since = tx.now().checked_sub(HOUR).unwrap_or(Timestamp::UNIX_EPOCH);
            let to = facts.mail.recipient.as_str();
            let of_address = mails::nth_sent_since(tx, organization, Some(to), since, self.options.per_address)?;
            let of_all = mails::nth_sent_since(tx, organization, None, since, self.options.per_organization)?;
            if let Some(at) = of_all {
                return Ok(Next::WaitAll(at.saturating_add(HOUR)));
            }
            match of_address.and_then(|at| at.saturating_add(HOUR).duration_since(tx.now())) {
                Some(wait) => Ok(Next::Wait(wait)),
                None => Ok(Next::Send(Box::new(facts))),
            }
        });
        // What cannot be read fails alone: it is tried again like a mail that the relay does not accept.
        let facts = match next {
            Ok(Next::Send(facts)) => facts,
            Ok(Next::Nothing) => return Ok(Outcome::Done),
            Ok(Next::NotNow) => return Ok(Outcome::NotNow),
            Ok(Next::WaitAll(until)) => {
                let postpone = move |tx: &Transaction<'_>| work::postpone(tx, SEND, organization, until);
                while service.store()?.write(None, postpone)? {}
                let wait = until.duration_since(service.now()).unwrap_or_default();
                return wait_for(service, claimed, wait);
            }
            Ok(Next::Wait(wait)) => return wait_for(service, claimed, wait),
            Ok(Next::Drop(mail, reason)) => {
                finish(service, claimed, &mail, MailState::Dropped, reason)?;
                count(service, &mail, MailOutcome::Dropped);
                return Ok(Outcome::Recorded { answered: true });
            }
            Err(error) => return Err(error),
        };
        let Some(_recipient) = self.take_recipient(organization, &facts.mail.recipient) else {
            return Ok(Outcome::NotNow);
        };
        let message = match self.render(service, &facts) {
            Ok(message) => message,
            // Others are rendering documents.
            Err(Error::Unavailable(_)) => return Ok(Outcome::NotNow),
            Err(error) if error.concerns_all_rows() => return Err(error),
            Err(error) => {
                tracing::error!(target: "ticketing::mail", mail = %facts.mail.id, %error, "a mail cannot be rendered");
                let problem = MailError::Unavailable("it could not be rendered".to_owned());
                return self.failed(service, claimed, &facts.mail, &problem);
            }
        };
        self.pace.wait();
        let outgoing = OutgoingMail {
            organization_id: organization,
            id,
            envelope_from: ascii_address(&self.options.from),
            to: ascii_address(&facts.mail.recipient),
            message,
        };
        match self.options.transport.send(&outgoing) {
            Ok(MailReceipt { answer }) => {
                let answered = record_sent(service, claimed, &facts.mail, &answer);
                count(service, &facts.mail, MailOutcome::Sent);
                Ok(Outcome::Recorded { answered })
            }
            Err(problem) => self.failed(service, claimed, &facts.mail, &problem),
        }
    }

    fn render(&self, service: &TicketingService, facts: &MailFacts) -> Result<Arc<[u8]>> {
        let document = service.document_of_mail(facts)?;
        mail::render(facts, document.as_ref(), &self.options, service.now())
    }

    fn failed(
        &self,
        service: &TicketingService,
        claimed: &ClaimedWork,
        mail: &Mail,
        problem: &MailError,
    ) -> Result<Outcome> {
        let delay = match problem {
            MailError::Unavailable(_) => delay_after(claimed.work.attempts + 1),
            MailError::Refused(_) | MailError::RecipientRefused(_) => None,
        };
        let answer = problem.to_string();
        let outcome = if delay.is_some() { MailOutcome::Retried } else { MailOutcome::Failed };
        count(service, mail, outcome);
        let Some(delay) = delay else {
            tracing::warn!(target: "ticketing::mail", mail = %mail.id, kind = %mail.kind, ?problem, "a mail has failed");
            finish(service, claimed, mail, MailState::Failed, &answer)?;
            return Ok(Outcome::Recorded { answered: true });
        };
        self.log_unavailable(mail, delay);
        let (claimed, id, answer) = (claimed.clone(), mail.id, cut(&answer));
        let (organization, event) = (claimed.work.organization_id, event_of(&claimed)?);
        service
            .store_in_operation()
            .write_event(organization, event.into(), move |tx| mails::retry(tx, &claimed, id, &answer, delay))?;
        Ok(Outcome::Recorded { answered: true })
    }

    /// Logs that the relay does not accept mails, once a minute.
    fn log_unavailable(&self, mail: &Mail, again: Duration) {
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

    /// Makes this thread the only one of this process that sends to an address for an organization. `None` if another
    /// thread is.
    fn take_recipient(&self, organization: OrganizationId, recipient: &str) -> Option<Recipient<'_>> {
        let taken = (organization, recipient.to_owned());
        let mut recipients = self.recipients.locked();
        if recipients.contains(&taken) {
            return None;
        }
        recipients.push(taken.clone());
        Some(Recipient { recipients: &self.recipients, taken })
    }
}

/// An address to which a thread sends a mail, until it is dropped.
struct Recipient<'m> {
    recipients: &'m Mutex<Vec<(OrganizationId, String)>>,
    taken: (OrganizationId, String),
}

impl Drop for Recipient<'_> {
    fn drop(&mut self) {
        self.recipients.locked().retain(|other| *other != self.taken);
    }
}

fn count(service: &TicketingService, mail: &Mail, outcome: MailOutcome) {
    service.store_in_operation().counters().mail_attempted(mail.kind, outcome);
}

/// Lets a mail wait, as if it had not been attempted.
fn wait_for(service: &TicketingService, claimed: &ClaimedWork, wait: Duration) -> Result<Outcome> {
    let claimed = claimed.clone();
    service.store_in_operation().write(None, move |tx| work::put_back(tx, &claimed, wait))?;
    Ok(Outcome::Recorded { answered: false })
}

/// Records that a mail was sent. If that fails, it is tried again for some time, because the customer would get the mail
/// twice. In the end the claim is left as it is: the mail is sent again when the claim ends. Returns whether it was recorded.
fn record_sent(service: &TicketingService, claimed: &ClaimedWork, mail: &Mail, answer: &str) -> bool {
    for _ in 0..RECORD_ATTEMPTS {
        let Err(error) = finish(service, claimed, mail, MailState::Sent, answer) else { return true };
        if service.stopped().is_some() || service.writes().is_closing() {
            break;
        }
        tracing::warn!(target: "ticketing::mail", mail = %mail.id, %error, "that a mail was sent could not be recorded");
        std::thread::sleep(RECORD_PAUSE);
    }
    false
}

/// Records what became of a mail.
fn finish(
    service: &TicketingService,
    claimed: &ClaimedWork,
    mail: &Mail,
    state: MailState,
    answer: &str,
) -> Result<()> {
    let (claimed, id, answer) = (claimed.clone(), mail.id, cut(answer));
    let (organization, event) = (claimed.work.organization_id, event_of(&claimed)?);
    let finish = move |tx: &LockedEvent<'_>| mails::finish(tx, &claimed, id, state, &answer);
    service.store_in_operation().write_event(organization, event.into(), finish).map(drop)
}

fn event_of(claimed: &ClaimedWork) -> Result<EventId> {
    claimed.work.event_id.ok_or_else(|| Error::Internal("the work of a mail has no event".to_owned()))
}

/// The beginning of what a relay has said, without control characters.
fn cut(answer: &str) -> String {
    answer.chars().map(|c| if c.is_control() { ' ' } else { c }).take(ANSWER_LENGTH).collect()
}

/// Lets mails be sent at even intervals.
struct Pace {
    interval: Duration,
    /// When the next mail may be sent, by the monotonic clock of the system.
    next: Mutex<Duration>,
}

impl Pace {
    fn new(per_second: u32) -> Self {
        Self { interval: Duration::from_secs(1) / per_second.max(1), next: Mutex::default() }
    }

    /// Waits until a mail may be sent.
    fn wait(&self) {
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

impl TicketingService {
    /// The document that is attached to a mail. `None` if the mail has none, or if there is none any more.
    pub(in crate::service) fn document_of_mail(&self, facts: &MailFacts) -> Result<Option<TicketDocument>> {
        use crate::model::tickets::mail_facts::MailSubject;

        if !mail::has_document(facts) {
            return Ok(None);
        }
        let document = match &facts.subject {
            MailSubject::Order(order) => {
                let order = &order.page.order;
                self.document_of_order(order.organizer_id, order.id)
            }
            MailSubject::Tickets(tickets) => self.document_of_tickets(tickets),
        };
        match document {
            Ok(document) => Ok(Some(document)),
            Err(Error::Gone(_) | Error::NotFound(_) | Error::Conflict(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The kind of work that causes reminders.
struct Reminders {
    service: WeakTicketingService,
}

impl Kind for Reminders {
    fn name(&self) -> &str {
        REMIND
    }

    fn schedule(&self) -> Schedule {
        Schedule { lease: LEASE, max_attempts: i64::MAX, latest_due: Duration::MAX }
    }

    fn room(&self) -> Room {
        Room { attempts: 1, of_organization: 1 }
    }

    fn attempt(&self, claimed: &ClaimedWork) -> Outcome {
        let Some(service) = self.service.upgrade() else { return Outcome::NotNow };
        let work = claimed.clone();
        let reminded = event_of(claimed).and_then(|event| {
            let store = service.store_in_operation();
            store
                .write_event(claimed.work.organization_id, event.into(), move |tx| payment_reminders::remind(tx, &work))
        });
        match reminded {
            Ok(()) => Outcome::Recorded { answered: true },
            Err(error) if error.concerns_all_rows() => Outcome::Interrupted(error),
            Err(error) => Outcome::Damaged(error),
        }
    }
}
