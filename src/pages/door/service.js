// Requests to the service, and its clock.

/** A request that has failed. `status` is that of the answer, or null if there was none. */
export class ServiceError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** How long an answer may take, in milliseconds. */
const TIMEOUT = 10_000;
/** From when on an answer is slow, in milliseconds. */
const SLOW = 1000;

export class Service {
  #event;
  #key;
  #offsets = [];
  /** By how much the clock of the service is ahead of this one, in milliseconds. */
  offset;

  constructor({ event, key }, offset) {
    this.#event = event;
    this.#key = key;
    this.offset = offset;
  }

  now() {
    return Math.round(Date.now() + this.offset);
  }

  roster(cursor, limit) {
    const since = cursor === null ? "" : `&since=${encodeURIComponent(cursor)}`;
    return this.#send("GET", `events/${this.#event}/roster?limit=${limit}${since}`);
  }

  /** The tickets of an order as {ticketId, ticketTypeName, status, proof}. */
  async order(number) {
    return (await this.#send("GET", `events/${this.#event}/roster/orders/order_${number}`)).tickets;
  }

  /** Reports scans. Answers a result for each, in the same order. */
  async report(device, scans) {
    const body = { eventId: this.#event, device, scans: scans.map(toJson) };
    return (await this.#send("POST", "tickets/scans", body)).results;
  }

  async #send(method, path, body) {
    const asked = Date.now();
    let answer;
    let json;
    try {
      answer = await fetch(`../v1/${path}`, {
        method,
        headers: { "X-Api-Key": this.#key, ...(body && { "Content-Type": "application/json" }) },
        body: body && JSON.stringify(body),
        cache: "no-store",
        credentials: "omit",
        signal: AbortSignal.timeout(TIMEOUT),
      });
      // The answer of a login page of the network is no JSON.
      json = await answer.json();
    } catch (error) {
      throw new ServiceError(null, String(error));
    }
    if (!answer.ok) throw new ServiceError(answer.status, json.detail ?? json.title ?? "");
    const answered = Date.now();
    // A slow answer says little about the clock.
    const isSlow = answered - asked > SLOW && this.#offsets.length > 0;
    if (!isSlow) this.#measure(Date.parse(json.now) - (asked + answered) / 2);
    return json;
  }

  /** The offset is the median of the last five. */
  #measure(offset) {
    this.#offsets = [...this.#offsets, offset].slice(-5);
    const sorted = [...this.#offsets].sort((one, other) => one - other);
    this.offset = sorted[Math.floor(sorted.length / 2)];
  }
}

function toJson({ id, kind, code, ticketId, proof, scannedAt, verdict, override }) {
  return { id, kind, code, ticketId, proof, scannedAt: new Date(scannedAt).toISOString(), verdict, override };
}
