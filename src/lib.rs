//! An embeddable event-ticketing engine over one SQLite file: events, orders, tickets with scannable codes, the door, and
//! signed webhooks.
//!
//! ```
//! use ticketing::{
//!     Amount, CheckInTicket, CreateEvent, CreateOrder, CreateOrganization, CreateTicketType, EventStatus, NewCustomer,
//!     OrderStatus, Reason, TicketStatus, TicketingService,
//! };
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("ticketing.db");
//! // One file holds everything. The sandbox gateway takes no money.
//! let service = TicketingService::builder(path).sandbox_gateway().open()?;
//! let organization = service.create_organization(CreateOrganization::default())?;
//! let caller = service.act_for(organization.id)?;
//!
//! // An event is put on sale, with a hundred seats at 12.50.
//! let mut event = CreateEvent::new("Summer Night", "summer-night", "2100-06-01T18:00:00Z".parse()?);
//! event.status = Some(EventStatus::Published);
//! let event = service.create_event(&caller, event)?;
//! let seat = CreateTicketType::new("Seat", Amount::new(1250, 2), 100);
//! let seat = service.create_ticket_type(&caller, event.id, seat)?;
//!
//! // Ada orders two. The order holds the places until she has paid under the link.
//! let ada = NewCustomer::new("Ada", "ada@example.com");
//! let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, seat.id, 2))?;
//! assert_eq!(placed.order.status, OrderStatus::Pending);
//! assert!(placed.checkout_url.is_some());
//!
//! // The gateway reports the payment: the tickets are issued.
//! let order = service.payment_completed(&caller, placed.order.id)?;
//! assert_eq!(order.status, OrderStatus::Completed);
//! let code = &order.items[0].issued_tickets[0].code;
//!
//! // At the door a ticket lets in once.
//! let ticket = service.check_in_ticket(&caller, CheckInTicket::new(code))?;
//! assert_eq!(ticket.status, TicketStatus::CheckedIn);
//! let copy = service.check_in_ticket(&caller, CheckInTicket::new(code)).unwrap_err();
//! assert_eq!(copy.reason(), Some(Reason::AlreadyCheckedIn));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it guarantees
//!
//! - **What is answered is on the disk.** A method returns when its transaction is synced. A crash takes nothing back,
//!   and leaves nothing half done.
//! - **Nothing is oversold.** For each ticket type, what is sold and what pending orders hold never exceed its quantity,
//!   also when threads and processes compete for the last place.
//! - **No discount is used too often.** A code never applies to more pending and completed orders than its limit allows,
//!   whoever competes for its last use.
//! - **What is asked for again is not done again.** Under one [idempotency key](Caller::with_idempotency_key) a thing is
//!   done once and answered as the first time, whatever crashed in between; a change that names a
//!   [revision](Caller::if_match) is made at that revision or not at all.
//! - **A ticket lets in once.** Of two scans at once exactly one is accepted.
//! - **No refund is lost or doubled.** A refund is written down in the transaction that decides it, and the gateway is
//!   asked, always with the same idempotency key, until it answers.
//! - **No notification is lost.** What a [webhook] reports is queued in the transaction of the change, and
//!   sent until its receiver takes it or eight attempts have failed. No receiver keeps another waiting.
//! - **An organization sees only what is its own.** Every operation takes a [`Caller`], looks at its scopes, and answers
//!   for the things of another organization as for things that do not exist.
//!
//! # How to embed it
//!
//! [`TicketingService`] has a method for every operation. Clones share one store, and any thread may call them. Methods
//! block: call them from a blocking thread where the program is asynchronous. [`TicketingService::builder`] sets what is
//! not the default:
//!
//! - a [`PaymentGateway`] of your own, which reports what comes of a payment with
//!   [`payment_completed`](TicketingService::payment_completed) and
//!   [`payment_failed`](TicketingService::payment_failed); without one, organizers mark orders as paid;
//! - a [`ManualClock`] and a [`SeededEntropy`], so that a test decides on the time and repeats itself.
//!
//! Keep what [`start_maintenance`](TicketingService::start_maintenance) gives for as long as the program runs: it asks for
//! refunds again and writes down what has run out. No sale and no admission depends on it. Webhooks are sent by the threads
//! that [`Builder::webhook_sender`] or [`start_webhook_sender`](TicketingService::start_webhook_sender) starts.
//!
//! [`statistics`](TicketingService::statistics) and [`backlog`](TicketingService::backlog) tell whoever watches over the
//! program how much it does and what waits.
//!
//! Several processes may open one file. It must lie on a local disk: SQLite's write-ahead log does not work over a
//! network.
//!
//! # Features
//!
//! | Feature | Default | What it adds |
//! |---|---|---|
//! | `bundled` | yes | compiles SQLite into the program; without it the system's is linked, 3.51.3 or newer |
//! | `server` | no | the same operations over HTTP, their OpenAPI document, the sandbox's checkout page, and metrics, with axum and tokio |

#![warn(missing_docs, unreachable_pub, clippy::pedantic)]
#![allow(clippy::single_match_else, clippy::match_bool, clippy::struct_excessive_bools)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod environment;
mod error;
mod model;
mod payment;
mod rules;
#[cfg(feature = "server")]
pub mod server;
mod service;
mod store;
pub mod webhook;

pub use environment::{Clock, Entropy, ManualClock, SeededEntropy, SystemClock, SystemEntropy};
pub use error::{Conflict, Error, FieldError, FieldErrors, Reason, Result, StoreError};
pub use model::amount::{Amount, ParseAmountError};
pub use model::backup::BackupProgress;
pub use model::caller::Caller;
pub use model::change::Change;
pub use model::check::{CheckReport, Finding};
pub use model::customer::{Customer, NewCustomer};
pub use model::discount::{
    BasketItem, CreateDiscount, Discount, DiscountErrorData, DiscountRefusal, DiscountType, DiscountValidationResponse,
    ListDiscounts, UpdateDiscount, ValidateDiscount, ValidatedDiscount,
};
pub use model::event::{
    CreateEvent, DeliveryMethod, Event, EventSettings, EventStatus, ListEvents, TicketPdfDesignVersion, UpdateEvent,
};
pub use model::id::{
    ApiKeyId, CustomerId, DiscountId, EventId, Id, Kind, NotificationId, OrderId, OrderItemId, OrganizationId,
    OutboxId, ParseIdError, TicketId, TicketTypeId, WebhookDeliveryId, WebhookId, kind,
};
pub use model::idempotency::{IdempotencyKey, ParseIdempotencyKeyError};
pub use model::json::SyntaxError;
pub use model::notification::{
    Notification, NotificationData, OrderCancelled, OrderCompleted, TicketCheckedIn, TicketIssued,
};
pub use model::order::{
    CancelOrderResponse, CheckoutRedirectUrls, CreateOrder, CreateOrderResponse, ListOrders, NewOrderItem, Order,
    OrderDetails, OrderItem, OrderItemSummary, OrderOf, OrderStatus, OrderSummary, OrderTicket, Payment, PaymentStatus,
    ShippingAddress,
};
pub use model::organization::{ApiKey, CreateApiKey, CreateOrganization, CreatedApiKey, Organization};
pub use model::page::{Page, PageRequest};
pub use model::refund::{ListRefunds, Refund, RefundStatus};
pub use model::request::{Nothing, Request};
pub use model::scope::{Scope, Scopes};
pub use model::secret::Secret;
pub use model::statistics::{
    Backlog, CommitStatistics, Distribution, OrderStatistics, ScanStatistics, Statistics, WebhookOutcome,
    WebhookStatistics,
};
pub use model::summary::{EventSummary, OrdersByStatus, TicketTypeSummary};
pub use model::text_enum::{TextEnum, UnknownText};
pub use model::ticket::{
    CancelledIssuedTicket, CheckInTicket, IssueTickets, IssueTicketsResponse, IssuedTicket, ListTickets, NewTicket,
    TicketStatus, TicketTypeOfTicket,
};
pub use model::ticket_type::{CreateTicketType, ListTicketTypes, TicketType, TicketTypeStatus, UpdateTicketType};
pub use model::timestamp::{ParseTimestampError, Timestamp};
pub use model::webhook::{
    CreateWebhook, CreatedWebhookEndpoint, DeliveryEventType, ListWebhookDeliveries, ListWebhooks, NotificationType,
    ResentWebhookDelivery, RotatedWebhookSecret, UpdateWebhook, WebhookDelivery, WebhookEndpoint,
};
pub use payment::{Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest, SandboxGateway};
pub use service::{
    Builder, CheckoutOutcome, CheckoutResult, HostedCheckout, MaintenanceReport, MaintenanceWorker, TicketingService,
};

/// The Rust code of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
