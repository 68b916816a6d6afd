//! Why something is unavailable at the moment.

/// Why a request could not be served at the moment. The same request may succeed later. The text of each is for
/// clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// The service is closed, or is being closed.
    #[error("the service is closed")]
    Closed,
    /// The asynchronous runtime is shutting down.
    #[error("the runtime is shutting down")]
    ShuttingDown,
    /// Others keep the store, or rows that the request needs, locked.
    #[error("the store is busy")]
    Busy,
    /// Too many calls are in progress.
    #[error("too many calls are in progress; try again later")]
    TooManyCalls,
    /// Too many searches and filtered lists are in progress.
    #[error("too many searches and filtered lists are in progress; try again later")]
    TooManySearches,
    /// Too many ticket documents are being rendered.
    #[error("too many ticket documents are being rendered; try again later")]
    TooManyDocuments,
    /// Too many exports are in progress.
    #[error("too many exports are in progress; try again later")]
    TooManyExports,
    /// An export took longer than its limit.
    #[error("the export takes too long; ask for fewer dates, or for one event")]
    ExportTooLong,
    /// The database has no free connection.
    #[error("the database has no free connection")]
    NoConnection,
    /// The database cannot be reached.
    #[error("the database cannot be reached")]
    Unreachable,
    /// The database did not answer in time. Nothing was changed.
    #[error("the database does not answer")]
    NoAnswer,
    /// The database did not say whether the change was committed. Repeat the request with the same idempotency key.
    #[error("the database does not answer: it is not known whether this was done")]
    OutcomeUnknown,
    /// The database accepts no writes at the moment.
    #[error("the database accepts no writes at the moment")]
    NotWritable,
    /// A search took longer than its limit.
    #[error("the search takes too long; ask for less, for example for one event")]
    SearchTooLong,
    /// The standby has cancelled the search, because its primary has changed what it reads.
    #[error("the standby has cancelled the search")]
    SearchCancelled,
    /// The standby shows a state that is too old.
    #[error("the standby is late, or does not receive from its primary any more")]
    StandbyLate,
    /// The program does not have the payment gateway of the order.
    #[error("the payment gateway of the order is not available")]
    GatewayMissing,
    /// The payment gateway does not answer.
    #[error("the payment gateway does not answer")]
    GatewaySilent,
    /// Many holds have just expired, and their seats are being released.
    #[error("many holds have just expired, and their seats are being released")]
    HoldsExpiring,
    /// No free id or ticket code was found.
    #[error("no free id was found")]
    NoFreeId,
}
