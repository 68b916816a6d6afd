// A sale and everything around it, with the client that openapi-generator generates for typescript-fetch.

import * as shop from "./generated/openapi_generator_fetch";
import { address, done, isNow, key } from "./steps";

const configuration = new shop.Configuration({ basePath: address, apiKey: key });
const events = new shop.EventsApi(configuration);
const ticketTypes = new shop.TicketTypesApi(configuration);
const orders = new shop.OrdersApi(configuration);
const ticketsApi = new shop.TicketsApi(configuration);
const webhooks = new shop.WebhooksApi(configuration);

/** The problem that a request is refused with. */
async function problem(request: Promise<unknown>): Promise<shop.ProblemDetails> {
  try {
    await request;
  } catch (error) {
    if (error instanceof shop.ResponseError) {
      return shop.ProblemDetailsFromJSON(await error.response.json());
    }
    throw error;
  }
  throw new Error("the request was not refused");
}

async function main(): Promise<void> {
  const newEvent: shop.CreateEvent = {
    title: "Summer Night", slug: "openapi-generator-fetch", startDate: "2100-06-01T18:00:00Z",
    deliveryMethod: shop.DeliveryMethod.Digital, status: shop.EventStatus.Published,
  };
  const event = await events.createEvent({ createEvent: newEvent });
  const startsRight = event.startDate.getTime() === Date.UTC(2100, 5, 1, 18);
  done("create an event with a date", startsRight && event.status === shop.EventStatus.Published);

  const newSeat = { name: "Seat", price: 12.5, quantity: 100 };
  const newLounge = { name: "Lounge", price: 50, quantity: 10 };
  const seat = await ticketTypes.createTicketType({ eventId: event.id, createTicketType: newSeat });
  const lounge = await ticketTypes.createTicketType({ eventId: event.id, createTicketType: newLounge });
  done("create ticket types", seat.price === 12.5 && lounge.maxPerOrder === 10);

  const newDiscount: shop.CreateDiscount = {
    eventId: event.id, code: "EARLY", type: shop.DiscountType.Percentage, value: 10,
    validFrom: new Date(0).toISOString(), validTo: "2099-01-01T00:00:00Z",
  };
  const discount = await new shop.DiscountsApi(configuration).createDiscount({ createDiscount: newDiscount });
  done("create a discount", discount.value === 10 && discount.isActive);

  const newOrder: shop.CreateOrder = {
    eventId: event.id, customer: { name: "Ada", email: "ada@example.com" }, discountCode: "EARLY",
    items: [{ ticketId: seat.id, quantity: 3 }, { ticketId: lounge.id, quantity: 1 }],
  };
  const onlyOnce = { createOrder: newOrder, idempotencyKey: "openapi-generator-fetch" };
  const first = await orders.createOrderRaw(onlyOnce);
  const created = await first.value();
  // 3 x 12.50 + 50.00, less 10 percent.
  done("order with a discount and an idempotency key", created.order.total === 78.75);

  const again = await orders.createOrderRaw(onlyOnce);
  const replayed = [first, again].map((result) => result.raw.headers.get("Idempotent-Replayed"));
  const isSame = (await again.value()).order.id === created.order.id;
  done("replay the order", replayed[0] === null && replayed[1] === "true" && isSame);

  const token = created.checkoutUrl?.split("/").pop() ?? "";
  // fetch follows the redirect to the page.
  const page = await new shop.CheckoutApi(configuration).finishCheckoutRaw({ token, outcome: "success" });
  const order = await orders.getOrder({ orderId: created.order.id });
  done("pay on the checkout page", page.raw.status === 200 && order.status === shop.OrderStatus.Completed);

  const tickets: shop.IssuedTicket[] = [];
  let cursor: string | undefined;
  do {
    const page = await ticketsApi.listTickets({ eventId: event.id, limit: 1, cursor });
    tickets.push(...page.data);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  const ids = new Set(tickets.map((ticket) => ticket.id));
  done("list all tickets, page by page", tickets.length === 4 && ids.size === 4);

  const scan: shop.CheckInTicket = { code: tickets[0]!.code, eventId: event.id };
  const checkedIn = await ticketsApi.checkInTicket({ checkInTicket: scan });
  const isCheckedIn = checkedIn.status === shop.TicketStatus.CheckedIn && isNow(checkedIn.checkInDate ?? new Date(0));
  done("check a ticket in", isCheckedIn);

  const refused = await problem(ticketsApi.checkInTicket({ checkInTicket: scan }));
  const isConflict = refused.status === 409 && refused.reason === shop.ProblemDetailsReasonEnum.AlreadyCheckedIn;
  done("refuse the second check-in with 409 and its reason", isConflict);

  const invalid = await problem(events.createEvent({ createEvent: { ...newEvent, timezone: "Nowhere" } }));
  const isInvalid = invalid.status === 422 && invalid.type === "urn:ticketing:problem:validation-failed";
  const paths = invalid.errors?.map((error) => error.path);
  done("refuse invalid fields with 422 and their paths", isInvalid && paths?.join() === "timezone");

  const tag = (await events.getEventRaw({ eventId: event.id })).raw.headers.get("ETag") ?? undefined;
  const change = { eventId: event.id, updateEvent: { title: "Summer Nights" }, ifMatch: tag };
  const updated = await events.updateEvent(change);
  const outdated = await problem(events.updateEvent(change));
  const isOutdated = outdated.status === 412 && updated.title === "Summer Nights";
  done("update with If-Match, refuse an old revision with 412", isOutdated);

  const cancelled = await orders.cancelOrder({ orderId: created.order.id });
  done("cancel the order", cancelled.success && !cancelled.requiresManualRefund);

  const newWebhook = { url: "https://example.com/hook", events: [shop.EventType.TicketIssued] };
  const webhook = await webhooks.createWebhook({ createWebhook: newWebhook });
  const isListed = (await webhooks.listWebhooks()).data.some((listed) => listed.id === webhook.id);
  const rotated = await webhooks.rotateWebhookSecret({ webhookId: webhook.id });
  const isRotated = rotated.secret.startsWith("whsec_") && rotated.secret !== webhook.secret;
  const deleted = await webhooks.deleteWebhookRaw({ webhookId: webhook.id });
  done("create, list, rotate and delete a webhook", isListed && isRotated && deleted.raw.status === 204);

  const stranger = new shop.Configuration({ basePath: address, apiKey: "tk_x" });
  const unknown = await problem(new shop.EventsApi(stranger).listEvents());
  done("refuse an unknown API key with 401", unknown.status === 401);

  const metrics = await new shop.ServerApi(configuration).getMetrics();
  done("read the metrics", metrics.includes("ticketing_orders_placed_total"));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
