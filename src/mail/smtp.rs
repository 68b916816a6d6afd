//! Mails over SMTP (RFC 5321), with TLS.
//!
//! lettre speaks the protocol. Its pool is not used: it does not tell whether the relay has refused the connection or the
//! mail, and it limits each command, but not the whole conversation. Here each connection has a thread of its own, and who
//! waits for it too long lets it go.

use std::error::Error as _;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fluent_uri::Uri;
use fluent_uri::pct_enc::EStr;
use lettre::address::Address;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{Certificate, CertificateStore, SmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt, Rset};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};

use super::transport::{MailError, MailReceipt, MailTransport, OutgoingMail};
use crate::environment::{Clock, Locked, SystemClock};
use crate::error::Error;

/// How long a conversation about one mail takes at most, with the connection.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a connection is kept for the next mail.
const IDLE: Duration = Duration::from_secs(10);

/// The maximum of open connections, including connections whose caller has stopped waiting.
const MAX_CONNECTIONS: usize = 16;

const INVALID_URL: &str =
    "must be smtps://USER@HOST:465 or smtp://USER@HOST:587, without a password; the user and the port may be missing";

/// Sends mails over SMTP. The connection is always encrypted, and the certificate of the relay is verified: with `smtps`
/// from its beginning, and with `smtp` by STARTTLS, which the relay must have. Only a relay on this machine may have a
/// certificate of its own, or none.
///
/// Clones share the connections.
#[derive(Clone)]
pub struct SmtpTransport {
    relay: Arc<Relay>,
}

impl fmt::Debug for SmtpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmtpTransport").field("host", &self.relay.host).finish_non_exhaustive()
    }
}

/// Sets up a [`SmtpTransport`].
#[must_use = "nothing is set up before build() is called"]
pub struct SmtpTransportBuilder {
    url: String,
    password: Option<String>,
    root_certificates: Option<String>,
    timeout: Duration,
}

impl fmt::Debug for SmtpTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SmtpTransportBuilder")
    }
}

impl SmtpTransport {
    /// Returns a builder for the relay at a URL: `smtps://USER@HOST:465`, or `smtp://USER@HOST:587`. Without a user, the
    /// relay is asked for no credentials. Characters of the user that a URL cannot have are percent-encoded: `%40` is `@`.
    ///
    /// ```
    /// use ticketing::mail::SmtpTransport;
    /// let transport = SmtpTransport::builder("smtps://ticketing@smtp.example.com").password("secret").build()?;
    /// # Ok::<(), ticketing::Error>(())
    /// ```
    pub fn builder(url: impl Into<String>) -> SmtpTransportBuilder {
        SmtpTransportBuilder { url: url.into(), password: None, root_certificates: None, timeout: WHOLE_TIMEOUT }
    }
}

impl SmtpTransportBuilder {
    /// Sets the password of the user.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Sets the certificates in which the relay's must end, as PEM. Default: those of Mozilla.
    pub fn root_certificates(mut self, pem: impl Into<String>) -> Self {
        self.root_certificates = Some(pem.into());
        self
    }

    /// Sets how long a conversation about one mail takes at most, with the connection. Default and maximum: 30 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.min(WHOLE_TIMEOUT);
        self
    }

    /// Builds the transport. The relay is not asked.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) if the URL is not one of a relay, if it has a password, if the user
    ///   or the password is missing, or if the certificates cannot be read.
    pub fn build(self) -> crate::error::Result<SmtpTransport> {
        let invalid = || Error::field("smtp_url", INVALID_URL);
        let uri = Uri::parse(self.url.as_str()).map_err(|_| invalid())?;
        let is_implicit = match uri.scheme().as_str() {
            "smtps" => true,
            "smtp" => false,
            _ => return Err(invalid()),
        };
        let authority = uri.authority().ok_or_else(invalid)?;
        let is_bare = matches!(uri.path().as_str(), "" | "/") && !uri.has_query() && !uri.has_fragment();
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() || !is_bare {
            return Err(invalid());
        }
        let default_port = if is_implicit { 465 } else { 587 };
        let port = match authority.port().map(EStr::as_str).filter(|port| !port.is_empty()) {
            Some(port) => port.parse().map_err(|_| invalid())?,
            None => default_port,
        };
        let user = authority.userinfo().map(|user| user.as_str().to_owned());
        if user.as_ref().is_some_and(|user| user.contains(':')) {
            return Err(Error::field("smtp_url", "must have no password"));
        }
        let user = authority.userinfo().map(|user| user.decode().to_string_lossy().into_owned());
        let credentials = match (user, self.password) {
            (Some(user), Some(password)) => Some(Credentials::new(user, password)),
            (None, None) => None,
            (Some(_), None) => return Err(Error::field("smtp_password", "is required, because the URL has a user")),
            (None, Some(_)) => return Err(Error::field("smtp_url", "must have a user, because there is a password")),
        };
        let is_loopback = is_loopback(&host);
        let tls = tls_of(&host, is_loopback, self.root_certificates.as_deref())?;
        let relay = Relay {
            host,
            port,
            is_implicit,
            is_loopback,
            credentials,
            tls,
            timeout: self.timeout,
            idle: Mutex::default(),
            connections: AtomicUsize::default(),
            numbers: AtomicU64::default(),
        };
        Ok(SmtpTransport { relay: Arc::new(relay) })
    }
}

/// Whether a host is this machine.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// How the relay is encrypted. A relay on this machine may have any certificate.
fn tls_of(host: &str, is_loopback: bool, root_certificates: Option<&str>) -> crate::error::Result<TlsParameters> {
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(pem) = root_certificates {
        let invalid = || Error::field("root_certificates", "must be certificates as PEM");
        builder = builder.certificate_store(CertificateStore::None);
        builder = builder.add_root_certificate(Certificate::from_pem(pem.as_bytes()).map_err(|_| invalid())?);
    } else if is_loopback {
        builder = builder.dangerous_accept_invalid_certs(true).dangerous_accept_invalid_hostnames(true);
    }
    builder.build().map_err(|error| Error::field("smtp_url", format!("must have a host that TLS can verify: {error}")))
}

/// A relay, and the connections to it.
struct Relay {
    host: String,
    port: u16,
    is_implicit: bool,
    is_loopback: bool,
    credentials: Option<Credentials>,
    tls: TlsParameters,
    timeout: Duration,
    /// The connections that nobody uses.
    idle: Mutex<Vec<Conversation>>,
    /// The open connections, including connections whose caller has stopped waiting.
    connections: AtomicUsize,
    /// Counts up with each connection.
    numbers: AtomicU64,
}

/// The thread of a connection. It ends when this is dropped, or after some time without mails.
struct Conversation {
    number: u64,
    jobs: Sender<Job>,
}

/// A mail for a connection, and who waits for its result.
struct Job {
    mail: OutgoingMail,
    /// How long the result is waited for, by the monotonic clock of the system. Later, the mail is not passed on: it would be
    /// sent once more.
    until: Duration,
    result: Sender<(Result<MailReceipt, MailError>, bool)>,
}

impl MailTransport for SmtpTransport {
    fn send(&self, mail: &OutgoingMail) -> Result<MailReceipt, MailError> {
        let (result, answer) = mpsc::channel();
        let until = SystemClock.monotonic().saturating_add(self.relay.timeout);
        let conversation = self.relay.begin(Job { mail: mail.clone(), until, result })?;
        match answer.recv_timeout(self.relay.timeout) {
            Ok((result, is_usable)) => {
                if is_usable {
                    self.relay.idle.locked().push(conversation);
                }
                result
            }
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.relay.timeout.as_secs();
                Err(MailError::Unavailable(format!("the relay took longer than {seconds} seconds")))
            }
            Err(RecvTimeoutError::Disconnected) => Err(MailError::Unavailable("the connection has ended".to_owned())),
        }
    }
}

impl Relay {
    /// Passes a mail to a connection that nobody uses, or to a new one.
    fn begin(self: &Arc<Self>, mut job: Job) -> Result<Conversation, MailError> {
        while let Some(conversation) = self.pop_idle() {
            match conversation.jobs.send(job) {
                Ok(()) => return Ok(conversation),
                // Its thread has ended.
                Err(mpsc::SendError(unsent)) => job = unsent,
            }
        }
        let take = |count: usize| (count < MAX_CONNECTIONS).then_some(count + 1);
        if self.connections.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_err() {
            return Err(MailError::Unavailable("the relay does not end its connections".to_owned()));
        }
        let place = Place(Arc::clone(self));
        let (jobs, received) = mpsc::channel();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let run = move || place.0.converse(number, &received);
        let started = std::thread::Builder::new().name("ticketing-smtp".to_owned()).spawn(run);
        let no_thread = |error| MailError::Unavailable(format!("no thread could be started: {error}"));
        started.map_err(no_thread)?;
        let lost = |_| MailError::Unavailable("the connection has ended".to_owned());
        jobs.send(job).map_err(lost)?;
        Ok(Conversation { number, jobs })
    }

    fn pop_idle(&self) -> Option<Conversation> {
        self.idle.locked().pop()
    }

    /// Ends a conversation that nobody uses. Returns `false` if somebody has just taken it for a mail.
    fn end(&self, number: u64) -> bool {
        let mut idle = self.idle.locked();
        let position = idle.iter().position(|conversation| conversation.number == number);
        position.map(|position| idle.swap_remove(position)).is_some()
    }

    /// Sends mails over one connection, until none has come for some time.
    fn converse(&self, number: u64, jobs: &Receiver<Job>) {
        let mut connection = None;
        loop {
            let Job { mail, until, result } = match jobs.recv_timeout(IDLE) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) if !self.end(number) => continue,
                Err(_) => break,
            };
            let sent = self.send_over(&mut connection, &mail, until);
            // Nobody waits any more if it has taken too long.
            if result.send((sent, connection.is_some())).is_err() {
                break;
            }
        }
        if let Some(mut connection) = connection {
            let _ = connection.quit();
        }
    }

    /// Sends a mail. Leaves the connection only if it can be used for another one.
    fn send_over(
        &self,
        connection: &mut Option<SmtpConnection>,
        mail: &OutgoingMail,
        until: Duration,
    ) -> Result<MailReceipt, MailError> {
        if let Some(mut used) = connection.take() {
            // The relay may have closed it meanwhile.
            match used.command(Rset) {
                Ok(_) => *connection = Some(used),
                Err(_) => used.abort(),
            }
        }
        let mut used = match connection.take() {
            Some(used) => used,
            None => self.connect(mail)?,
        };
        let sent = transfer(&mut used, mail, until);
        match &sent {
            Err(MailError::Unavailable(_)) => used.abort(),
            _ if used.has_broken() => {}
            _ => *connection = Some(used),
        }
        sent
    }

    /// Connects, encrypts and authenticates. Whatever is refused here concerns all mails.
    fn connect(&self, mail: &OutgoingMail) -> Result<SmtpConnection, MailError> {
        let unavailable = |error: SmtpError| MailError::Unavailable(text_of(&error));
        let domain = mail.envelope_from.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
        let hello = ClientId::Domain(domain.to_owned());
        let implicit = self.is_implicit.then_some(&self.tls);
        let server = (self.host.as_str(), self.port);
        // Of the time for the whole, one command may take this part.
        let timeout = Some(self.timeout * 2 / 3);
        let not_begun = |error| MailError::Unavailable(format!("{}{}", text_of(&error), self.other_scheme(&error)));
        let mut connection = SmtpConnection::connect(server, timeout, &hello, implicit, None).map_err(not_begun)?;
        if !self.is_implicit && (connection.can_starttls() || !self.is_loopback) {
            connection.starttls(&self.tls, &hello).map_err(unavailable)?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(&[Mechanism::Plain, Mechanism::Login], credentials).map_err(unavailable)?;
        }
        Ok(connection)
    }

    /// What is added to the error of a connection that may have the wrong scheme for its port.
    fn other_scheme(&self, error: &SmtpError) -> &'static str {
        let is_plain = || error.to_string().contains("InvalidContentType");
        match self.is_implicit {
            true if is_plain() => "; a relay that begins without TLS needs smtp://",
            false if has_timed_out(error) => "; a relay that begins with TLS needs smtps://",
            _ => "",
        }
    }
}

/// Counts a connection as open until it is dropped.
struct Place(Arc<Relay>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Passes a mail to the relay over a connection, unless it is too late.
fn transfer(connection: &mut SmtpConnection, mail: &OutgoingMail, until: Duration) -> Result<MailReceipt, MailError> {
    let from =
        address(&mail.envelope_from).ok_or_else(|| MailError::Refused("the sender is not an address".to_owned()))?;
    let not_an_address = || MailError::RecipientRefused("the recipient is not an address".to_owned());
    let to = address(&mail.to).ok_or_else(not_an_address)?;
    let mut parameters = Vec::new();
    if !mail.to.is_ascii() || !mail.envelope_from.is_ascii() {
        if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
            let problem = "the relay does not accept addresses with other characters than ASCII: it has no SMTPUTF8";
            return Err(MailError::RecipientRefused(problem.to_owned()));
        }
        parameters.push(MailParameter::SmtpUtfEight);
    }
    connection.command(Mail::new(Some(from), parameters)).map_err(|error| refused(&error, MailError::Refused))?;
    let rcpt = connection.command(Rcpt::new(to, Vec::new()));
    rcpt.map_err(|error| refused(&error, MailError::RecipientRefused))?;
    connection.command(Data).map_err(|error| refused(&error, MailError::Refused))?;
    if SystemClock.monotonic() >= until {
        return Err(MailError::Unavailable("the relay took too long".to_owned()));
    }
    // The end of the last line is that of what follows.
    let message = mail.message.strip_suffix(b"\r\n").unwrap_or(&mail.message);
    let response = connection.message(message).map_err(|error| refused(&error, MailError::Refused))?;
    let answer: Vec<&str> = response.message().collect();
    Ok(MailReceipt::new(format!("{} {}", response.code(), answer.join(" "))))
}

fn address(text: &str) -> Option<Address> {
    text.parse().ok()
}

/// The codes with which a relay asks for credentials or for TLS (RFC 3207, RFC 4954). They concern all mails.
const NOT_LOGGED_IN: [u16; 3] = [530, 534, 538];

/// What the relay has answered to a command about a mail: refused for good, or that it may be tried again.
fn refused(error: &SmtpError, for_good: fn(String) -> MailError) -> MailError {
    let text = text_of(error);
    let is_about_login = error.status().is_some_and(|code| NOT_LOGGED_IN.contains(&u16::from(code)));
    if error.is_permanent() && !is_about_login { for_good(text) } else { MailError::Unavailable(text) }
}

/// The code and the text of the relay, or what went wrong.
fn text_of(error: &SmtpError) -> String {
    match (error.status(), error.source()) {
        (Some(code), Some(text)) => format!("{code} {text}"),
        (Some(code), None) => code.to_string(),
        (None, _) if has_timed_out(error) => "the relay has not answered in time".to_owned(),
        // Without "internal client error": the relay lacks what this program needs.
        (None, Some(problem)) if error.is_client() => problem.to_string(),
        (None, _) => error.to_string(),
    }
}

/// Whether the relay has not answered.
fn has_timed_out(error: &SmtpError) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};

    let mut sources = std::iter::successors(error.source(), |error| (*error).source());
    let cause = sources.find_map(|source| source.downcast_ref::<std::io::Error>());
    cause.is_some_and(|error| matches!(error.kind(), TimedOut | WouldBlock))
}
