// Whether a ticket admits, as `src/rules/entrance/admission.rs` and `src/rules/entrance/scan_log.rs` decide it: `.ci/door/run` compares them.
//
// Instants are in milliseconds since 1970, or null. An event is {timezone, status, cancelledAt}; a ticket type is
// {validFrom, validUntil, allowedDates, validityDays, validityHours}; the state of a ticket is
// {status, checkInDate, firstScanDate, expiresAt}.

const DAY = 86_400_000;
const formats = new Map();

function format(zone) {
  let known = formats.get(zone);
  if (known === undefined) {
    known = new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", {
      timeZone: zone, year: "numeric", month: "numeric", day: "numeric",
    });
    formats.set(zone, known);
  }
  return known;
}

/** The local day at an instant, as the number of days since 1970-01-01. */
export function localDay(zone, at) {
  const part = {};
  for (const { type, value } of format(zone).formatToParts(at)) part[type] = Number(value);
  return Date.UTC(part.year, part.month - 1, part.day) / DAY;
}

/** The first instant of a local day. Midnight may not exist on the day of a clock change, so this searches for it. */
export function startOfDay(zone, day) {
  // In seconds. All zones are within a day of UTC.
  let before = (day - 2) * 86_400;
  let from = (day + 2) * 86_400;
  while (from - before > 1) {
    const middle = before + Math.floor((from - before) / 2);
    if (localDay(zone, middle * 1000) >= day) from = middle;
    else before = middle;
  }
  return from * 1000;
}

/** The reason why a ticket cannot be checked in at an instant, or null. */
export function checkIn(event, type, ticket, at) {
  const zone = event.timezone;
  const isEventCancelled = event.status === "CANCELLED" && !(event.cancelledAt !== null && at < event.cancelledAt);
  if (ticket.status === "CANCELLED") return "ticket-cancelled";
  if (isEventCancelled) return "event-cancelled";
  if (type.validFrom !== null && at < type.validFrom) return "not-yet-valid";
  if ([type.validUntil, ticket.expiresAt].some((end) => end !== null && at >= end)) return "no-longer-valid";
  const today = localDay(zone, at);
  if (type.allowedDates.length > 0 && !type.allowedDates.some((date) => localDay(zone, date) === today)) {
    return "not-valid-today";
  }
  if (ticket.status === "CHECKED_IN" && !mayEnterAgain(zone, type, ticket, today)) return "already-checked-in";
  return null;
}

/** A ticket for several days can be checked in once a day, even if its holder did not check out. */
function mayEnterAgain(zone, type, ticket, today) {
  const severalDays = type.allowedDates.length > 1 || (type.validityDays !== null && type.validityDays > 1);
  return severalDays && ticket.checkInDate !== null && localDay(zone, ticket.checkInDate) < today;
}

/** The reason why a ticket cannot be checked out, or null. */
export function checkOut(ticket) {
  if (ticket.status === "CANCELLED") return "ticket-cancelled";
  return ticket.status === "CHECKED_IN" ? null : "not-checked-in";
}

/** When a ticket expires whose first accepted scan is at an instant, or null. */
function expiryAfterFirstScan(zone, type, at) {
  const ends = [];
  if (type.validityDays !== null) ends.push(startOfDay(zone, localDay(zone, at) + type.validityDays));
  if (type.validityHours !== null) ends.push(at + type.validityHours * 3_600_000);
  return ends.length > 0 ? Math.min(...ends) : null;
}

/** The reason against a scan, or null. */
export function reasonAgainst(event, type, ticket, kind, at) {
  return kind === "IN" ? checkIn(event, type, ticket, at) : checkOut(ticket);
}

/** The state of a ticket after a scan for which its holder was let through. What the rules refuse changes nothing. */
export function afterScan(event, type, ticket, kind, at) {
  if (reasonAgainst(event, type, ticket, kind, at) !== null) return ticket;
  if (kind === "OUT") return { ...ticket, status: "NOT_CHECKED_IN" };
  const after = { ...ticket, status: "CHECKED_IN", checkInDate: at };
  if (ticket.firstScanDate === null || at < ticket.firstScanDate) {
    after.firstScanDate = at;
    after.expiresAt = expiryAfterFirstScan(event.timezone, type, at);
  }
  return after;
}
