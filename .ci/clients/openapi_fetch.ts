// A sale and everything around it, with openapi-fetch and the types that openapi-typescript generates.

import createClient from "openapi-fetch";
import type { components, paths } from "./generated/openapi_fetch";
import { address, done, isNow, key } from "./steps";

type Schemas = components["schemas"];

const shop = createClient<paths>({ baseUrl: address, headers: { "X-Api-Key": key } });

/** The data of a response that succeeded. */
function data<T>(result: { data?: T; error?: unknown }): T {
  if (result.data === undefined) {
    throw new Error(JSON.stringify(result.error));
  }
  return result.data;
}

async function main(): Promise<void> {
  const newEvent: Schemas["CreateEvent"] = {
    title: "Summer Night", slug: "openapi-fetch", startDate: "2100-06-01T18:00:00Z", deliveryMethod: "DIGITAL",
    status: "PUBLISHED",
  };
  const event = data(await shop.POST("/v1/events", { body: newEvent }));
  const startsRight = event.startDate === "2100-06-01T18:00:00.000Z";
  done("create an event with a date", startsRight && event.status === "PUBLISHED");

  const params = { path: { eventId: event.id } };
  const newSeat = { name: "Seat", price: 12.5, quantity: 100 };
  const newLounge = { name: "Lounge", price: 50, quantity: 10 };
  const seat = data(await shop.POST("/v1/events/{eventId}/ticket-types", { params, body: newSeat }));
  const lounge = data(await shop.POST("/v1/events/{eventId}/ticket-types", { params, body: newLounge }));
  done("create ticket types", seat.price === 12.5 && lounge.maxPerOrder === 10);

  const newDiscount: Schemas["CreateDiscount"] = {
    eventId: event.id, code: "EARLY", type: "PERCENTAGE", value: 10, validFrom: new Date(0).toISOString(),
    validTo: "2099-01-01T00:00:00Z",
  };
  const discount = data(await shop.POST("/v1/discounts", { body: newDiscount }));
  done("create a discount", discount.value === 10 && discount.isActive);

  const newOrder: Schemas["CreateOrder"] = {
    eventId: event.id, customer: { name: "Ada", email: "ada@example.com" }, discountCode: "EARLY",
    items: [{ ticketId: seat.id, quantity: 3 }, { ticketId: lounge.id, quantity: 1 }],
  };
  const onlyOnce = { header: { "Idempotency-Key": "openapi-fetch" } };
  const first = await shop.POST("/v1/orders", { params: onlyOnce, body: newOrder });
  const created = data(first);
  // 3 x 12.50 + 50.00, less 10 percent.
  done("order with a discount and an idempotency key", created.order.total === 78.75);

  const again = await shop.POST("/v1/orders", { params: onlyOnce, body: newOrder });
  const replayed = [first, again].map((result) => result.response.headers.get("Idempotent-Replayed"));
  const isSame = data(again).order.id === created.order.id;
  done("replay the order", replayed[0] === null && replayed[1] === "true" && isSame);

  const token = created.checkoutUrl?.split("/").pop() ?? "";
  // fetch follows the redirect to the page.
  const page = await shop.POST("/checkout/{token}", {
    params: { path: { token } }, body: { outcome: "success" }, parseAs: "text",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
  });
  const order = data(await shop.GET("/v1/orders/{orderId}", { params: { path: { orderId: created.order.id } } }));
  done("pay on the checkout page", page.response.status === 200 && order.status === "COMPLETED");

  const tickets: Schemas["IssuedTicket"][] = [];
  let cursor: string | undefined;
  do {
    const page = data(await shop.GET("/v1/tickets", { params: { query: { eventId: event.id, limit: 1, cursor } } }));
    tickets.push(...page.data);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  const ids = new Set(tickets.map((ticket) => ticket.id));
  done("list all tickets, page by page", tickets.length === 4 && ids.size === 4);

  const scan: Schemas["CheckInTicket"] = { code: tickets[0]!.code, eventId: event.id };
  const checkedIn = data(await shop.POST("/v1/tickets/check-in", { body: scan }));
  done("check a ticket in", checkedIn.status === "CHECKED_IN" && isNow(new Date(checkedIn.checkInDate ?? 0)));

  const refused = await shop.POST("/v1/tickets/check-in", { body: scan });
  const isConflict = refused.response.status === 409 && refused.error?.reason === "already-checked-in";
  done("refuse the second check-in with 409 and its reason", isConflict);

  const invalid = await shop.POST("/v1/events", { body: { ...newEvent, timezone: "Nowhere" } });
  const fields = invalid.error?.errors?.map((error) => error.path);
  const isInvalid = invalid.error?.type === "urn:ticketing:problem:validation-failed";
  done("refuse invalid fields with 422 and their paths", isInvalid && fields?.join() === "timezone");

  const read = await shop.GET("/v1/events/{eventId}", { params });
  const tag = read.response.headers.get("ETag") ?? undefined;
  const change = { params: { ...params, header: { "If-Match": tag } }, body: { title: "Summer Nights" } };
  const updated = data(await shop.PATCH("/v1/events/{eventId}", change));
  const outdated = await shop.PATCH("/v1/events/{eventId}", change);
  const isOutdated = outdated.error?.status === 412 && updated.title === "Summer Nights";
  done("update with If-Match, refuse an old revision with 412", isOutdated);

  const orderId = created.order.id;
  const cancelled = data(await shop.POST("/v1/orders/{orderId}/cancel", { params: { path: { orderId } } }));
  done("cancel the order", cancelled.success && !cancelled.requiresManualRefund);

  const newWebhook: Schemas["CreateWebhook"] = { url: "https://example.com/hook", events: ["ticket.issued"] };
  const webhook = data(await shop.POST("/v1/webhooks", { body: newWebhook }));
  const ofWebhook = { params: { path: { webhookId: webhook.id } } };
  const isListed = data(await shop.GET("/v1/webhooks")).data.some((listed) => listed.id === webhook.id);
  const rotated = data(await shop.POST("/v1/webhooks/{webhookId}/rotate-secret", ofWebhook));
  const isRotated = rotated.secret.startsWith("whsec_") && rotated.secret !== webhook.secret;
  const deleted = await shop.DELETE("/v1/webhooks/{webhookId}", ofWebhook);
  done("create, list, rotate and delete a webhook", isListed && isRotated && deleted.response.status === 204);

  const stranger = createClient<paths>({ baseUrl: address, headers: { "X-Api-Key": "tk_x" } });
  const unknown = await stranger.GET("/v1/events");
  done("refuse an unknown API key with 401", unknown.error?.status === 401);

  const metrics = data(await shop.GET("/metrics", { parseAs: "text" }));
  done("read the metrics", metrics.includes("ticketing_orders_placed_total"));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
