// The list of the tickets of the event: how it is loaded, kept current, and asked.
//
// A ticket is {hash, ticketId, type, status, checkInDate, firstScanDate, expiresAt} with the id of its ticket type. There are no
// codes and no names in it. See `admission.js` for instants.
//
// A conflict is {id, ticketId, outcome, at, device, other, isSeen}: with the scan of this id, a device let somebody in who should
// not have come in. Those of this device and those after an admission by this device are kept, also once the staff has seen
// them: the service lists a conflict each time that its ticket changes.

import { afterScan } from "./admission.js";

/** How many tickets are asked for at a time: a bad connection loads few in the time that an answer may take. */
const PAGE = 2000;
const STATES = ["checkInDate", "firstScanDate", "expiresAt"];

const instant = (text) => (text === null || text === undefined ? null : Date.parse(text));

async function digest(purpose, event, code, bytes) {
  const text = new TextEncoder().encode(purpose + event + code);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text)).subarray(0, bytes);
  return btoa(String.fromCharCode(...hash)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** What the roster has in place of a code. */
export const rosterHash = (event, code) => digest("roster", event, code, 12);

/** What shows the service that the code was seen. */
export const proofOf = (event, code) => digest("scan", event, code, 16);

export class Roster {
  #storage;
  #byHash = new Map();
  #byId = new Map();
  /** Tickets that a report has changed since the answer in progress was asked for, which may be older. */
  #changed = new Set();
  /** {event, hasImports, gate, types, cursor, at, loadedAt}: what else the service has answered, and when. Null until it has. */
  head = null;
  counts = { tickets: 0, cancelled: 0, inside: 0 };
  conflicts = [];
  /** The name under which this device reports scans. */
  device;

  constructor(storage) {
    this.#storage = storage;
  }

  async load() {
    this.head = (await this.#storage.value("roster")) ?? null;
    this.conflicts = (await this.#storage.value("conflicts")) ?? [];
    if (this.head !== null) (await this.#storage.tickets()).forEach((ticket) => this.#set(ticket));
  }

  /** Asks for what has changed, or for everything if nothing was loaded yet. `isQuiet` is whether the queue is empty. */
  async refresh(ask, progress, isQuiet) {
    if (this.head === null) return this.reload(ask, progress);
    this.#changed.clear();
    const tickets = [];
    const listed = [];
    let answer;
    let cursor = this.head.cursor;
    do {
      try {
        answer = await ask(cursor, PAGE);
      } catch (error) {
        // The service does not know the cursor any more.
        if (error.status === 422) return this.reload(ask, progress);
        throw error;
      }
      cursor = answer.cursor;
      tickets.push(...readTickets(answer));
      listed.push(...answer.conflicts);
    } while (!answer.complete);
    const news = tickets.filter((ticket) => !this.#changed.has(ticket.ticketId));
    const conflicts = this.#conflictsAfter(news, listed);
    const head = { ...readHead(answer), loadedAt: this.head.loadedAt };
    await this.#storage.write(({ values, tickets: stored }) => {
      for (const ticket of news) stored.put(ticket, ticket.hash);
      values.put(head, "roster");
      values.put(conflicts, "conflicts");
    });
    news.forEach((ticket) => this.#set(ticket));
    this.head = head;
    // One may have been dismissed while this was stored.
    const isSeen = (id) => this.conflicts.some((conflict) => conflict.id === id && conflict.isSeen);
    this.conflicts = conflicts.map((conflict) => ({ ...conflict, isSeen: isSeen(conflict.id) }));
    // A difference means that something was missed. With reports in progress, the counts differ for a moment.
    const isCurrent = ["tickets", "cancelled", "inside"].every((name) => this.counts[name] === answer.counts[name]);
    const waits = Date.now() - this.head.loadedAt < 60_000;
    if (!isCurrent && !waits && isQuiet() && this.#changed.size === 0) await this.reload(ask, progress);
  }

  /** The conflicts after these tickets have changed, whose conflicts the service has listed. */
  #conflictsAfter(tickets, listed) {
    const ofDevice = listed.filter(({ device, other }) => [device, other?.device].includes(this.device));
    const found = new Map(ofDevice.map(({ id, ticketId, outcome, scannedAt, device, other }) => {
      const isSeen = this.conflicts.some((known) => known.id === id && known.isSeen);
      return [id, { id, ticketId, outcome, at: instant(scannedAt), device, other, isSeen }];
    }));
    const changed = new Set(tickets.map(({ ticketId }) => ticketId));
    // Of a ticket that has changed, what is not listed was resolved.
    const others = this.conflicts.filter(({ id, ticketId }) => !found.has(id) && !changed.has(ticketId));
    return [...others, ...found.values()];
  }

  /** Notes that the staff has seen a conflict. */
  async dismiss({ id }) {
    this.conflicts = this.conflicts.map((known) => (known.id === id ? { ...known, isSeen: true } : known));
    await this.#storage.write(({ values }) => values.put(this.conflicts, "conflicts"));
  }

  /** Reads the whole roster. The old one is used until the new one is complete. */
  async reload(ask, progress) {
    this.#changed.clear();
    const tickets = new Map();
    let answer = { cursor: null, complete: false };
    while (!answer.complete) {
      answer = await ask(answer.cursor, PAGE);
      readTickets(answer).forEach((ticket) => tickets.set(ticket.hash, ticket));
      progress(tickets.size, answer.counts.tickets);
    }
    for (const id of this.#changed) {
      const known = this.#byId.get(id);
      if (known !== undefined) tickets.set(known.hash, known);
    }
    const head = { ...readHead(answer), loadedAt: Date.now() };
    await this.#storage.write(({ values, tickets: stored }) => {
      stored.clear();
      for (const ticket of tickets.values()) stored.put(ticket, ticket.hash);
      values.put(head, "roster");
    });
    this.#byHash.clear();
    this.#byId.clear();
    this.counts = { tickets: 0, cancelled: 0, inside: 0 };
    tickets.forEach((ticket) => this.#set(ticket));
    this.head = head;
  }

  async find(code) {
    return this.#byHash.get(await rosterHash(this.head.event.id, code)) ?? null;
  }

  /** The ticket with this id, or null. */
  get(ticketId) {
    return this.#byId.get(ticketId) ?? null;
  }

  type(ticket) {
    return this.head.types[ticket.type];
  }

  /** The state of a ticket after what is in the queue. */
  stateOf(ticket, queue) {
    let state = ticket;
    for (const scan of queue.admissionsOf(ticket.ticketId)) {
      state = afterScan(this.head.event, this.type(ticket), state, scan.kind, scan.scannedAt);
    }
    return state;
  }

  /** How many are inside, with what is in the queue. */
  inside(queue) {
    let inside = this.counts.inside;
    for (const id of new Set(queue.scans.map((scan) => scan.ticketId))) {
      const ticket = this.#byId.get(id);
      if (ticket === undefined) continue;
      const isInside = (state) => Number(state.status === "CHECKED_IN");
      inside += isInside(this.stateOf(ticket, queue)) - isInside(ticket);
    }
    return inside;
  }

  /** Takes over what the service answers about tickets that were reported. */
  async apply(scanned) {
    const tickets = [];
    for (const answer of scanned) {
      const known = this.#byId.get(answer.ticketId);
      if (known === undefined) continue;
      const ticket = { ...known, status: answer.status };
      for (const name of STATES) ticket[name] = instant(answer[name]);
      tickets.push(ticket);
    }
    if (tickets.length === 0) return;
    await this.#storage.write(({ tickets: stored }) => tickets.forEach((ticket) => stored.put(ticket, ticket.hash)));
    for (const ticket of tickets) {
      this.#changed.add(ticket.ticketId);
      this.#set(ticket);
    }
  }

  #set(ticket) {
    const before = this.#byHash.get(ticket.hash);
    for (const [state, by] of [[before, -1], [ticket, 1]]) {
      if (state === undefined) continue;
      this.counts.tickets += by;
      if (state.status === "CANCELLED") this.counts.cancelled += by;
      if (state.status === "CHECKED_IN") this.counts.inside += by;
    }
    this.#byHash.set(ticket.hash, ticket);
    this.#byId.set(ticket.ticketId, ticket);
  }
}

function readTickets(answer) {
  return answer.tickets.map(([hash, ticketId, type, status, ...instants]) => {
    const [checkInDate, firstScanDate, expiresAt] = instants.map(instant);
    return { hash, ticketId, type: answer.types[type].id, status, checkInDate, firstScanDate, expiresAt };
  });
}

function readHead(answer) {
  const types = {};
  for (const type of answer.types) {
    types[type.id] = {
      name: type.name,
      accessAreas: type.accessAreas,
      validFrom: instant(type.validFrom),
      validUntil: instant(type.validUntil),
      allowedDates: type.allowedDates.map(instant),
      validityDays: type.validityDays ?? null,
      validityHours: type.validityHours ?? null,
    };
  }
  const event = { ...answer.event, cancelledAt: instant(answer.event.cancelledAt) };
  const hasImports = answer.counts.imported > 0;
  return { event, hasImports, gate: answer.gate ?? null, types, cursor: answer.cursor, at: Date.now() };
}
