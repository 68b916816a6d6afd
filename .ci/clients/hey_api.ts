// A sale and everything around it, with the client that @hey-api/openapi-ts generates.

import * as shop from "./generated/hey_api";
import { createClient, createConfig } from "./generated/hey_api/client";
import { client } from "./generated/hey_api/client.gen";
import { address, done, isNow, key } from "./steps";

client.setConfig({ baseUrl: address, auth: key });

/** The data of a response that succeeded. */
function data<T>(result: { data: T | undefined; error: unknown }): T {
  if (result.data === undefined) {
    throw new Error(JSON.stringify(result.error));
  }
  return result.data;
}

async function main(): Promise<void> {
  const newEvent: shop.CreateEvent = {
    title: "Summer Night", slug: "hey-api", startDate: "2100-06-01T18:00:00Z", deliveryMethod: "DIGITAL",
    status: "PUBLISHED",
  };
  const event = data(await shop.createEvent({ body: newEvent }));
  const startsRight = event.startDate === "2100-06-01T18:00:00.000Z";
  done("create an event with a date", startsRight && event.status === "PUBLISHED");

  const path = { eventId: event.id };
  const seat = data(await shop.createTicketType({ path, body: { name: "Seat", price: 12.5, quantity: 100 } }));
  const lounge = data(await shop.createTicketType({ path, body: { name: "Lounge", price: 50, quantity: 10 } }));
  done("create ticket types", seat.price === 12.5 && lounge.maxPerOrder === 10);

  const newDiscount: shop.CreateDiscount = {
    eventId: event.id, code: "EARLY", type: "PERCENTAGE", value: 10, validFrom: new Date(0).toISOString(),
    validTo: "2099-01-01T00:00:00Z",
  };
  const discount = data(await shop.createDiscount({ body: newDiscount }));
  done("create a discount", discount.value === 10 && discount.isActive);

  const newOrder: shop.CreateOrder = {
    eventId: event.id, customer: { name: "Ada", email: "ada@example.com" }, discountCode: "EARLY",
    items: [{ ticketId: seat.id, quantity: 3 }, { ticketId: lounge.id, quantity: 1 }],
  };
  const headers = { "Idempotency-Key": "hey-api" };
  const first = await shop.createOrder({ body: newOrder, headers });
  const created = data(first);
  // 3 x 12.50 + 50.00, less 10 percent.
  done("order with a discount and an idempotency key", created.order.total === 78.75);

  const again = await shop.createOrder({ body: newOrder, headers });
  const replayed = [first, again].map((result) => result.response?.headers.get("Idempotent-Replayed"));
  const isSame = data(again).order.id === created.order.id;
  done("replay the order", replayed[0] === null && replayed[1] === "true" && isSame);

  const token = created.checkoutUrl?.split("/").pop() ?? "";
  // fetch follows the redirect to the page.
  const page = await shop.finishCheckout({ path: { token }, body: { outcome: "success" } });
  const order = data(await shop.getOrder({ path: { orderId: created.order.id } }));
  done("pay on the checkout page", page.response?.status === 200 && order.status === "COMPLETED");

  const tickets: shop.IssuedTicket[] = [];
  let cursor: string | undefined;
  do {
    const page = data(await shop.listTickets({ query: { eventId: event.id, limit: 1, cursor } }));
    tickets.push(...page.data);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  const ids = new Set(tickets.map((ticket) => ticket.id));
  done("list all tickets, page by page", tickets.length === 4 && ids.size === 4);

  const scan: shop.CheckInTicket = { code: tickets[0]!.code, eventId: event.id };
  const checkedIn = data(await shop.checkInTicket({ body: scan }));
  done("check a ticket in", checkedIn.status === "CHECKED_IN" && isNow(new Date(checkedIn.checkInDate ?? 0)));

  const refused = await shop.checkInTicket({ body: scan });
  const reason = refused.error?.reason;
  const isConflict = refused.response?.status === 409 && reason === "already-checked-in";
  done("refuse the second check-in with 409 and its reason", isConflict);

  const invalid = await shop.createEvent({ body: { ...newEvent, timezone: "Nowhere" } });
  const paths = invalid.error?.errors?.map((error) => error.path);
  const isInvalid = invalid.error?.type === "urn:ticketing:problem:validation-failed";
  done("refuse invalid fields with 422 and their paths", isInvalid && paths?.join() === "timezone");

  const tag = (await shop.getEvent({ path })).response?.headers.get("ETag") ?? undefined;
  const change = { path, body: { title: "Summer Nights" }, headers: { "If-Match": tag } };
  const updated = data(await shop.updateEvent(change));
  const outdated = await shop.updateEvent(change);
  const isOutdated = outdated.error?.status === 412 && updated.title === "Summer Nights";
  done("update with If-Match, refuse an old revision with 412", isOutdated);

  const cancelled = data(await shop.cancelOrder({ path: { orderId: created.order.id } }));
  done("cancel the order", cancelled.success && !cancelled.requiresManualRefund);

  const webhook = data(await shop.createWebhook({ body: { url: "https://example.com/hook", events: ["ticket.issued"] } }));
  const webhookId = webhook.id;
  const isListed = data(await shop.listWebhooks()).data.some((listed) => listed.id === webhookId);
  const rotated = data(await shop.rotateWebhookSecret({ path: { webhookId } }));
  const isRotated = rotated.secret.startsWith("whsec_") && rotated.secret !== webhook.secret;
  const deleted = await shop.deleteWebhook({ path: { webhookId } });
  done("create, list, rotate and delete a webhook", isListed && isRotated && deleted.response?.status === 204);

  const stranger = createClient(createConfig({ baseUrl: address, auth: "tk_x" }));
  const unknown = await shop.listEvents({ client: stranger });
  done("refuse an unknown API key with 401", unknown.error?.status === 401);

  const metrics = data(await shop.getMetrics({ headers: { Accept: "text/plain" } }));
  done("read the metrics", metrics.includes("ticketing_orders_placed_total"));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
