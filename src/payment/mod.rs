//! Payments: the [`PaymentGateway`] trait, its capabilities, requests and notices, calls with a timeout, and the [`SandboxGateway`].

mod calls;
mod capabilities;
mod gateway;
mod notice;
mod requests;
mod sandbox;

pub(crate) use calls::{CallLimits, GatewayCalls};
pub use capabilities::{Checkouts, Limits, PaymentWebhooks, RefundReports, Statements};
pub use gateway::{Checkout, PaymentGateway};
pub use notice::{GatewayEvent, GatewayNotice, NoticeHeaders};
pub use requests::{
    CheckoutItem, CheckoutRequest, CloseCheckout, LookUp, PaymentLookUp, RefundRequest, StatementRequest,
};
pub use sandbox::SandboxGateway;
pub(crate) use sandbox::{SandboxNotice, SandboxPayment, sandbox_reference};

pub use crate::error::gateway::{GatewayError, GatewayFailure, NoticeError};
pub use crate::model::checkout::{
    CheckoutOutcome, CheckoutResult, CheckoutState, CheckoutStatus, CheckoutTerms, GatewayPayment, HostedCheckout,
    OrderCheckout, RenewCheckoutResponse, SettledCheckout,
};
pub use crate::model::dispute::{Dispute, DisputeStatus, ListDisputes};
pub use crate::model::gateway_account::{GatewayAccount, PaymentMode};
pub use crate::model::gateway_report::{GatewayDispute, GatewayRefund, RefundState};
pub use crate::model::ledger::{LedgerEntry, LedgerKind, ListLedgerEntries};
pub use crate::model::notice::NoticeOutcome;
pub use crate::model::order_balance::{BalanceSums, OrderBalance, PaymentBalance};
pub use crate::model::received_payment::{ListPayments, ManualMethod, MarkPaid, PaymentPurpose, ReceivedPayment};
pub use crate::model::reconciliation::{
    Discrepancies, Discrepancy, Reconcile, ReconcileProgress, ReconciledTotal, Reconciliation, UnreadAccount,
};
pub use crate::model::refund::{
    ListRefunds, MarkRefunded, MarkRefundedResponse, Refund, RefundMethod, RefundOrder, RefundOrderResponse,
    RefundSource, RefundStatus, SettledRefund,
};
pub use crate::model::statement::{StatementEvent, StatementLine};
