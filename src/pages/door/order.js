// The tickets of an order, for holders who have no code to show.

import * as view from "./view.js";

const { words, fill } = view;

/** The number of an order in what was typed and normalized as a code, or null. */
export function orderNumber(code) {
  return /^(?:0RDER_)?([0-9A-HJKMNP-TV-Z]{13})$/.exec(code)?.[1] ?? null;
}

/** Shows the tickets of an order to choose from. `scan` scans one, and `show` shows a verdict. */
export async function lookUp(number, { door, show, scan }) {
  let tickets;
  try {
    tickets = await door.order(number);
  } catch (error) {
    const isUnknown = error.status === 404;
    return show(isUnknown ? { result: "refused", reason: "no-such-order" } : { result: "check", reason: "no-look-up" }, null);
  }
  // The link may have ended in the meantime.
  if (view.find("#scanner").hidden) return;
  let isBusy = false;
  const buttons = tickets.map((ticket, index) => {
    const label = () => describe(ticket, door.statusOf(ticket), index + 1, tickets.length);
    return [label(), async ({ currentTarget: button }) => {
      if (isBusy) return;
      isBusy = true;
      await scan(ticket);
      isBusy = false;
      button.textContent = label();
    }];
  });
  const title = fill(words.order, { number });
  view.showMessage({ title, text: words.chooseTicket }, [...buttons, [words.back, view.showScanner]], true);
}

/** A ticket of an order: "Parterre · 2 of 3 · Already checked in". */
function describe({ ticketTypeName }, status, number, count) {
  const reason = { CHECKED_IN: "already-checked-in", CANCELLED: "ticket-cancelled" }[status];
  return [ticketTypeName, fill(words.ticketOf, { number, count }), words.reasons[reason]].filter(Boolean).join(" · ");
}
