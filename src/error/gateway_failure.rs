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
    /// A temporary failure: no answer, or the gateway cannot process the request now. Trying again may help. The
    /// request may have been executed nevertheless: a checkout whose start failed like this is asked for again, to be
    /// closed.
    #[error("the payment gateway is unavailable: {0}")]
    Unavailable(String),
    /// A temporary failure of a request that was certainly not executed: no connection, a rate limit, or credentials
    /// that are not accepted. Trying again may help. A checkout whose start failed like this does not exist. One that
    /// is to be closed is asked about until a day after it has ended by itself.
    #[error("the payment gateway has not executed the request: {0}")]
    NotExecuted(String),
    /// A final refusal: the same request will be refused every time.
    #[error("the payment gateway refused the request: {0}")]
    Refused(String),
    /// The answer to a request for a refund: nothing of the payment is left, because it was refunded already, or
    /// because the customer's bank has taken it. Nobody owes the money any more.
    #[error("the payment has gone back already: {0}")]
    NothingLeft(String),
    /// The answer to a request for a refund: less than the amount is left of the payment, because a part of it has gone
    /// back in another way. The [refunds](crate::payment::RefundReports::refunds_of) and
    /// [disputes](crate::payment::RefundReports::disputes_of) of the payment tell how much is left.
    #[error("less than this is left of the payment: {0}")]
    LessLeft(String),
}

/// A payment gateway that returned no checkout for a new order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the payment gateway returned no checkout link; the order{} was cancelled and its seats were released",
    .cancelled_order.as_ref().map(|order| format!(" {order}")).unwrap_or_default()
)]
#[non_exhaustive]
pub struct GatewayFailure {
    /// The id of the order, which was cancelled, and whose seats were released.
    pub cancelled_order: Option<String>,
    /// Why. It is for logs.
    #[source]
    pub cause: GatewayError,
}

impl From<GatewayError> for GatewayFailure {
    /// A failure that does not name its order.
    fn from(cause: GatewayError) -> Self {
        Self { cancelled_order: None, cause }
    }
}

/// Why a notice was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoticeError {
    /// The gateway sends no notices.
    #[error("the payment gateway sends no notices")]
    Unsupported,
    /// The signature is missing, is not the gateway's, or is too old.
    #[error("the signature of the notice is not valid")]
    InvalidSignature,
    /// The signature is the gateway's, but the contents cannot be read. The text is for logs.
    #[error("the notice cannot be read: {0}")]
    Unreadable(String),
    /// The gateway had to ask the provider, and got no answer. The notice should be sent again. The text is for logs.
    #[error("the notice cannot be processed now: {0}")]
    Unavailable(String),
}
