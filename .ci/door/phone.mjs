// What the scenarios of an entrance share: the service, and phones whose network can be cut.
//
// The scripts that use it are called with the ADDRESS of the service, a KEY, the PROGRAM, and a FOLDER for profiles.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import puppeteer from "puppeteer-core";
import { network } from "./proxy.mjs";

const [address, key, program, folder] = process.argv.slice(2);
export { folder };
export const screenshots = process.env.KEEP_SCREENSHOTS;
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const problems = [];
process.on("exit", () => problems.forEach((problem) => console.error(problem)));
export const VIEW = { width: 390, height: 844, deviceScaleFactor: 1, isMobile: true, hasTouch: true };
const BROWSERS = {
  chrome: {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--lang=en-GB"],
  },
  firefox: {
    executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
    extraPrefsFirefox: { "intl.accept_languages": "en-GB" },
  },
};

export const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

export function expect(found, expected, what) {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) problems.push(`${what}: ${one} instead of ${other}`);
}

export async function api(method, route, body) {
  const answer = await fetch(`${address}/v1/${route}`, {
    method,
    headers: { "X-Api-Key": key, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${route}: ${text}`);
  return text === "" ? null : JSON.parse(text);
}

/** An event with this many tickets, as {event, tickets} with the ids and codes of the tickets. */
export async function publish(slug, quantity) {
  const event = await api("POST", "events", {
    title: "Summer Night with the Philharmonic", slug, startDate: "2100-06-01T18:00:00Z", timezone: "Europe/Berlin",
    deliveryMethod: "DIGITAL", status: "PUBLISHED",
  });
  const type = await api("POST", `events/${event.id}/ticket-types`, {
    name: "Parterre", price: 0, quantity, accessAreas: ["Parterre", "Garden"],
  });
  const customer = { name: "Ada Lovelace", email: "ada@example.com" };
  const tickets = [];
  while (tickets.length < quantity) {
    const issue = { ticketId: type.id, quantity: Math.min(10, quantity - tickets.length), customer };
    tickets.push(...(await api("POST", "tickets/issue", issue)).issuedTickets);
  }
  return { event: event.id, tickets };
}

/** Runs a command of the program with the database of the server, and answers what it prints. */
function run(...command) {
  return execFileSync(program, [...command, "--database", `${folder}/ticketing.db`], { encoding: "utf8" });
}

/** A link of an event, as {path, keyId}. */
export function doorLink(event, name, ...until) {
  const printed = run("door-link", event, "--name", name, ...until, "--public-url", "https://tickets.example.com");
  const [, path] = /https:\/\/tickets\.example\.com(\S+)/.exec(printed);
  const [, keyId] = /revoke-key (\S+?)`/.exec(printed);
  return { path, keyId };
}

export const revoke = ({ keyId }) => run("revoke-key", keyId);

/** All rows of the log of an event, the newest first. */
export async function log(event) {
  const rows = [];
  for (let cursor = ""; cursor !== null;) {
    const page = await api("GET", `events/${event}/scans?limit=100${cursor && `&cursor=${cursor}`}`);
    rows.push(...page.data);
    cursor = page.nextCursor ?? null;
  }
  return rows;
}

/** A phone with a network and a profile of its own. */
export class Phone {
  constructor(name, kind, net) {
    this.name = name;
    this.kind = kind;
    this.network = net;
    this.base = `http://127.0.0.1:${net.port}`;
    this.folder = path.join(folder, name);
  }

  /** A phone that is called `name`, with the browser "chrome" or "firefox". */
  static async create(name, kind = "chrome") {
    return new Phone(name, kind, await network(Number(new URL(address).port)));
  }

  async start(options = []) {
    const { args = [], ...browser } = BROWSERS[this.kind];
    fs.mkdirSync(this.folder, { recursive: true });
    this.browser = await puppeteer.launch({
      browser: this.kind,
      ...browser,
      args: [...args, ...options],
      userDataDir: path.join(this.folder, "profile"),
      downloadBehavior: { policy: "allow", downloadPath: this.folder },
    });
    this.page = (await this.browser.pages())[0];
    this.page.on("pageerror", (error) => problems.push(`${this.name}: ${error}`));
    await this.page.setViewport(VIEW);
  }

  async open(path) {
    // Otherwise only the fragment would change, and the page that is open load itself again later.
    await this.page.goto("about:blank");
    await this.page.goto(this.base + path);
    await this.scanner();
  }

  scanner() {
    return this.page.waitForSelector("#scanner:not([hidden])");
  }

  async reload() {
    await this.page.reload();
    await this.scanner();
  }

  /** Ends the browser at once, as if the phone had no battery left. */
  async kill() {
    const remove = (name) => fs.rmSync(path.join(this.folder, "profile", name), { force: true });
    // With these, puppeteer would change the profile at some time after the end of Firefox.
    ["prefs.js.puppeteer", "user.js.puppeteer"].forEach(remove);
    const ended = new Promise((resolve) => { this.browser.process().on("exit", resolve); });
    this.browser.process().kill("SIGKILL");
    await ended;
    remove("SingletonLock");
  }

  async close() {
    await this.browser.close();
    this.network.close();
  }

  /** Scans codes, and answers what the page shows for each. */
  scanAll(codes) {
    return this.page.evaluate(async (codes) => {
      const verdict = document.querySelector("#verdict");
      const text = (selector) => verdict.querySelector(selector).textContent;
      const shown = [];
      for (const code of codes) {
        verdict.hidden = true;
        const answered = new Promise((resolve) => {
          const observer = new MutationObserver(() => {
            if (verdict.hidden) return;
            observer.disconnect();
            resolve();
          });
          observer.observe(verdict, { attributes: true });
        });
        const field = document.querySelector("#code");
        field.value = code;
        field.form.requestSubmit();
        await answered;
        shown.push({ look: verdict.className, word: text(".word"), type: text(".type"), reason: text(".reason") });
      }
      return shown;
    }, codes);
  }

  async scan(code) {
    return (await this.scanAll([code]))[0];
  }

  async looks(codes) {
    return (await this.scanAll(codes)).map(({ look }) => look);
  }

  async verdict() {
    await this.page.waitForSelector("#verdict:not([hidden])");
    return this.page.$eval("#verdict", (verdict) => {
      const text = (selector) => verdict.querySelector(selector).textContent;
      return { look: verdict.className, word: text(".word"), type: text(".type"), reason: text(".reason") };
    });
  }

  status(id) {
    return this.page.$eval(`#${id}`, (item) => item.textContent);
  }

  waitFor(id, text) {
    const shows = (id, text) => document.querySelector(`#${id}`).textContent.includes(text);
    return this.page.waitForFunction(shows, { timeout: 20_000 }, id, text);
  }

  /** Waits until everything is reported. */
  reported() {
    return this.waitFor("waiting", "Unsent: 0");
  }

  /** Waits until the page would start without a connection. */
  kept() {
    return this.page.waitForFunction(() => navigator.serviceWorker.controller !== null);
  }

  /** What the page has in IndexedDB, as {values, tickets, scans}. */
  database() {
    return this.page.evaluate(async () => {
      const open = indexedDB.open("ticketing-door");
      await new Promise((resolve) => { open.onsuccess = resolve; });
      const stores = {};
      for (const name of open.result.objectStoreNames) {
        const request = open.result.transaction(name).objectStore(name).getAll();
        await new Promise((resolve) => { request.onsuccess = resolve; });
        stores[name] = request.result;
      }
      open.result.close();
      return stores;
    });
  }

  /** Everything that the page has stored, as a text. */
  async stored() {
    const others = await this.page.evaluate(async () => {
      const texts = [];
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const request of await cache.keys()) texts.push(request.url, await (await cache.match(request)).text());
      }
      return [...texts, ...Object.values(localStorage), document.cookie, location.href].join("\n");
    });
    return JSON.stringify(await this.database()) + others;
  }

  /** Clicks a button of the message that is shown. */
  async choose(text) {
    await this.page.locator(`#message button::-p-text(${text})`).click();
  }

  /** What was noticed of scans after they were answered. */
  notices() {
    return this.page.$$eval("#notices p", (texts) => texts.map((text) => text.textContent));
  }

  message() {
    return this.page.waitForSelector("#message:not([hidden])").then(() => this.page.$eval("#message", (it) => it.textContent));
  }

  async picture(name) {
    if (screenshots) await this.page.screenshot({ path: `${screenshots}/${this.kind}-${name}.png` });
  }

  /** Runs axe-core, and takes pictures. Only in Chromium: in Firefox a script cannot choose the colors. */
  async look(state) {
    if (this.kind !== "chrome") return void await this.picture(state);
    for (const [scheme, width, height] of [["light", 390, 844], ["dark", 390, 844], ["light", 844, 390], ["dark", 844, 390]]) {
      await this.page.setViewport({ ...VIEW, width, height });
      await this.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      const name = `${state}-${width}-${scheme}`;
      const scrolled = await this.page.evaluate(() => document.documentElement.scrollWidth);
      if (scrolled > width) problems.push(`${name} is ${scrolled} pixels wide`);
      const covered = await this.page.$$eval("header:not([hidden]) li", (items) => items.filter((item) => {
        const { x, y, width, height } = item.getBoundingClientRect();
        return item.checkVisibility() && document.elementFromPoint(x + width / 2, y + height / 2) !== item;
      }).map((item) => item.id));
      if (covered.length > 0) problems.push(`${name} covers ${covered}`);
      // The content security policy applies to the script of the test too.
      await this.page.evaluate(axe);
      const { violations } = await this.page.evaluate(() => window.axe.run());
      for (const { id, nodes } of violations) {
        problems.push(`${name}: ${id}: ${nodes.map((node) => `${node.target}: ${node.failureSummary}`).join("; ")}`);
      }
      await this.picture(name);
    }
    await this.page.setViewport(VIEW);
  }
}
