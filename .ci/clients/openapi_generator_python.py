"""A sale and everything around it, with the client that openapi-generator generates for Python."""

import datetime

import shop
from shop.exceptions import ApiException, ConflictException, UnauthorizedException, UnprocessableEntityException
from steps import address, done, key

configuration = shop.Configuration(host=address, api_key={"ApiKey": key})
client = shop.ApiClient(configuration)
events = shop.EventsApi(client)
ticket_types = shop.TicketTypesApi(client)
orders = shop.OrdersApi(client)
tickets_api = shop.TicketsApi(client)
webhooks = shop.WebhooksApi(client)


def problem(error: ApiException) -> shop.ProblemDetails:
    assert isinstance(error.data, shop.ProblemDetails), error
    return error.data


new_event = shop.CreateEvent(
    title="Summer Night", slug="openapi-generator-python", start_date="2100-06-01T18:00:00Z",
    delivery_method=shop.DeliveryMethod.DIGITAL, status=shop.EventStatus.PUBLISHED,
)
event = events.create_event(new_event)
start = datetime.datetime(2100, 6, 1, 18, tzinfo=datetime.UTC)
done("create an event with a date", event.start_date == start and event.status is shop.EventStatus.PUBLISHED)

seat = ticket_types.create_ticket_type(event.id, shop.CreateTicketType(name="Seat", price=12.5, quantity=100))
lounge = ticket_types.create_ticket_type(event.id, shop.CreateTicketType(name="Lounge", price=50, quantity=10))
done("create ticket types", seat.price == 12.5 and lounge.max_per_order == 10)

new_discount = shop.CreateDiscount(
    event_id=event.id, code="EARLY", type=shop.DiscountType.PERCENTAGE, value=10, valid_from="2020-01-01T00:00:00Z",
    valid_to="2099-01-01T00:00:00Z",
)
discount = shop.DiscountsApi(client).create_discount(new_discount)
done("create a discount", discount.value == 10 and discount.is_active)

new_order = shop.CreateOrder(
    event_id=event.id, customer=shop.NewCustomer(name="Ada", email="ada@example.com"), discount_code="EARLY",
    items=[shop.NewOrderItem(ticket_id=seat.id, quantity=3), shop.NewOrderItem(ticket_id=lounge.id, quantity=1)],
)
first = orders.create_order_with_http_info(new_order, idempotency_key="openapi-generator-python")
created = first.data
# 3 x 12.50 + 50.00, less 10 percent.
done("order with a discount and an idempotency key", created.order.total == 78.75)

again = orders.create_order_with_http_info(new_order, idempotency_key="openapi-generator-python")
is_replayed = again.headers["idempotent-replayed"] == "true" and "idempotent-replayed" not in first.headers
done("replay the order", is_replayed and again.data.order.id == created.order.id)

token = created.checkout_url.rsplit("/", 1)[1]
# The client follows the redirect to the page.
shop.CheckoutApi(client).finish_checkout(token, outcome="success")
order = orders.get_order(created.order.id)
done("pay on the checkout page", order.status is shop.OrderStatus.COMPLETED)

tickets = []
cursor = None
while True:
    page = tickets_api.list_tickets(event_id=event.id, limit=1, cursor=cursor)
    tickets += page.data
    cursor = page.next_cursor
    if cursor is None:
        break
done("list all tickets, page by page", len({ticket.id for ticket in tickets}) == len(tickets) == 4)

scan = shop.CheckInTicket(code=tickets[0].code, event_id=event.id)
checked_in = tickets_api.check_in_ticket(scan)
is_now = abs(datetime.datetime.now(datetime.UTC) - checked_in.check_in_date) < datetime.timedelta(hours=1)
done("check a ticket in", checked_in.status is shop.TicketStatus.CHECKED_IN and is_now)

try:
    tickets_api.check_in_ticket(scan)
    reason = None
except ConflictException as error:
    reason = problem(error).reason
done("refuse the second check-in with 409 and its reason", reason == "already-checked-in")

new_event.timezone = "Nowhere"
try:
    events.create_event(new_event)
    paths = None
except UnprocessableEntityException as error:
    assert problem(error).type == "urn:ticketing:problem:validation-failed"
    paths = [field.path for field in problem(error).errors]
done("refuse invalid fields with 422 and their paths", paths == ["timezone"])

etag = events.get_event_with_http_info(event.id).headers["etag"]
change = shop.UpdateEvent(title="Summer Nights")
updated = events.update_event(event.id, change, if_match=etag)
try:
    events.update_event(event.id, change, if_match=etag)
    status = None
except ApiException as error:
    status = problem(error).status
done("update with If-Match, refuse an old revision with 412", updated.title == "Summer Nights" and status == 412)

cancelled = orders.cancel_order(created.order.id)
done("cancel the order", cancelled.success and not cancelled.requires_manual_refund)

new_webhook = shop.CreateWebhook(url="https://example.com/hook", events=[shop.EventType.TICKET_DOT_ISSUED])
webhook = webhooks.create_webhook(new_webhook)
is_listed = webhook.id in [listed.id for listed in webhooks.list_webhooks().data]
rotated = webhooks.rotate_webhook_secret(webhook.id)
deleted = webhooks.delete_webhook_with_http_info(webhook.id)
is_rotated = rotated.secret.startswith("whsec_") and rotated.secret != webhook.secret
done("create, list, rotate and delete a webhook", is_listed and is_rotated and deleted.status_code == 204)

stranger = shop.ApiClient(shop.Configuration(host=address, api_key={"ApiKey": "tk_x"}))
try:
    shop.EventsApi(stranger).list_events()
    status = None
except UnauthorizedException as error:
    status = problem(error).status
done("refuse an unknown API key with 401", status == 401)

# The client (openapi-generator 7.26.0) reads no OpenMetrics, and asks for JSON unless told otherwise.
metrics = shop.ServerApi(client).get_metrics(_headers={"Accept": "text/plain"})
done("read the metrics", isinstance(metrics, str) and "ticketing_orders_placed_total" in metrics)
