//! An embeddable event-ticketing engine on SQLite or PostgreSQL: events, orders, tickets with scannable codes,
//! check-in, and signed webhooks.
//!
//! [`TicketingService`] has one method for each operation. It stores everything in one SQLite file, or in a PostgreSQL
//! database. This is a complete sale, from the empty file to the entrance:
//!
//! ```
//! use ticketing::error::Reason;
//! use ticketing::event::{CreateEvent, EventStatus};
//! use ticketing::order::{CreateOrder, NewCustomer, OrderStatus};
//! use ticketing::organization::CreateOrganization;
//! use ticketing::ticket::{CheckInTicket, TicketStatus};
//! use ticketing::ticket_type::CreateTicketType;
//! use ticketing::{Amount, TicketingService};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("ticketing.db");
//! // Open the database, with the sandbox payment gateway, which takes no money.
//! let service = TicketingService::builder(path).sandbox_gateway().open()?;
//! let organization = service.create_organization(CreateOrganization::default())?;
//! let caller = service.act_for(organization.id)?;
//!
//! // Publish an event with 100 seats at 12.50 EUR.
//! let event = CreateEvent::new("Summer Night", "summer-night", "2100-06-01T18:00:00Z".parse()?)
//!     .status(EventStatus::Published);
//! let event = service.create_event(&caller, event)?;
//! let ticket_type = CreateTicketType::new("General admission", Amount::cents(1250), 100);
//! let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type)?;
//!
//! // Ada orders two tickets. The order reserves two seats until she pays on the checkout page.
//! let ada = NewCustomer::new("Ada", "ada@example.com");
//! let order = CreateOrder::new(event.id, ada, ticket_type.id, 2);
//! let created = service.create_order(&caller, order)?;
//! assert_eq!(created.order.status, OrderStatus::Pending);
//! assert!(created.checkout_url.is_some());
//!
//! // The gateway reports the payment. This completes the order and issues the tickets.
//! let order = service.payment_completed(&caller, created.order.id)?;
//! assert_eq!(order.status, OrderStatus::Completed);
//! let code = &order.items[0].issued_tickets[0].code;
//!
//! // At the entrance, a ticket is admitted once.
//! let ticket = service.check_in_ticket(&caller, CheckInTicket::new(code))?;
//! assert_eq!(ticket.status, TicketStatus::CheckedIn);
//! let second_scan = service.check_in_ticket(&caller, CheckInTicket::new(code)).unwrap_err();
//! assert_eq!(second_scan.reason(), Some(Reason::AlreadyCheckedIn));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What was acknowledged is on disk, no seat is sold twice, and a ticket is admitted once, also under concurrency and
//! after crashes: the guide [`guarantees`](guide::guarantees) lists what the engine promises, and its limits.
//!
//! # Tasks
//!
//! | Task | In Rust |
//! |---|---|
//! | Repeat a call safely | [`&caller.with_idempotency_key("basket-4711")`](Caller::with_idempotency_key); the result has the fields `value` and `replayed` |
//! | Change only the version that was read | [`&caller.if_revision(event.revision)`](Caller::if_revision) |
//! | Restrict what a caller may do | [`caller.with_scopes([Scope::TicketsCheckIn])`](Caller::with_scopes) |
//! | Let clients in with API keys | [`create_api_key`](TicketingService::create_api_key), [`authenticate`](TicketingService::authenticate) |
//! | Find a tenant by a name of your own | [`get_organization_by_reference`](TicketingService::get_organization_by_reference) |
//! | Suspend a tenant | [`suspend_organization`](TicketingService::suspend_organization), [`resume_organization`](TicketingService::resume_organization) |
//! | Bill tenants by usage | [`get_organization_usage`](TicketingService::get_organization_usage), [`list_organization_usage`](TicketingService::list_organization_usage) |
//! | Sell for cash or at a card terminal in one call | [`create_order`](TicketingService::create_order) with [`CreateOrder::paid`](order::CreateOrder::paid) |
//! | Sell to customers without an e-mail address | [`NewCustomer::walk_in`](order::NewCustomer::walk_in) |
//! | Tell tills and cashiers apart in the ledger | [`caller.named("till-1")?`](Caller::named) |
//! | Complete orders that are paid manually later | [`mark_order_paid`](TicketingService::mark_order_paid) |
//! | Record money that was returned manually | [`mark_order_refunded`](TicketingService::mark_order_refunded) |
//! | See every movement of money | [`list_ledger_entries`](TicketingService::list_ledger_entries), [`list_payments`](TicketingService::list_payments), [`get_order_balance`](TicketingService::get_order_balance) |
//! | List the sales of a till | [`list_orders`](TicketingService::list_orders) with `ListOrders::new().payment_method(PaymentMethod::Manual).completed_from(opened)` |
//! | Set tickets aside for guests or another seller | [`create_allocation`](TicketingService::create_allocation), [`assign_ticket`](TicketingService::assign_ticket) |
//! | Check in tickets that were sold elsewhere | [`import_tickets`](TicketingService::import_tickets) |
//! | Find the first and the last moment of a local day | [`Timestamp::day("2026-11-28", "Europe/Berlin")`](Timestamp::day) |
//! | See how an event sells by day or hour, and how people come in | [`get_event_sales`](TicketingService::get_event_sales), [`get_event_arrivals`](TicketingService::get_event_arrivals), [`create_report_link`](TicketingService::create_report_link) |
//! | Show what can be bought now | [`TicketType::sale_state`](ticket_type::TicketType::sale_state) and [`available`](ticket_type::TicketType::available) |
//! | Read all pages of a list | [`page::all`] |
//! | Tell why a call was refused | [`error.reason() == Some(Reason::AlreadyCheckedIn)`](Error::reason) |
//! | Send the mail with the tickets | the guide [`mail`](guide::mail); to write it yourself, [`Builder::on_notification`] and the example `mail` |
//! | Let a night be one day at the entrance | [`update_event_settings`](TicketingService::update_event_settings) with `EventSettings::default().day_starts_at("06:00")` |
//! | Test with a database that deletes itself | [`TicketingService::temporary`] |
//! | Test webhooks and e-mails without waiting | [`deliver_due_webhooks`](TicketingService::deliver_due_webhooks), [`deliver_due_notifications`](TicketingService::deliver_due_notifications) |
//! | End with one complete database file | [`close`](TicketingService::close) |
//!
//! # Map
//!
//! | Module | Contents |
//! |---|---|
//! | [`organization`] | tenants, their API keys, and scopes |
//! | [`event`], [`ticket_type`], [`discount`] | what is sold, its prices and reductions |
//! | [`order`], [`ticket`] | sales, issued tickets and check-in |
//! | [`allocation`] | guest lists and other tickets that are set aside, and tickets that were sold elsewhere |
//! | [`event_page`] | what the page of an event shows (feature `event-pages`) |
//! | [`door`] | check-in on devices: links, lists of tickets, reports of scans |
//! | [`payment`] | gateways, the sandbox checkout, and refunds |
//! | [`stripe`] | the payment gateway for Stripe Checkout (feature `stripe`) |
//! | [`documents`] | tickets as PDF (feature `documents`) |
//! | [`exports`] | files for spreadsheets and accounting (feature `exports`) |
//! | [`webhook`] | endpoints, notifications, and the sending of notifications |
//! | [`notification`] | notifications for functions and views inside the program |
//! | [`server`] | the operations over HTTP, alone or in an axum application (feature `server`) |
//! | [`id`], [`page`], [`request`], [`error`], [`text_enum`] | types that all operations share |
//! | [`maintenance`], [`monitoring`] | background work, backups, and figures |
//! | [`guide`] | [guarantees and limits](guide::guarantees), [the HTTP API](guide::http), [webhooks](guide::webhooks), [tickets for holders](guide::documents), [event pages](guide::event_pages), [guest lists and cancelled events](guide::guest_lists), [the door](guide::door), [mail](guide::mail), [reports](guide::reports), [exports](guide::exports), [Stripe](guide::stripe), [payment gateways](guide::payment_gateway), [money](guide::money), [many organizations](guide::tenants), [testing](guide::testing), [production](guide::production), [logging](guide::logging), [metrics](guide::metrics), [several machines](guide::several_machines) |
//! | [`environment`] | clocks and random numbers, also deterministic ones for tests |
//!
//! # Embedding
//!
//! A [`TicketingService`] is cheap to clone. All clones share one store and can be used from any thread. The methods
//! block: asynchronous code calls them with `TicketingService::run` (feature `tokio`, which `server` includes), or on a
//! blocking thread of its own. The module [`server`] has a guide for axum applications.
//!
//! [`TicketingService::builder`] configures everything that has a default, in particular:
//!
//! - a [`PaymentGateway`](payment::PaymentGateway) of your own, which reports the outcome of each payment with
//!   [`payment_completed`](TicketingService::payment_completed) or
//!   [`payment_failed`](TicketingService::payment_failed). Without a gateway, organizers mark orders as paid;
//! - [`Builder::on_notification`], which calls a function of the program with every change, to send e-mails for
//!   example;
//! - [`Builder::webhook_sender`], which starts the threads that send webhooks.
//!   [`start_webhook_sender`](TicketingService::start_webhook_sender) does the same later. They need the feature
//!   `ring`, or [another way](webhook#sending) to provide cryptography;
//! - [`Builder::maintenance`], which starts a thread that retries refunds, records expired orders and events, and
//!   deletes old data. Sales and check-in work without it;
//! - a [`ManualClock`](environment::ManualClock) and a [`SeededEntropy`](environment::SeededEntropy), which make tests
//!   deterministic.
//!
//! [`TicketingService::close`] ends the service and leaves one complete database file. A gateway or transport that
//! calls the service needs a [`WeakTicketingService`], because the service could not be closed otherwise. Handlers of
//! notifications get the service with each call.
//!
//! For monitoring, [`statistics`](TicketingService::statistics) returns counters of this process, and
//! [`backlog`](TicketingService::backlog) counts the work that is still to be done.
//!
//! Several processes may open the same file. It must be on a local disk, because SQLite's write-ahead log does not
//! work on network file systems. Several machines can share a PostgreSQL database: see
//! [the guide](guide::several_machines).
//!
//! # Features
//!
//! | Feature | Default | Effect |
//! |---|---|---|
//! | `bundled` | yes | Compiles SQLite into the program. Otherwise the system's is linked: 3.51.3 or newer. |
//! | `webhooks` | yes | [`webhook::HttpsTransport`], which sends webhooks, with ureq and rustls. Programs that send none, such as a till, save both: `default-features = false, features = ["bundled"]`. |
//! | `stripe` | no | The module [`stripe`]: payments with Stripe Checkout. |
//! | `documents` | no | The module [`documents`]: tickets as PDF, with a QR code. |
//! | `event-pages` | no | [Pages of events](guide::event_pages), on which customers buy. It includes `server` and `documents`. |
//! | `mail` | no | The module [`mail`]: [mails](guide::mail) to customers and organizers. It includes `documents`. |
//! | `smtp` | no | `mail::SmtpTransport`, which sends mails over SMTP. It includes `mail` and `ring`. |
//! | `exports` | no | The module [`exports`]: the ledger, orders, attendees, check-ins and settlements as CSV. |
//! | `xlsx` | no | Exports as XLSX too. It includes `exports`. |
//! | `postgres` | no | `TicketingService::postgres`: a service on a PostgreSQL database, which several machines share. |
//! | `ring` | no | The cryptography that webhooks, Stripe and PostgreSQL need, in programs that do not use rustls themselves. |
//! | `tokio` | no | [`TicketingService::run`], for calls in asynchronous code. It is part of `server`. |
//! | `time` | no | Conversions between [`Timestamp`] and `time::OffsetDateTime`. |
//! | `server` | no | The module [`server`]: the operations over HTTP, OpenAPI, the sandbox's checkout page, metrics. |
//! | `program` | no | The program `ticketing`, which runs the server: `cargo install --path . --features program` in a checkout. It includes `server`, `documents`, `event-pages`, `exports`, `smtp` and `ring`. |
//! | `docs-page` | yes | The page `/docs` of the server, on which operations can be tried. Its script adds 5 MB to a program with `server`, and nothing to others. |
//!
//! `ring` is not on by default, because Cargo enables it for the whole program. If the program is also compiled with
//! another provider of cryptography for rustls, rustls can no longer choose one by itself, and
//! `rustls::ServerConfig::builder()` panics. The module [`webhook`](webhook#sending) has the other ways to provide one,
//! and describes what remains of webhooks without the feature `webhooks`.
//!
//! # Semantic versioning
//!
//! These types of other crates are part of the public API. An incompatible version of such a crate is taken over only
//! in an incompatible version of this one.
//!
//! | Crate | Types | Feature |
//! |---|---|---|
//! | `serde` 1 | `Serialize` and `Deserialize`, which resources and requests implement | |
//! | `time` 0.3 | `OffsetDateTime`, which [`Timestamp`] can be converted from and to | `time` |
//! | `rustls` 0.23 | `crypto::CryptoProvider`, which [`webhook::HttpsTransportBuilder`] takes | `webhooks` |
//! | `axum` 0.8 | `Router`, which `server::router` returns; `http::HeaderName` in its options; `IntoResponse` for errors, and the extractor of callers | `server` |
//!
//! All other dependencies can change in any version, among them hyper, rusqlite, schemars and ureq. With the feature
//! `server`, public types implement `schemars::JsonSchema`; these implementations are not part of the API. The minimum
//! version of Rust, 1.95, can rise in a minor version.
#![cfg_attr(feature = "server", doc = "\n\n[`server`]: crate::server")]
#![cfg_attr(not(feature = "server"), doc = "\n\n[`server`]: #features")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs, missing_debug_implementations, unreachable_pub, clippy::pedantic)]
// Public enums and structs must be able to grow without a breaking release. Each exception states its reason.
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]
#![allow(clippy::single_match_else, clippy::match_bool, clippy::struct_excessive_bools)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod enums;
mod fair;
mod form;
pub(crate) mod https;
mod model;
#[cfg(any(feature = "server", feature = "mail"))]
mod pages;
mod payments;
mod rules;
mod sales;
mod service;
mod store;
#[cfg(any(feature = "documents", feature = "server"))]
mod words;
mod work;
mod write;

#[cfg(feature = "documents")]
pub mod documents;
pub mod environment;
pub mod error;
#[cfg(feature = "exports")]
pub mod exports;
pub mod guide;
#[cfg(feature = "mail")]
pub mod mail;
pub mod payment;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "stripe")]
pub mod stripe;
pub mod webhook;

pub use crate::model::tenants::caller::Caller;
pub use crate::model::values::amount::{Amount, AmountError};
pub use crate::model::values::metadata::Metadata;
pub use crate::model::values::timestamp::{Timestamp, TimestampError};
pub use crate::service::TicketingService;
pub use crate::service::{Builder, CloseError, DatabaseFile, WeakTicketingService};
pub use enums::text_enum;
pub use error::{Error, Result};
pub use form::change::Change;
#[cfg(feature = "postgres")]
pub use service::PostgresDatabase;

/// Events: what tickets are sold for.
pub mod event {
    pub use crate::model::sale::cancellation_run::{
        CancelEventOrders, CancellationRun, CancellationRunState, FailedCancellation,
    };
    pub use crate::model::sale::event::{
        CreateEvent, DeliveryMethod, Event, EventSettings, EventStatus, ListEvents, TicketPdfDesignVersion, UpdateEvent,
    };
    pub use crate::model::sale::event_sales::{EventSales, GetEventSales, SalesInterval, SalesItem};
    pub use crate::model::sale::summary::{EventSummary, OrdersByStatus, TicketTypeSummary};
    pub use crate::model::tickets::report_link::ReportLink;
}

/// The pages of events, on which customers buy, as data.
#[cfg(feature = "event-pages")]
pub mod event_page {
    pub use crate::model::sale::event_page::EventPage;
}

/// Ticket types: the kinds of tickets of an event, with their prices and seats.
pub mod ticket_type {
    pub use crate::model::sale::ticket_type::{
        CreateTicketType, ListTicketTypes, SaleState, TicketType, TicketTypeStatus, UpdateTicketType,
    };
}

/// Orders, their items and their customers.
pub mod order {
    pub use crate::model::sale::customer::{Customer, NewCustomer};
    pub use crate::model::sale::new_order::{
        CheckoutRedirectUrls, CreateOrder, NewOrderItem, PaymentChoice, ShippingAddress,
    };
    pub use crate::model::sale::order::{
        CancelOrderResponse, CreateOrderResponse, ListOrders, Order, OrderDetails, OrderItem, OrderItemSummary,
        OrderStatus, OrderSummary, OrderTicket, Payment, PaymentMethod, PaymentStatus,
    };
}

/// Issued tickets, and check-in.
pub mod ticket {
    pub use crate::model::sale::ticket::{
        AssignTicket, CancelledIssuedTicket, CheckInTicket, FindTicket, IssueTickets, IssueTicketsResponse,
        IssuedTicket, ListTickets, NewTicket, TicketStatus, TicketTypeOfTicket,
    };
}

/// Allocations: tickets that are set aside, and tickets that were sold elsewhere.
pub mod allocation {
    #[cfg(feature = "documents")]
    pub use crate::model::sale::allocation::GetAllocationDocument;
    pub use crate::model::sale::allocation::{Allocation, AllocationState, CreateAllocation, ListAllocations};
    pub use crate::model::sale::ticket_import::{ImportTickets, ImportedHolder, ImportedTicket, TicketImport};
}

/// Check-in on phones, with or without a connection: links for the staff, the tickets of an event without names and
/// codes, and the log of scans.
pub mod door {
    pub use crate::model::tenants::door_link::{CreateDoorLink, CreatedDoorLink, DoorLink, ListDoorLinks};
    pub use crate::model::tickets::arrivals::{ArrivalsItem, EventArrivals, GetEventArrivals, RefusedScans};
    pub use crate::model::tickets::roster::{
        GetRoster, Roster, RosterCounts, RosterEvent, RosterOrder, RosterOrderTicket, RosterTicket, RosterTicketType,
        ScanConflict,
    };
    pub use crate::model::tickets::scan::{
        ListScans, LoggedKind, LoggedScan, NewScan, OtherScan, ScanKind, ScanOutcome, ScanResult, ScannedTicket,
        UploadScans, UploadedScans, Verdict,
    };
}

/// Discounts: codes and automatic discounts.
pub mod discount {
    pub use crate::model::sale::discount::{
        BasketItem, CreateDiscount, Discount, DiscountErrorData, DiscountRefusal, DiscountValidationResponse,
        ListDiscounts, UpdateDiscount, ValidateDiscount, ValidatedDiscount,
    };
    pub use crate::model::sale::discount_value::{DiscountType, DiscountValue};
    pub use crate::model::values::percentage::{Percentage, PercentageError};
}

/// Organizations, their API keys, and the scopes of those.
pub mod organization {
    pub use crate::enums::scope::{Scope, Scopes, ScopesIter};
    pub use crate::model::tenants::organization::{
        ApiKey, CreateApiKey, CreateOrganization, CreatedApiKey, ListOrganizations, Organization, OrganizationUsage,
        OrganizationWithUsage, UpdateOrganization,
    };
    pub use crate::model::values::secret::Secret;
}

/// Notifications for functions of the program: see [`Builder::on_notification`].
pub mod notification {
    pub use crate::model::notifications::handler_notification::*;
    pub use crate::model::notifications::notification::Notification;
    pub use crate::model::notifications::notification_data::*;
    pub use crate::model::notifications::notification_types::{NotificationDetails, NotificationTopic};
}

/// Ids: one type for each kind of resource.
pub mod id {
    pub use crate::model::values::id::{
        AllocationId, ApiKeyId, CancellationRunId, CustomerId, DiscountId, DisputeId, EventId, Id, Kind, LedgerEntryId,
        MailId, NotificationId, OrderId, OrderItemId, OrganizationId, OutboxId, ParseIdError, PaymentId, RefundId,
        ScanId, TicketId, TicketTypeId, WebhookDeliveryId, WebhookId, kind,
    };
}

/// Pages of lists, and the iterator over all pages.
pub mod page {
    pub use crate::model::values::page::{Page, PageRequest, all};
}

/// Requests as JSON or a query string, and options of a call: idempotency keys and expected revisions.
///
/// Every request implements `Serialize` and `Deserialize`, in the JSON of the HTTP operations: an absent field is not
/// written, and `null` clears a field of an update. Reading with `Deserialize` fails if a field is missing or of the
/// wrong kind; the error names all such fields. The operation checks the limits, as for a request that was made in
/// Rust. [`Request`](request::Request) keeps the errors instead, so that the operation reports all of them together.
///
/// ```
/// use ticketing::event::CreateEvent;
/// let event: CreateEvent = serde_json::from_str(
///     r#"{"title": "Jazz", "slug": "jazz", "startDate": "2100-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"}"#,
/// )?;
/// assert_eq!(event, CreateEvent::new("Jazz", "jazz", "2100-06-01T18:00:00Z".parse()?));
/// assert_eq!(serde_json::to_value(event)?["slug"], "jazz");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod request {
    pub use crate::form::json::SyntaxError;
    pub use crate::form::request::{Nothing, Request};
    pub use crate::model::tenants::caller::{ConditionalCaller, IdempotentCall, KeyedCaller};
    pub use crate::model::tenants::idempotency::{IdempotencyKey, ParseIdempotencyKeyError, Replayable};
}

/// Background maintenance, backups, and the check of a database.
pub mod maintenance {
    #[cfg(feature = "postgres")]
    pub use crate::model::operation::backup::CopyProgress;
    pub use crate::model::operation::backup::{BackupProgress, BackupSchedule};
    pub use crate::model::operation::check::{CheckProgress, CheckReport, Finding};
    pub use crate::model::operation::maintenance::MaintenanceReport;
    pub use crate::work::background_threads::MaintenanceGuard;
}

/// Figures for monitoring: what this process has counted, and the backlog in the database.
pub mod monitoring {
    pub use crate::model::operation::statistics::{
        Backlog, CommitStatistics, Distribution, DocumentStatistics, LogoOutcome, MailOutcome, MaintenanceStatistics,
        OrderStatistics, PaymentStatistics, ScanStatistics, Statistics, WebhookOutcome, WebhookStatistics,
    };
    pub use crate::model::sale::mail::MailKind;
}

/// Compiles the Rust examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
