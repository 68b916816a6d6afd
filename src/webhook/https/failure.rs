//! Why no answer came, in words for whoever runs the receiver. They tell nothing of the network that the sender stands
//! in: no address, and no text of the operating system.

use std::io::{self, ErrorKind};
use std::time::Duration;

use rustls::CertificateError;

use super::attempt::{Attempt, Phase};
use super::lookups::NoAddress;
use super::wire::HEAD;
use crate::rules::webhook_url;
use crate::webhook::transport::{FailureKind, WebhookFailure};

/// One message for a name that nobody knows and one that has an address inside: it must not tell which names there are.
const NO_PUBLIC_ADDRESS: &str = "the name does not resolve to public addresses";

impl WebhookFailure {
    /// One message for every URL that is refused, whatever the name or the address in it is.
    pub(super) fn refused() -> Self {
        let message = format!("the URL is not one to which anything is sent: it {}", webhook_url::MESSAGE);
        Self { kind: FailureKind::Refused, message, connection_tried: false }
    }

    pub(super) fn not_public() -> Self {
        Self { kind: FailureKind::Refused, message: NO_PUBLIC_ADDRESS.to_owned(), connection_tried: false }
    }

    pub(super) fn interrupted(connection_tried: bool) -> Self {
        Self { kind: FailureKind::Network, message: "the sender was stopped".to_owned(), connection_tried }
    }

    pub(super) fn no_address(why: NoAddress, timeout: Duration) -> Self {
        match why {
            NoAddress::Closed => Self::interrupted(false),
            NoAddress::TimedOut => Self::timed_out(Phase::LookingUp, timeout, false),
            NoAddress::Unknown => {
                Self { kind: FailureKind::Network, message: NO_PUBLIC_ADDRESS.to_owned(), connection_tried: false }
            }
        }
    }

    /// What went wrong in the attempt, which had `timeout` in all.
    pub(super) fn of(error: &ureq::Error, attempt: &Attempt, timeout: Duration) -> Self {
        if attempt.timed_out {
            return Self::timed_out(attempt.phase, timeout, attempt.tried);
        }
        let message = match error {
            ureq::Error::LargeResponseHeader(..) => format!("the answer's head is larger than {} KiB", HEAD / 1024),
            ureq::Error::Protocol(_) => "the answer is not HTTP".to_owned(),
            ureq::Error::Io(error) => of_network(error, attempt.phase),
            ureq::Error::Rustls(error) => of_tls(error),
            ureq::Error::Http(_) | ureq::Error::BadUri(_) => "the request could not be written".to_owned(),
            _ => format!("it failed while {}", attempt.phase.words()),
        };
        Self { kind: FailureKind::Network, message, connection_tried: attempt.tried }
    }

    fn timed_out(phase: Phase, timeout: Duration, connection_tried: bool) -> Self {
        let message = format!("timed out after {} s while {}", timeout.as_secs_f64(), phase.words());
        Self { kind: FailureKind::TimedOut, message, connection_tried }
    }
}

fn of_network(error: &io::Error, phase: Phase) -> String {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        return of_tls(error);
    }
    let what = match error.kind() {
        ErrorKind::ConnectionRefused => return "the connection was refused".to_owned(),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable => {
            return "the address cannot be reached".to_owned();
        }
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => "was reset",
        ErrorKind::UnexpectedEof => "was closed",
        _ => "failed",
    };
    format!("the connection {what} while {}", phase.words())
}

fn of_tls(error: &rustls::Error) -> String {
    let rustls::Error::InvalidCertificate(certificate) = error else {
        return format!("no secure connection came about: {error}");
    };
    let why = match certificate {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => "it is for another name",
        CertificateError::UnknownIssuer => "its issuer is unknown",
        CertificateError::Revoked => "it was revoked",
        other => return format!("the certificate is not trusted: {other}"),
    };
    format!("the certificate is not trusted: {why}")
}
