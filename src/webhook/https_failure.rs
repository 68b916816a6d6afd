//! Error messages of failed attempts, for the operators of receivers. They reveal nothing about the network of the
//! sender: no address, and no text of the operating system.

use std::io::{self, ErrorKind};
use std::time::Duration;

use rustls::CertificateError;

use super::transport::{FailureKind, WebhookFailure};
use crate::https::endpoint_url;
use crate::https::exchange::{Exchange, Phase};
use crate::https::http_connection::MAX_HEAD;
use crate::https::lookup_pool::LookupError;

/// The same message for a name that is unknown and for one that has a private address, so that it does not reveal which
/// names exist in the sender's network. The kind of the failure, which the metrics count, is the same too.
const NO_PUBLIC_ADDRESS: &str = "the host name does not resolve to public addresses";

impl WebhookFailure {
    /// The URL is not allowed. The message is the same for every reason, so that it reveals no names or addresses.
    pub(crate) fn url_refused() -> Self {
        let message = format!("the URL is not allowed: it {}", endpoint_url::MESSAGE);
        Self { kind: FailureKind::AddressNotAllowed, message, connection_tried: false }
    }

    /// The name is unknown, or has an address that is not public.
    pub(crate) fn not_public() -> Self {
        Self { kind: FailureKind::AddressNotAllowed, message: NO_PUBLIC_ADDRESS.to_owned(), connection_tried: false }
    }

    pub(crate) fn interrupted(connection_tried: bool) -> Self {
        Self { kind: FailureKind::ConnectionFailed, message: "the sender was stopped".to_owned(), connection_tried }
    }

    pub(crate) fn of_lookup(error: LookupError, timeout: Duration) -> Self {
        let connection_tried = false;
        match error {
            LookupError::Closed => Self::interrupted(connection_tried),
            LookupError::TimedOut => Self::timed_out(Phase::Resolving, timeout, connection_tried),
            LookupError::NotFound => Self::not_public(),
        }
    }

    pub(crate) fn of_exchange(error: &ureq::Error, exchange: &Exchange, timeout: Duration) -> Self {
        if exchange.timed_out {
            return Self::timed_out(exchange.phase, timeout, exchange.connection_tried);
        }
        let message = match error {
            ureq::Error::LargeResponseHeader(..) => {
                format!("the response head is larger than {} KiB", MAX_HEAD / 1024)
            }
            ureq::Error::Protocol(_) => "the response is not valid HTTP".to_owned(),
            ureq::Error::Io(error) => io_message(error, exchange.phase),
            ureq::Error::Rustls(error) => tls_message(error),
            ureq::Error::Http(_) | ureq::Error::BadUri(_) => "the request could not be built".to_owned(),
            _ => format!("failed while {}", exchange.phase.describe()),
        };
        Self { kind: FailureKind::ConnectionFailed, message, connection_tried: exchange.connection_tried }
    }

    fn timed_out(phase: Phase, timeout: Duration, connection_tried: bool) -> Self {
        let message = format!("timed out after {} s while {}", timeout.as_secs_f64(), phase.describe());
        Self { kind: FailureKind::TimedOut, message, connection_tried }
    }
}

fn io_message(error: &io::Error, phase: Phase) -> String {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        return tls_message(error);
    }
    let event = match error.kind() {
        ErrorKind::ConnectionRefused => return "the connection was refused".to_owned(),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable => {
            return "the address is unreachable".to_owned();
        }
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => "was reset",
        ErrorKind::UnexpectedEof => "was closed",
        _ => "failed",
    };
    format!("the connection {event} while {}", phase.describe())
}

fn tls_message(error: &rustls::Error) -> String {
    let rustls::Error::InvalidCertificate(certificate) = error else {
        return format!("the TLS handshake failed: {error}");
    };
    let reason = match certificate {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => "it is for another name",
        CertificateError::UnknownIssuer => "its issuer is unknown",
        CertificateError::Revoked => "it was revoked",
        other => return format!("the certificate is not trusted: {other}"),
    };
    format!("the certificate is not trusted: {reason}")
}
