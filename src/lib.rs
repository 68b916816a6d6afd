//! An embeddable event-ticketing engine over one SQLite file.

#![warn(missing_docs, clippy::pedantic)]
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

pub use environment::{Clock, Entropy, ManualClock, SeededEntropy, SystemClock, SystemEntropy};
pub use error::{Conflict, Error, FieldError, FieldErrors, Reason, Result, StoreError};
pub use model::amount::{Amount, ParseAmountError};
pub use model::change::Change;
pub use model::customer::{Customer, NewCustomer};
pub use model::event::{
    CreateEvent, DeliveryMethod, Event, EventSettings, EventStatus, ListEvents, TicketPdfDesignVersion, UpdateEvent,
};
pub use model::id::{
    ApiKeyId, CustomerId, EventId, Id, Kind, OrderId, OrderItemId, OrganizationId, ParseIdError, TicketId,
    TicketTypeId, kind,
};
pub use model::json::SyntaxError;
pub use model::order::{
    CancelOrderResponse, CheckoutRedirectUrls, CreateOrder, CreateOrderResponse, ListOrders, NewOrderItem, Order,
    OrderDetails, OrderItem, OrderItemSummary, OrderOf, OrderStatus, OrderSummary, OrderTicket, Payment, PaymentStatus,
    ShippingAddress,
};
pub use model::organization::{ApiKey, Caller, CreateApiKey, CreateOrganization, CreatedApiKey, Organization};
pub use model::page::{Page, PageRequest};
pub use model::refund::{ListRefunds, Refund, RefundStatus};
pub use model::request::{Nothing, Request};
pub use model::scope::{Scope, Scopes};
pub use model::secret::Secret;
pub use model::text_enum::TextEnum;
pub use model::ticket::{
    CancelledIssuedTicket, CheckInTicket, IssueTickets, IssueTicketsResponse, IssuedTicket, ListTickets, NewTicket,
    TicketStatus, TicketTypeOfTicket,
};
pub use model::ticket_type::{CreateTicketType, ListTicketTypes, TicketType, TicketTypeStatus, UpdateTicketType};
pub use model::timestamp::{ParseTimestampError, Timestamp};
pub use payment::{Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest, SandboxGateway};
pub use service::{
    Builder, CheckoutOutcome, CheckoutResult, HostedCheckout, MaintenanceReport, MaintenanceWorker, TicketingService,
};
