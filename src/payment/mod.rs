//! Payments: the [`PaymentGateway`] trait, its capabilities, requests and notices, calls with a timeout, and the
//! [`SandboxGateway`].

mod calls;
mod capabilities;
mod gateway;
mod notice;
mod requests;
mod sandbox;

pub(crate) use calls::{CallLimits, GatewayCalls, Waiting};
pub use capabilities::{Checkouts, Limits, PaymentWebhooks, RefundReports, Statements};
pub use gateway::{Checkout, PaymentGateway};
pub use notice::{GatewayEvent, GatewayNotice, NoticeHeaders};
pub use requests::{
    CheckoutItem, CheckoutRequest, CloseCheckout, LookUp, PaymentLookUp, RefundRequest, StatementRequest,
};
pub use sandbox::SandboxGateway;
pub(crate) use sandbox::sandbox_reference;

pub use crate::error::gateway_failure::{GatewayError, GatewayFailure, NoticeError};
pub use crate::model::payments::checkout::{
    CheckoutOutcome, CheckoutResult, CheckoutState, CheckoutStatus, CheckoutTerms, GatewayPayment, HostedCheckout,
    OrderCheckout, RenewCheckoutResponse, SettledCheckout,
};
pub use crate::model::payments::dispute::{Dispute, DisputeStatus, ListDisputes};
pub use crate::model::payments::gateway_report::{GatewayDispute, GatewayRefund, RefundState};
pub use crate::model::payments::ledger_entry::{LedgerEntry, LedgerKind, ListLedgerEntries};
pub use crate::model::payments::notice::NoticeOutcome;
pub use crate::model::payments::order_balance::{BalanceSums, OrderBalance, PaymentBalance};
pub use crate::model::payments::reconciliation::{
    Discrepancies, Discrepancy, Reconcile, ReconcileProgress, ReconciledTotal, Reconciliation, UnreadAccount,
};
pub use crate::model::payments::statement::{StatementEvent, StatementLine};
pub use crate::model::sale::gateway_account::{GatewayAccount, PaymentMode};
pub use crate::model::sale::received_payment::{ListPayments, ManualMethod, MarkPaid, PaymentPurpose, ReceivedPayment};
pub use crate::model::sale::refund::{
    ListRefunds, MarkRefunded, MarkRefundedResponse, Refund, RefundMethod, RefundOrder, RefundOrderResponse,
    RefundSource, RefundStatus, SettledRefund,
};
