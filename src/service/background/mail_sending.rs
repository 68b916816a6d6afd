//! The work that sends mails.

use std::sync::Arc;
use std::time::Duration;

use super::mail_pace::{LEASE, Pace, Recipients, RelayLog};
use crate::environment::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::mail::{self, MailError, MailOptions, MailReceipt, OutgoingMail, ascii_address};
use crate::model::operation::statistics::MailOutcome;
use crate::model::sale::mail::{Mail, MailKind, MailState};
use crate::model::tickets::mail_facts::MailFacts;
use crate::model::values::id::{MailId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::mail::{ANSWER_LENGTH, LATEST_DUE, delay_after, reason_to_drop};
use crate::sales::orders::mail_facts;
use crate::service::TicketingService;
use crate::service::opening::close::WeakTicketingService;
use crate::store::order::mails::{self, SEND};
use crate::store::work::{self, ClaimedWork};
use crate::store::{LockedEvent, Transaction};
use crate::work::queues::{Kind, Outcome, Room, Schedule};

/// How many mails are sent at the same time.
const THREADS: usize = 4;

/// How many of these are of one organization at most: others always find a thread.
const OF_ORGANIZATION: usize = 3;

/// For how long after its claim a mail is sent without looking whether the claim still holds. What is left of the lease is
/// longer than a transport and the record of its answer take.
const FRESH: Duration = Duration::from_secs(15);

/// The time for which the mails of an organization are limited.
const HOUR: Duration = Duration::from_hours(1);

/// How long the mails of an organization that has reached its limit wait at least, so that they are not postponed again
/// and again when single ones may be sent.
const LEAST_WAIT: Duration = Duration::from_mins(1);

/// How often it is tried to record that a mail was sent, and the pause after each failure. Together they are shorter than
/// what is left of the lease.
const RECORD_ATTEMPTS: usize = 20;
const RECORD_PAUSE: Duration = Duration::from_millis(500);

/// The kind of work that sends mails.
pub(super) struct Mails {
    service: WeakTicketingService,
    options: MailOptions,
    pace: Pace,
    recipients: Recipients,
    log: RelayLog,
}

/// What is done with a claimed mail.
enum Next {
    Send(Box<MailFacts>),
    /// It has been sent, or does not exist.
    Nothing,
    /// An earlier mail to the same address is sent first, and is due after this time.
    Wait(Duration),
    /// Another one is sent first, and that is in progress.
    NotNow,
    /// As many mails as may be were sent to its address.
    HoldBack(Mail, Duration),
    /// The organization has sent as many mails as it may: all that are due wait until this time.
    HoldBackAll(Mail, Timestamp),
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
    pub(super) fn new(service: WeakTicketingService, options: MailOptions) -> Self {
        let pace = Pace::new(options.per_second);
        Self { service, options, pace, recipients: Recipients::default(), log: RelayLog::default() }
    }

    fn try_attempt(&self, service: &TicketingService, claimed: &ClaimedWork) -> Result<Outcome> {
        let claimed_at = SystemClock.monotonic();
        let organization = claimed.work.organization_id;
        let id = MailId::from_raw(claimed.work.key.unwrap_or_default());
        match service.store()?.read(|tx| self.next(tx, organization, id))? {
            Next::Send(facts) => self.send(service, claimed, claimed_at, &facts),
            Next::Nothing => Ok(Outcome::Done),
            Next::NotNow => Ok(Outcome::NotNow),
            Next::Wait(wait) => wait_for(service, claimed, wait),
            Next::HoldBack(mail, wait) => {
                count(service, &mail, MailOutcome::HeldBack);
                wait_for(service, claimed, wait)
            }
            Next::HoldBackAll(mail, until) => {
                let postpone = move |tx: &Transaction<'_>| work::postpone(tx, SEND, organization, until);
                while service.store()?.write(None, postpone)? {}
                count(service, &mail, MailOutcome::HeldBack);
                wait_for(service, claimed, until.duration_since(service.now()).unwrap_or_default())
            }
            Next::Drop(mail, reason) => {
                give_up(service, claimed, &mail, MailState::Dropped, reason)?;
                count(service, &mail, MailOutcome::Dropped);
                Ok(Outcome::Recorded { answered: true })
            }
        }
    }

    /// Decides what is done with a mail.
    fn next(&self, tx: &Transaction<'_>, organization: OrganizationId, id: MailId) -> Result<Next> {
        let Some(mail) = mails::find(tx, organization, id)? else { return Ok(Next::Nothing) };
        if mail.state != MailState::Waiting {
            return Ok(Next::Nothing);
        }
        if let Some(earlier) = mails::earlier(tx, &mail)? {
            let until_due = earlier.due_at.duration_since(tx.now()).filter(|_| !earlier.is_being_sent);
            return Ok(until_due.map_or(Next::NotNow, Next::Wait));
        }
        let facts = mail_facts::read(tx, organization, mail)?;
        if let Some(reason) = reason_to_drop(&facts, tx.now()) {
            return Ok(Next::Drop(facts.mail, reason));
        }
        let since = tx.now().checked_sub(HOUR).unwrap_or(Timestamp::UNIX_EPOCH);
        if let Some(at) = mails::nth_sent_since(tx, organization, None, since, self.options.per_organization)? {
            let until = at.saturating_add(HOUR).max(tx.now().saturating_add(LEAST_WAIT));
            return Ok(Next::HoldBackAll(facts.mail, until));
        }
        // No order can name the address for the organization's own mails, and each order causes one.
        let of_address = match facts.mail.kind {
            MailKind::OrganizerOrder => None,
            _ => {
                let to = Some(facts.mail.recipient.as_str());
                mails::nth_sent_since(tx, organization, to, since, self.options.per_address)?
            }
        };
        match of_address.and_then(|at| at.saturating_add(HOUR).duration_since(tx.now())) {
            Some(wait) => Ok(Next::HoldBack(facts.mail, wait)),
            None => Ok(Next::Send(Box::new(facts))),
        }
    }

    fn send(
        &self,
        service: &TicketingService,
        claimed: &ClaimedWork,
        claimed_at: Duration,
        facts: &MailFacts,
    ) -> Result<Outcome> {
        let mail = &facts.mail;
        let organization_id = claimed.work.organization_id;
        let Some(_recipient) = self.recipients.take(organization_id, &mail.recipient) else {
            return Ok(Outcome::NotNow);
        };
        let message = match self.render(service, facts) {
            Ok(message) => message,
            // Others are rendering documents.
            Err(Error::Unavailable(_)) => return Ok(Outcome::NotNow),
            Err(error) if error.concerns_all_rows() => return Err(error),
            Err(error) => {
                tracing::error!(target: "ticketing::mail", mail = %mail.id, %error, "a mail cannot be rendered");
                let problem = MailError::Unavailable("it could not be rendered".to_owned());
                return self.failed(service, claimed, mail, &problem);
            }
        };
        self.pace.wait();
        if SystemClock.monotonic().saturating_sub(claimed_at) > FRESH {
            let claimed = claimed.clone();
            let renewed = service.store_in_operation().write(None, move |tx| work::renew(tx, &claimed, LEASE))?;
            if !renewed {
                return Ok(Outcome::NotNow);
            }
        }
        let outgoing = OutgoingMail {
            organization_id,
            id: mail.id,
            envelope_from: ascii_address(&self.options.from),
            to: ascii_address(&mail.recipient),
            message,
        };
        match self.options.transport.send(&outgoing) {
            Ok(MailReceipt { answer }) => {
                let answered = record_sent(service, claimed, mail, &answer);
                count(service, mail, MailOutcome::Sent);
                Ok(Outcome::Recorded { answered })
            }
            Err(problem) => self.failed(service, claimed, mail, &problem),
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
            give_up(service, claimed, mail, MailState::Failed, &answer)?;
            return Ok(Outcome::Recorded { answered: true });
        };
        self.log.unavailable(mail, delay);
        let (work, id, answer) = (claimed.clone(), mail.id, cut(&answer));
        record(service, claimed, move |tx| mails::retry(tx, &work, id, &answer, delay))?;
        Ok(Outcome::Recorded { answered: true })
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
        let (id, answer) = (mail.id, cut(answer));
        let Err(error) = record(service, claimed, move |tx| mails::sent(tx, id, &answer)) else { return true };
        if service.stopped().is_some() || service.writes().is_closing() {
            break;
        }
        tracing::warn!(target: "ticketing::mail", mail = %mail.id, %error, "that a mail was sent could not be recorded");
        std::thread::sleep(RECORD_PAUSE);
    }
    false
}

/// Records that a mail is not sent.
fn give_up(
    service: &TicketingService,
    claimed: &ClaimedWork,
    mail: &Mail,
    state: MailState,
    reason: &str,
) -> Result<()> {
    let (work, id, reason) = (claimed.clone(), mail.id, cut(reason));
    record(service, claimed, move |tx| mails::give_up(tx, &work, id, state, &reason))
}

fn record(
    service: &TicketingService,
    claimed: &ClaimedWork,
    write: impl Fn(&LockedEvent<'_>) -> Result<()> + Send + 'static,
) -> Result<()> {
    let (organization, event) = (claimed.work.organization_id, claimed.work.event()?);
    service.store_in_operation().write_event(organization, event.into(), write)
}

/// The beginning of what a relay has said, without control characters.
fn cut(answer: &str) -> String {
    answer.chars().map(|c| if c.is_control() { ' ' } else { c }).take(ANSWER_LENGTH).collect()
}
