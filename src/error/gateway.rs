//! The errors of payment gateways.

/// Why a call to the payment gateway failed. The text is for logs, and for [`Refund::last_error`]. It may reveal
/// internal addresses: it is not in the message of the error that
/// [`create_order`](crate::TicketingService::create_order) returns, only in its source, and the server sends it to no
/// client.
///
/// [`Refund::last_error`]: crate::payment::Refund::last_error
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// A temporary failure: no answer, or the gateway cannot process the request now. Trying again may help.
    #[error("the payment gateway is unavailable: {0}")]
    Unavailable(String),
    /// A final refusal: the same request will be refused every time.
    #[error("the payment gateway refused the request: {0}")]
    Refused(String),
}
