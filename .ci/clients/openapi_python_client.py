"""A sale and everything around it, with the client that openapi-python-client generates."""

import datetime

from shop.api.checkout import finish_checkout
from shop.api.discounts import create_discount
from shop.api.events import create_event, get_event, list_events, update_event
from shop.api.orders import cancel_order, create_order, get_order
from shop.api.server import get_metrics
from shop.api.ticket_types import create_ticket_type
from shop.api.tickets import check_in_ticket, list_tickets
from shop.api.webhooks import create_webhook, delete_webhook, list_webhooks, rotate_webhook_secret
from shop.client import AuthenticatedClient
from shop.models import (
    CancelOrderResponse, CheckInTicket, CreateDiscount, CreatedWebhookEndpoint, CreateEvent, CreateOrder,
    CreateOrderResponse, CreateTicketType, CreateWebhook, DeliveryMethod, Discount, DiscountType, Event, EventStatus,
    EventType, FinishCheckoutBody, FinishCheckoutBodyOutcome, IssuedTicketPage, NewCustomer, NewOrderItem, Order,
    OrderStatus, ProblemDetails, ProblemDetailsReason, ProblemDetailsType, RotatedWebhookSecret, TicketStatus,
    TicketType, UpdateEvent, WebhookEndpointPage,
)
from steps import address, done, key

client = AuthenticatedClient(
    base_url=address, token=key, prefix="", auth_header_name="X-Api-Key", raise_on_unexpected_status=True
)

new_event = CreateEvent(
    title="Summer Night", slug="openapi-python-client", start_date="2100-06-01T18:00:00Z",
    delivery_method=DeliveryMethod.DIGITAL, status=EventStatus.PUBLISHED,
)
event = create_event.sync(client=client, body=new_event)
assert isinstance(event, Event)
start = datetime.datetime(2100, 6, 1, 18, tzinfo=datetime.UTC)
done("create an event with a date", event.start_date == start and event.status is EventStatus.PUBLISHED)

seat = create_ticket_type.sync(event.id, client=client, body=CreateTicketType(name="Seat", price=12.5, quantity=100))
lounge = create_ticket_type.sync(event.id, client=client, body=CreateTicketType(name="Lounge", price=50, quantity=10))
assert isinstance(seat, TicketType) and isinstance(lounge, TicketType)
done("create ticket types", seat.price == 12.5 and lounge.max_per_order == 10)

new_discount = CreateDiscount(
    event_id=event.id, code="EARLY", type_=DiscountType.PERCENTAGE, value=10, valid_from="2020-01-01T00:00:00Z",
    valid_to="2099-01-01T00:00:00Z",
)
discount = create_discount.sync(client=client, body=new_discount)
assert isinstance(discount, Discount)
done("create a discount", discount.value == 10 and discount.is_active)

new_order = CreateOrder(
    event_id=event.id, customer=NewCustomer(name="Ada", email="ada@example.com"), discount_code="EARLY",
    items=[NewOrderItem(ticket_id=seat.id, quantity=3), NewOrderItem(ticket_id=lounge.id, quantity=1)],
)
first = create_order.sync_detailed(client=client, body=new_order, idempotency_key="openapi-python-client")
created = first.parsed
assert isinstance(created, CreateOrderResponse) and created.checkout_url
# 3 x 12.50 + 50.00, less 10 percent.
done("order with a discount and an idempotency key", created.order.total == 78.75)

again = create_order.sync_detailed(client=client, body=new_order, idempotency_key="openapi-python-client")
assert isinstance(again.parsed, CreateOrderResponse)
is_replayed = again.headers["Idempotent-Replayed"] == "true" and "Idempotent-Replayed" not in first.headers
done("replay the order", is_replayed and again.parsed.order.id == created.order.id)

token = created.checkout_url.rsplit("/", 1)[1]
form = FinishCheckoutBody(outcome=FinishCheckoutBodyOutcome.SUCCESS)
paid = finish_checkout.sync_detailed(token, client=client, body=form)
order = get_order.sync(created.order.id, client=client)
assert isinstance(order, Order)
done("pay on the checkout page", paid.status_code == 303 and order.status is OrderStatus.COMPLETED)

tickets = []
page = list_tickets.sync(client=client, event_id=event.id, limit=1)
assert isinstance(page, IssuedTicketPage)
tickets += page.data
while page.next_cursor is not None:
    page = list_tickets.sync(client=client, event_id=event.id, limit=1, cursor=page.next_cursor)
    assert isinstance(page, IssuedTicketPage)
    tickets += page.data
done("list all tickets, page by page", len({ticket.id for ticket in tickets}) == len(tickets) == 4)

scan = CheckInTicket(code=tickets[0].code, event_id=event.id)
checked_in = check_in_ticket.sync(client=client, body=scan)
assert not isinstance(checked_in, ProblemDetails) and checked_in is not None
is_now = abs(datetime.datetime.now(datetime.UTC) - checked_in.check_in_date) < datetime.timedelta(hours=1)
done("check a ticket in", checked_in.status is TicketStatus.CHECKED_IN and is_now)

refused = check_in_ticket.sync_detailed(client=client, body=scan)
assert refused.status_code == 409 and isinstance(refused.parsed, ProblemDetails)
reason = refused.parsed.reason
done("refuse the second check-in with 409 and its reason", reason is ProblemDetailsReason.ALREADY_CHECKED_IN)

new_event.timezone = "Nowhere"
invalid = create_event.sync(client=client, body=new_event)
assert isinstance(invalid, ProblemDetails) and invalid.errors
is_typed = invalid.status == 422 and invalid.type_ is ProblemDetailsType.URNTICKETINGPROBLEMVALIDATION_FAILED
done("refuse invalid fields with 422 and their paths", is_typed and [e.path for e in invalid.errors] == ["timezone"])

etag = get_event.sync_detailed(event.id, client=client).headers["ETag"]
change = UpdateEvent(title="Summer Nights")
updated = update_event.sync(event.id, client=client, body=change, if_match=etag)
assert isinstance(updated, Event)
outdated = update_event.sync_detailed(event.id, client=client, body=change, if_match=etag)
assert isinstance(outdated.parsed, ProblemDetails)
is_refused = outdated.status_code == 412 and updated.title == "Summer Nights"
done("update with If-Match, refuse an old revision with 412", is_refused)

cancelled = cancel_order.sync(created.order.id, client=client)
assert isinstance(cancelled, CancelOrderResponse)
done("cancel the order", cancelled.success and not cancelled.requires_manual_refund)

new_webhook = CreateWebhook(url="https://example.com/hook", events=[EventType.TICKET_ISSUED])
webhook = create_webhook.sync(client=client, body=new_webhook)
assert isinstance(webhook, CreatedWebhookEndpoint)
webhooks = list_webhooks.sync(client=client)
assert isinstance(webhooks, WebhookEndpointPage)
rotated = rotate_webhook_secret.sync(webhook.id, client=client)
assert isinstance(rotated, RotatedWebhookSecret)
deleted = delete_webhook.sync_detailed(webhook.id, client=client)
is_listed = webhook.id in [listed.id for listed in webhooks.data]
is_rotated = rotated.secret.startswith("whsec_") and rotated.secret != webhook.secret
done("create, list, rotate and delete a webhook", is_listed and is_rotated and deleted.status_code == 204)

stranger = AuthenticatedClient(base_url=address, token="tk_x", prefix="", auth_header_name="X-Api-Key")
unknown = list_events.sync(client=stranger)
done("refuse an unknown API key with 401", isinstance(unknown, ProblemDetails) and unknown.status == 401)

metrics = get_metrics.sync(client=client)
done("read the metrics", isinstance(metrics, str) and "ticketing_orders_placed_total" in metrics)
