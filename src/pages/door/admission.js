// Whether a ticket admits, as `src/rules/entrance/admission.rs` and `src/rules/entrance/scan_log.rs` decide it: `.ci/door/run` compares them.
//
// Instants are in milliseconds since 1970, or null. An event is {timezone, dayStartsAt, status, cancelledAt}; a ticket type is
// {validFrom, validUntil, allowedDates, validityDays, validityHours}; the state of a ticket is
// {status, checkInDate, firstScanDate, expiresAt}.

// In seconds.
const DAY = 86_400;
const formats = new Map();

function format(zone) {
  let known = formats.get(zone);
  if (known === undefined) {
    known = new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", {
      timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric",
      second: "numeric",
    });
    formats.set(zone, known);
  }
  return known;
}

/** What clocks show at an instant, in seconds since they showed the beginning of 1970. The instant is in seconds as well. */
function shownAt(zone, unix) {
  const part = {};
  for (const { type, value } of format(zone).formatToParts(unix * 1000)) part[type] = Number(value);
  return Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second) / 1000;
}

/** The local day at an instant, as the number of days since 1970-01-01. */
export function localDay(zone, at) {
  return Math.floor(shownAt(zone, Math.floor(at / 1000)) / DAY);
}

/** The first instant at which clocks show a time or a later one, all in seconds: see `Zone::first_at` of the service. */
function firstAt(zone, shown) {
  const instants = [-DAY, DAY].map((by) => shown - (shownAt(zone, shown + by) - (shown + by)));
  let before = Math.min(...instants);
  let from = Math.max(...instants);
  if (shownAt(zone, before) >= shown) return before;
  while (from - before > 1) {
    const middle = before + Math.floor((from - before) / 2);
    if (shownAt(zone, middle) >= shown) from = middle;
    else before = middle;
  }
  return from;
}

/** The seconds from midnight to the beginning of the days of an event. */
function dayStart(event) {
  const [hours, minutes] = (event.dayStartsAt ?? "00:00").split(":").map(Number);
  return hours * 3600 + minutes * 60;
}

/** The first instant of a day of an event. */
function startOfDay(event, day) {
  return firstAt(event.timezone, day * DAY + dayStart(event)) * 1000;
}

/** The day of an event to which an instant belongs. */
function dayOf(event, at) {
  const shown = shownAt(event.timezone, Math.floor(at / 1000));
  const day = Math.floor((shown - dayStart(event)) / DAY);
  // Clocks that were put back may show the day before once more.
  return startOfDay(event, day + 1) <= at ? day + 1 : day;
}

/** The reason why a ticket cannot be checked in at an instant, or null. */
export function checkIn(event, type, ticket, at) {
  const isEventCancelled = event.status === "CANCELLED" && !(event.cancelledAt !== null && at < event.cancelledAt);
  if (ticket.status === "CANCELLED") return "ticket-cancelled";
  if (isEventCancelled) return "event-cancelled";
  if (type.validFrom !== null && at < type.validFrom) return "not-yet-valid";
  if ([type.validUntil, ticket.expiresAt].some((end) => end !== null && at >= end)) return "no-longer-valid";
  const today = dayOf(event, at);
  if (type.allowedDates.length > 0) {
    const [from, until] = [startOfDay(event, today), startOfDay(event, today + 1)];
    if (!type.allowedDates.some((date) => from <= date && date < until)) return "not-valid-today";
  }
  if (ticket.status === "CHECKED_IN" && !mayEnterAgain(event, type, ticket, today)) return "already-checked-in";
  return null;
}

/** A ticket for several days can be checked in once a day, even if its holder did not check out. */
function mayEnterAgain(event, type, ticket, today) {
  const severalDays = type.allowedDates.length > 1 || (type.validityDays !== null && type.validityDays > 1);
  return severalDays && ticket.checkInDate !== null && dayOf(event, ticket.checkInDate) < today;
}

/** The reason why a ticket cannot be checked out, or null. */
export function checkOut(ticket) {
  if (ticket.status === "CANCELLED") return "ticket-cancelled";
  return ticket.status === "CHECKED_IN" ? null : "not-checked-in";
}

/** When a ticket expires whose first accepted scan is at an instant, or null. */
function expiryAfterFirstScan(event, type, at) {
  const ends = [];
  if (type.validityDays !== null) ends.push(startOfDay(event, dayOf(event, at) + type.validityDays));
  if (type.validityHours !== null) ends.push(at + type.validityHours * 3_600_000);
  return ends.length > 0 ? Math.min(...ends) : null;
}

/** The reason against a scan, or null. */
export function reasonAgainst(event, type, ticket, kind, at) {
  return kind === "IN" ? checkIn(event, type, ticket, at) : checkOut(ticket);
}

/** What explains a reason: the instant from which or until which a ticket is valid, or its days since 1970-01-01. Or null. */
export function factOf(reason, event, type, ticket, at) {
  if (reason === "not-yet-valid") return type.validFrom;
  if (reason === "no-longer-valid") {
    const ends = [type.validUntil, ticket.expiresAt].filter((end) => end !== null && at >= end);
    return ends.length > 0 ? Math.min(...ends) : null;
  }
  if (reason !== "not-valid-today" || type.allowedDates.length === 0) return null;
  const days = [...new Set(type.allowedDates.map((date) => dayOf(event, date)))].sort((one, other) => one - other);
  const next = days.filter((day) => day >= dayOf(event, at));
  return next.length > 0 ? next : days;
}

/** The state of a ticket after a scan for which its holder was let through. What the rules refuse changes nothing. */
export function afterScan(event, type, ticket, kind, at) {
  if (reasonAgainst(event, type, ticket, kind, at) !== null) return ticket;
  if (kind === "OUT") return { ...ticket, status: "NOT_CHECKED_IN" };
  const after = { ...ticket, status: "CHECKED_IN", checkInDate: at };
  if (ticket.firstScanDate === null || at < ticket.firstScanDate) {
    after.firstScanDate = at;
    after.expiresAt = expiryAfterFirstScan(event, type, at);
  }
  return after;
}

/** White space, dashes, invisible and control characters. */
const IGNORED = /[\p{White_Space}\p{Dash}\p{Default_Ignorable_Code_Point}\p{Cc}]/gu;

/** What our own codes are, after `normalizeCode`. */
const OWN_CODE = /^[0-9A-HJKMNP-TV-Z]{20}$/;

/** White space and invisible spaces at the ends of a text. */
const ENDS = /^[\p{White_Space}\u200b\ufeff]+|[\p{White_Space}\u200b\ufeff]+$/gu;

/** The form in which a code that was typed or scanned is stored, as `src/rules/ticket.rs` computes it. */
export function normalizeCode(text) {
  return text.normalize("NFKC").replaceAll(IGNORED, "").toUpperCase().replaceAll("O", "0").replaceAll(/[IL]/g, "1");
}

/** Whether a text that `readCode` has read is a code of ours. */
export const isOwnCode = (code) => OWN_CODE.test(code);

/** Whether a text that `readCode` has read can be the code of another seller, as `src/rules/ticket.rs` says. */
export const isForeignCode = (code) => /^[!-~]{6,200}$/.test(code) && !isOwnCode(code);

/**
 * A code that was typed or scanned, as the service reads it: one of ours in the form in which it is stored, and one of another
 * seller as it is, without white space at its ends.
 */
export function readCode(text) {
  const own = normalizeCode(text);
  return isOwnCode(own) ? own : text.replaceAll(ENDS, "");
}
