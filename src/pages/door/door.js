// What happens at the entrance: the service decides on a scan if it answers in time, and else this device does.
//
// Nobody is let in before the scan is on the disk of the phone or of the service. So each scan is put into the queue before
// anything else is done with it, and leaves it when the service has it.

import { factOf, isForeignCode, isOwnCode, reasonAgainst } from "./admission.js";
import { proofOf } from "./roster.js";
import { ServiceError } from "./service.js";

/** How long the service may take to decide, in milliseconds. */
const PATIENCE = 1500;
/** How often the roster is refreshed, in milliseconds. */
const REFRESH = 15_000;
/** The greatest number of scans in a report. */
const MOST = 100;

const LET_THROUGH = ["ADMITTED", "LEFT", "ADMITTED_TWICE", "WOULD_BE_REFUSED"];

/** Resolves to null if a promise takes longer, or if the service does not answer. */
async function inTime(promise) {
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, PATIENCE, null); });
  const answered = promise.catch((error) => {
    if (error instanceof ServiceError) return null;
    throw error;
  });
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
}

export class Door {
  #roster;
  #queue;
  #service;
  #notify;
  #device;
  #lastReport = Promise.resolve();
  #refreshing = null;
  #refreshedAt = 0;
  isOnline = true;

  /**
   * `notify` has the functions `changed`, `revoked`, `loading(done, all)` and `logFull`.
   */
  constructor({ roster, queue, service, device, notify }) {
    this.#roster = roster;
    this.#queue = queue;
    this.#service = service;
    this.#device = device;
    this.#notify = notify;
  }

  /**
   * Decides on a code. `result` is "admitted", "left", "refused", or "check" if the staff must look. Rejects if the scan could
   * not be stored. `fact` explains the reason, see `admission.js`, and `subject` is what `letIn` needs.
   */
  async scan(code, kind) {
    const notATicket = { result: "refused", reason: "not-a-ticket" };
    if (!isOwnCode(code) && !isForeignCode(code)) return notATicket;
    const ticket = await this.#find(() => this.#roster.find(code));
    if (ticket === null && !isOwnCode(code) && !this.#roster.head.hasImports) return notATicket;
    if (ticket === null) return this.#scanUnknown(code, kind);
    return this.#scanTicket(ticket, await proofOf(this.#roster.head.event.id, code), kind);
  }

  /** Whether a ticket in the roster has this code. */
  async knows(code) {
    return (await this.#find(() => this.#roster.find(code))) !== null;
  }

  /** The tickets of an order: see `service.js`. */
  order(number) {
    return this.#service.order(number);
  }

  /** The status of a ticket of an order after what is in the queue. */
  statusOf({ ticketId, status }) {
    const known = this.#roster.get(ticketId);
    return known === null ? status : this.#roster.stateOf(known, this.#queue).status;
  }

  /** Decides on a ticket of an order, as `scan` does. */
  async scanOfOrder({ ticketId, proof }, kind) {
    const ticket = await this.#find(() => this.#roster.get(ticketId));
    if (ticket === null) return { result: "check", reason: "not-in-list", at: this.#roster.head.at };
    return this.#scanTicket(ticket, proof, kind);
  }

  /** Resolves to what a function finds in the roster, or null. */
  async #find(look) {
    const known = await look();
    if (known !== null || !this.isOnline) return known;
    // It may be new.
    await inTime(this.refresh());
    return look();
  }

  async #scanTicket(ticket, proof, kind) {
    const subject = { ticketId: ticket.ticketId, proof };
    const scan = this.#queue.create(this.#service.now(), { kind, ...subject });
    await this.#queue.change({ add: [scan] });
    this.#notify.changed();
    const question = { scan, decided: null, isAnswered: false };
    let answer = null;
    if (this.isOnline) {
      const report = this.#report(question);
      answer = await inTime(report);
      // The answer is being stored.
      if (question.isAnswered) answer = await report;
      if (answer === null) this.#setOnline(false);
    }
    const verdict = answer === null ? await this.#decide(question, ticket) : ofAnswer(answer);
    const label = answer?.ticket?.ticketLabel;
    this.#notify.changed();
    const type = this.#roster.type(ticket);
    const fact = this.#factOf(verdict.reason, ticket, scan.scannedAt);
    return { ...verdict, fact, type: type?.name, areas: type?.accessAreas, label, subject };
  }

  #factOf(reason, ticket, at) {
    try {
      return factOf(reason, this.#roster.head.event, this.#roster.type(ticket), this.#roster.get(ticket.ticketId), at);
    } catch {
      // This browser does not know the time zone, or the ticket is gone.
      return null;
    }
  }

  /** Lets a holder in against the rules, and logs that. */
  async letIn(subject) {
    const scan = this.#queue.create(this.#service.now(), { kind: "IN", ...subject, verdict: "ADMITTED", override: true });
    await this.#queue.change({ add: [scan] });
    this.#notify.changed();
  }

  /** Reports what is in the queue, and refreshes the roster if it is time. To be called every few seconds. */
  async synchronize() {
    try {
      while (this.#queue.decided.length > 0) await this.#report(null);
      if (!this.isOnline || Date.now() - this.#refreshedAt >= REFRESH) await this.refresh();
      this.#setOnline(true);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#setOnline(false);
      if (error.status === 401 || error.status === 403) this.#notify.revoked();
    }
  }

  /** Refreshes the roster, once at a time. */
  refresh() {
    const ask = (cursor, limit) => this.#service.roster(cursor, limit);
    const isQuiet = () => this.#queue.scans.length === 0;
    this.#refreshing ??= this.#roster.refresh(ask, this.#notify.loading, isQuiet).then(() => {
      this.#refreshedAt = Date.now();
      this.#notify.changed();
    }).finally(() => { this.#refreshing = null; });
    return this.#refreshing;
  }

  async #scanUnknown(code, kind) {
    const subject = { code };
    const check = { result: "check", reason: "not-in-list", at: this.#roster.head.at, subject };
    if (!this.isOnline) return check;
    const scan = { id: crypto.randomUUID(), kind, code, scannedAt: this.#service.now(), verdict: null };
    const results = await inTime(this.#service.report(this.#device, [scan]));
    if (results !== null) {
      const { ticket } = results[0];
      return { ...ofAnswer(results[0]), type: ticket?.ticketTypeName, label: ticket?.ticketLabel, subject };
    }
    this.#setOnline(false);
    return check;
  }

  /** Decides without the service. */
  async #decide(question, ticket) {
    const { event } = this.#roster.head;
    const state = this.#roster.stateOf(ticket, this.#queue);
    const { kind, scannedAt } = question.scan;
    let reason;
    try {
      reason = reasonAgainst(event, this.#roster.type(ticket), state, kind, scannedAt);
    } catch {
      // This browser does not know the time zone.
      reason = "cannot-decide";
    }
    question.decided = { ...question.scan, verdict: reason === null ? "ADMITTED" : "REFUSED" };
    await this.#queue.change({ update: [question.decided] });
    if (reason === null) return { result: kind === "IN" ? "admitted" : "left" };
    const at = reason === "already-checked-in" ? state.checkInDate : null;
    return { result: reason === "cannot-decide" ? "check" : "refused", reason, at };
  }

  /**
   * Reports what is decided and, after that, asks the question if there is one. Resolves to the answer to the question, or null.
   * Reports follow each other, so that the service gets scans in their order.
   */
  #report(question) {
    const report = this.#lastReport.then(async () => {
      const scans = this.#queue.decided.slice(0, MOST);
      if (question !== null && question.decided === null) {
        // There are too many to ask about this one now.
        if (scans.length === MOST) return null;
        scans.push(question.scan);
      }
      return scans.length > 0 ? this.#send(scans, question) : null;
    });
    this.#lastReport = report.catch(() => {});
    return report;
  }

  async #send(scans, question) {
    let results;
    try {
      results = await this.#service.report(this.#device, scans);
    } catch (error) {
      if (error.status !== 422) throw error;
      if (scans.length === 1) {
        // Otherwise this scan would keep all others from being reported.
        const [scan] = scans;
        if (scan.verdict !== null) await this.#queue.change({ update: [{ ...scan, problem: error.message }] });
        return null;
      }
      let answer = null;
      for (const scan of scans) answer = await this.#send([scan], question);
      return answer;
    }
    return this.#store(scans, results, question);
  }

  /** Stores what the service answers, and takes the scans out of the queue. */
  async #store(scans, results, question) {
    const add = [];
    let answer = null;
    results.forEach((result, index) => {
      let scan = scans[index];
      if (scan.verdict === null) {
        if (question.decided === null) {
          question.isAnswered = true;
          answer = result;
          return;
        }
        // This device has decided in the meantime.
        scan = question.decided;
      }
      add.push(...this.#corrections(scan, result));
      // The roster says what is to be shown of it.
      if (["ADMITTED_TWICE", "WOULD_BE_REFUSED"].includes(result.outcome)) this.#refreshedAt = 0;
    });
    await this.#roster.apply(results.flatMap((result) => result.ticket ?? []));
    await this.#queue.change({ add, remove: scans });
    if (results.some((result) => result.logFull)) this.#notify.logFull();
    this.#notify.changed();
    return answer;
  }

  /** What must be reported too if the service has decided on a scan in another way than this device, after it was asked. */
  #corrections(scan, { outcome, ticket }) {
    const wasLetThrough = scan.verdict === "ADMITTED";
    let { kind } = scan;
    let scannedAt = scan.scannedAt + 1;
    if (!wasLetThrough && LET_THROUGH.includes(outcome)) {
      // The service has recorded its own time, and this must come after it.
      scannedAt = kind === "IN" ? Date.parse(ticket.checkInDate) + 1 : this.#service.now();
      kind = kind === "IN" ? "OUT" : "IN";
    } else if (!wasLetThrough || outcome !== "REFUSED") {
      return [];
    }
    return [{ ...scan, ...this.#queue.newId(), kind, verdict: "ADMITTED", scannedAt }];
  }

  #setOnline(isOnline) {
    this.isOnline = isOnline;
    this.#notify.changed();
  }
}

function ofAnswer({ outcome, reason, other, ticket }) {
  if (outcome === "ADMITTED") return { result: "admitted" };
  if (outcome === "LEFT") return { result: "left" };
  if (outcome === "UNKNOWN_CODE") return { result: "refused", reason: "unknown-code" };
  if (reason !== "already-checked-in") return { result: "refused", reason };
  const at = Date.parse(other?.at ?? ticket?.checkInDate ?? "");
  return { result: "refused", reason, at: Number.isNaN(at) ? null : at, device: other?.device };
}
