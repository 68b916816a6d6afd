//! What a line of the [table of operations](super::operations) says, and the resources on which its example works.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ticketing::allocation::CreateAllocation;
use ticketing::error::ResourceKind;
use ticketing::event::{CancelEventOrders, EventStatus};
use ticketing::id::{
    AllocationId, ApiKeyId, DiscountId, EventId, LedgerEntryId, OrderId, PaymentId, RefundId, TicketId, TicketTypeId,
    WebhookDeliveryId, WebhookId,
};
use ticketing::organization::Scope;
use ticketing::payment::{CheckoutState, ListLedgerEntries, ListRefunds, ManualMethod};
use ticketing::request::{ConditionalCaller, KeyedCaller, Replayable};
use ticketing::ticket::{CheckInTicket, ListTickets};
use ticketing::ticket_type::TicketType;
use ticketing::webhook::EventType;
use ticketing::{Builder, Caller, Result, TicketingService};

use crate::common::*;

/// An operation with an example. Results are JSON.
pub(crate) struct Operation {
    /// The name of the method, and the `operationId` of the route.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) scope: Scope,
    /// A second scope that it needs.
    pub(crate) further_scope: Option<Scope>,
    /// The status of a success over HTTP, or 0 if the operation has no route.
    pub(crate) status: u16,
    pub(crate) foreign: Foreign,
    /// The notifications that the example makes.
    pub(crate) notifications: &'static [EventType],
    /// The ids in the path, in their order.
    pub(crate) path: fn(&Ids) -> Vec<String>,
    pub(crate) request: fn(&Ids) -> Option<Request>,
    pub(crate) call: fn(&TicketingService, &Caller, &Ids) -> Result<Value>,
}

/// How an operation is called.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// It changes nothing. Its request is a query over HTTP.
    Read,
    /// It changes something, and takes neither an idempotency key nor a revision.
    Write,
    /// It takes an idempotency key.
    Idempotent(KeyedCall),
    /// It takes a revision.
    Conditional(fn(&TicketingService, &ConditionalCaller, &Ids) -> Result<Value>),
}

pub(crate) type KeyedCall = fn(&TicketingService, &KeyedCaller, &Ids) -> Result<Replayable<Value>>;

/// The answer to the ids of another organization.
#[derive(Clone, Copy)]
pub(crate) enum Foreign {
    /// There is no such resource of this kind.
    Unknown(ResourceKind),
    /// The field is invalid.
    Field(&'static str),
    /// The example has no ids.
    Nothing,
}

/// The request of an example.
pub(crate) struct Request {
    pub(crate) json: Value,
    /// Reads a request of this type from JSON, and writes it again.
    pub(crate) rewrite: fn(Value) -> Value,
}

/// Defines `OPERATIONS`. The columns of a line are the kind, the scope, the status, the answer to foreign ids, and the
/// method with the ids in its path and its request, for the [`Ids`] of this name. Its notifications follow an arrow.
macro_rules! operations {
    ($x:ident => $(
        $kind:ident, $scope:ident $(+ $further:ident)?, $status:expr, $foreign:expr,
        $name:ident($($id:ident),* $(; $request:ident $body:tt)?) $(=> $($notification:ident),+)?;
    )*) => {
        pub(crate) const OPERATIONS: &[Operation] = &[$(Operation {
            name: stringify!($name),
            kind: operations!(@ $kind $x $name ($($x.$id,)* $(request::<$request>(json!($body)),)?)),
            scope: Scope::$scope,
            further_scope: [$(Scope::$further)?].first().copied(),
            status: $status,
            foreign: $foreign,
            notifications: &[$($(EventType::$notification),+)?],
            path: |$x| {
                let _ = $x;
                vec![$($x.$id.to_string()),*]
            },
            request: |$x| {
                let _ = $x;
                let requests = [$(Request { json: json!($body), rewrite: rewritten::<$request> })?];
                requests.into_iter().next()
            },
            call: |service, caller, $x| {
                let _ = $x;
                service.$name(caller, $($x.$id,)* $(request::<$request>(json!($body)))?).map(to_json)
            },
        }),*];
    };
    (@ Read $($rest:tt)*) => {
        Kind::Read
    };
    (@ Write $($rest:tt)*) => {
        Kind::Write
    };
    (@ Idempotent $x:ident $name:ident($($argument:expr,)*)) => {
        Kind::Idempotent(|service, caller, $x| {
            let _ = $x;
            service.$name(caller, $($argument),*).map(|result| result.map(to_json))
        })
    };
    (@ Conditional $x:ident $name:ident($($argument:expr,)*)) => {
        Kind::Conditional(|service, caller, $x| service.$name(caller, $($argument),*).map(to_json))
    };
}

pub(super) fn to_json(result: impl Serialize) -> Value {
    serde_json::to_value(result).expect("JSON")
}

pub(super) fn request<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("a request")
}

pub(super) fn rewritten<T: Serialize + DeserializeOwned>(json: Value) -> Value {
    to_json(request::<T>(json))
}

/// The resources of an organization that examples name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ids {
    /// Different numbers and words make different requests.
    pub(crate) number: u64,
    pub(crate) word: &'static str,
    pub(crate) event: EventId,
    pub(crate) slug: &'static str,
    pub(crate) ticket_type: TicketTypeId,
    /// An event with a ticket type, and without orders.
    pub(crate) unused_event: EventId,
    pub(crate) unused_type: TicketTypeId,
    /// A cancelled event with an order that was paid.
    pub(crate) cancelled_event: EventId,
    /// A cancelled event whose orders are being cancelled.
    pub(crate) refunded_event: EventId,
    pub(crate) discount: DiscountId,
    /// An order that waits for its payment.
    pub(crate) pending: OrderId,
    /// An order that was paid by the gateway, and its ticket.
    pub(crate) paid: OrderId,
    pub(crate) sold: TicketId,
    /// An order that was paid in cash and is cancelled, and the refund that it still has to get.
    pub(crate) owed: OrderId,
    pub(crate) refund: RefundId,
    pub(crate) payment: PaymentId,
    pub(crate) entry: LedgerEntryId,
    /// An allocation, and one of its tickets.
    pub(crate) allocation: AllocationId,
    pub(crate) set_aside: TicketId,
    /// A ticket that is not checked in.
    pub(crate) ticket: TicketId,
    pub(crate) code: &'static str,
    /// The code of a ticket that is checked in.
    pub(crate) code_inside: &'static str,
    pub(crate) door_link: ApiKeyId,
    pub(crate) webhook: WebhookId,
    /// A failed attempt at the webhook endpoint.
    pub(crate) delivery: WebhookDeliveryId,
}

impl Ids {
    /// Ids that nothing has.
    pub(crate) fn unknown() -> Self {
        Self {
            number: 1,
            word: "early",
            event: id("event_0000000000001"),
            slug: "nowhere",
            ticket_type: id("type_0000000000001"),
            unused_event: id("event_0000000000001"),
            unused_type: id("type_0000000000001"),
            cancelled_event: id("event_0000000000001"),
            refunded_event: id("event_0000000000001"),
            discount: id("discount_0000000000001"),
            pending: id("order_0000000000001"),
            paid: id("order_0000000000001"),
            sold: id("ticket_0000000000001"),
            owed: id("order_0000000000001"),
            refund: id("refund_0000000000001"),
            payment: id("payment_0000000000001"),
            entry: id("entry_0000000000001"),
            allocation: id("allocation_0000000000001"),
            set_aside: id("ticket_0000000000001"),
            ticket: id("ticket_0000000000001"),
            code: "00000000000000000000",
            code_inside: "00000000000000000000",
            door_link: id("key_0000000000001"),
            webhook: id("webhook_0000000000001"),
            delivery: id("delivery_0000000000001"),
        }
    }

    /// Creates resources for two different requests of each operation, with the ticket type of an event on sale.
    pub(crate) fn create(fixture: &Fixture, ticket_type: &TicketType) -> [Self; 2] {
        let (service, caller) = (&fixture.service, &fixture.caller);
        let event = service.get_event(caller, ticket_type.event_id).expect("the event");
        let allocations = [(); 2].map(|()| {
            let request = CreateAllocation::new("Sponsor", 1);
            service.create_allocation(caller, ticket_type.id, request).expect("an allocation").id
        });
        service.run_maintenance().expect("a run");
        let unused_events = [fixture.event(), fixture.event()];
        let unused_type = fixture.ticket_type(&unused_events[0], 0, 10).id;
        let discount = fixture.discount(percent_off(&event, "UNUSED", 10)).id;
        let webhook = fixture.webhook([EventType::TicketCheckedIn]).endpoint.id;
        let inside = [(); 2].map(|()| fixture.issue(ticket_type, 1).remove(0));
        for ticket in &inside {
            service.check_in_ticket(caller, CheckInTicket::new(&ticket.code)).expect("checked in");
        }
        fixture.fail_all_deliveries();
        let deliveries = fixture.deliveries(webhook);
        let [cancelled, refunded] = [(); 2].map(|()| [(); 2].map(|()| cancelled_event(fixture)));
        for event in refunded {
            service.cancel_event_orders(caller, event, CancelEventOrders::default()).expect("a run");
        }
        let create = |index: usize| {
            let paid = fixture.paid_order(ticket_type, 1);
            let owed = fixture.order(ticket_type, 1).id;
            service.mark_order_paid(caller, owed, ManualMethod::Cash).expect("paid");
            service.cancel_order(caller, owed).expect("cancelled");
            let refund =
                service.list_refunds(caller, ListRefunds::default().order(owed)).expect("a page").data.remove(0);
            let entries = service.list_ledger_entries(caller, ListLedgerEntries::default()).expect("a page").data;
            let ticket = fixture.issue(ticket_type, 1).remove(0);
            Self {
                number: [1, 2][index],
                word: ["early", "later"][index],
                event: event.id,
                slug: event.slug.clone().leak(),
                ticket_type: ticket_type.id,
                unused_event: unused_events[index].id,
                unused_type,
                cancelled_event: cancelled[index],
                refunded_event: refunded[index],
                discount,
                pending: fixture.order(ticket_type, 1).id,
                paid: paid.id,
                sold: paid.tickets().next().expect("a ticket").id,
                owed,
                refund: refund.id,
                payment: refund.payment_id,
                entry: entries[0].id,
                allocation: allocations[index],
                set_aside: service
                    .list_tickets(caller, ListTickets::new().allocation(allocations[index]))
                    .expect("a page")
                    .data[0]
                    .id,
                ticket: ticket.id,
                code: ticket.code.leak(),
                code_inside: inside[index].code.clone().leak(),
                door_link: fixture.gate(&event).key().expect("a key"),
                webhook,
                delivery: deliveries[index].id,
            }
        };
        [0, 1].map(create)
    }
}

/// An event that is cancelled, with an order that was paid.
fn cancelled_event(fixture: &Fixture) -> EventId {
    let event = fixture.event();
    fixture.paid_order(&fixture.ticket_type(&event, 1250, 10), 1);
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled").id
}

fn id<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect(text)
}

/// A service with resources for the examples, and an endpoint for all notifications.
pub(crate) struct Resources {
    pub(crate) fixture: Fixture,
    /// For a request, and for a different one.
    pub(crate) ids: [Ids; 2],
}

impl Resources {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(configure: impl FnOnce(Builder) -> Builder) -> Self {
        let fixture = Fixture::with_gateway(|builder| configure(builder.public_url("https://tickets.example.com")));
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
        let ids = Ids::create(&fixture, &ticket_type);
        // Checkouts can be renewed.
        fixture.gateway.set_state(Some(CheckoutState::Closed));
        fixture.webhook(EventType::ALL.iter().copied());
        Self { fixture, ids }
    }
}

impl Operation {
    /// Calls the operation with the first of the resources.
    pub(crate) fn run(&self, resources: &Resources, caller: &Caller) -> Result<Value> {
        (self.call)(&resources.fixture.service, caller, &resources.ids[0])
    }

    /// The scopes that it needs.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        [Some(self.scope), self.further_scope].into_iter().flatten().collect()
    }

    pub(crate) fn changes(&self) -> bool {
        !matches!(self.kind, Kind::Read)
    }

    pub(crate) fn keyed_call(&self) -> Option<KeyedCall> {
        match self.kind {
            Kind::Idempotent(call) => Some(call),
            _ => None,
        }
    }
}
