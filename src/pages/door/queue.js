// The scans that the service has not received yet, in the order in which they were made.
//
// A scan is {sequence, id, kind, ticketId, proof, scannedAt, verdict} or, if the staff has let in an unknown code, has
// `code` in place of `ticketId` and `proof`. `verdict` is null while the service is asked. `override` is true if the staff
// decided against the device, and `problem` is set if the service has refused the report of the scan for good.

export class Queue {
  #storage;
  #sequence = 0;
  /** When the last scan was made, by the clock of the service. */
  lastAt = 0;
  scans = [];

  constructor(storage) {
    this.#storage = storage;
  }

  async load() {
    this.scans = await this.#storage.scans();
    this.#sequence = this.scans.at(-1)?.sequence ?? 0;
    this.lastAt = (await this.#storage.value("lastAt")) ?? 0;
    // The page ended while the service was asked: nobody has seen a verdict.
    const open = this.scans.filter((scan) => scan.verdict === null);
    await this.change({ update: open.map((scan) => ({ ...scan, verdict: "REFUSED" })) });
  }

  /** A new scan at an instant, which is not in the queue yet. The scans of a device are never reordered. */
  create(at, fields) {
    this.lastAt = Math.max(at, this.lastAt + 1);
    return { verdict: null, ...fields, ...this.newId(), scannedAt: this.lastAt };
  }

  /** The place of a new scan in the queue, and its id. */
  newId() {
    this.#sequence += 1;
    return { sequence: this.#sequence, id: crypto.randomUUID() };
  }

  /** Changes the queue on the disk, and then here. Rejects if that is not possible, and then nothing has changed. */
  async change({ add = [], update = [], remove = [] }) {
    if (add.length + update.length + remove.length === 0) return;
    await this.#storage.write(({ scans, values }) => {
      if (add.length > 0) values.put(this.lastAt, "lastAt");
      // With `add`, a second window cannot overwrite a scan of this one.
      for (const scan of add) scans.add(scan, scan.sequence);
      for (const scan of update) scans.put(scan, scan.sequence);
      for (const scan of remove) scans.delete(scan.sequence);
    });
    const removed = new Set(remove.map((scan) => scan.sequence));
    const updated = new Map(update.map((scan) => [scan.sequence, scan]));
    const kept = this.scans.filter((scan) => !removed.has(scan.sequence));
    this.scans = [...kept.map((scan) => updated.get(scan.sequence) ?? scan), ...add];
  }

  /** The scans that can be reported: what the device has decided. */
  get decided() {
    return this.scans.filter((scan) => scan.verdict !== null && scan.problem === undefined);
  }

  /** The scans of a ticket for which its holder was let through. */
  admissionsOf(ticketId) {
    return this.scans.filter((scan) => scan.ticketId === ticketId && scan.verdict === "ADMITTED");
  }
}
