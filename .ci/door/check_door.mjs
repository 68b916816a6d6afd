// Uses the page for check-in in Chromium as the staff of an entrance does, with a network that can be cut.
//
// node check_door.mjs ADDRESS KEY PROGRAM FOLDER
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import puppeteer from "puppeteer-core";
import { film } from "./film.mjs";
import { network } from "./proxy.mjs";

const [address, key, program, folder] = process.argv.slice(2);
const screenshots = process.env.KEEP_SCREENSHOTS;
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const problems = [];
process.on("exit", () => problems.forEach((problem) => console.error(problem)));
const VIEW = { width: 390, height: 844, deviceScaleFactor: 1, isMobile: true, hasTouch: true };

function expect(found, expected, what) {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) problems.push(`${what}: ${one} instead of ${other}`);
}

async function api(method, route, body) {
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
async function publish(slug, quantity) {
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

function doorLink(event, name, ...until) {
  const options = ["--name", name, ...until, "--public-url", "https://tickets.example.com", "--database", `${folder}/ticketing.db`];
  const printed = execFileSync(program, ["door-link", event, ...options], { encoding: "utf8" });
  return /https:\/\/tickets\.example\.com(\S+)/.exec(printed)[1];
}

/** All rows of the log of an event, the newest first. */
async function log(event) {
  const rows = [];
  for (let cursor = ""; cursor !== null;) {
    const page = await api("GET", `events/${event}/scans?limit=100${cursor && `&startingAfter=${cursor}`}`);
    rows.push(...page.data);
    cursor = page.hasMore ? page.data.at(-1).id : null;
  }
  return rows;
}

/** A phone with a network and a profile of its own. */
class Phone {
  constructor(name, net) {
    this.name = name;
    this.network = net;
    this.base = `http://127.0.0.1:${net.port}`;
  }

  static async create(name) {
    return new Phone(name, await network(Number(new URL(address).port)));
  }

  async start(options = []) {
    this.browser = await puppeteer.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--lang=en-GB", ...options],
      userDataDir: path.join(folder, this.name),
    });
    this.page = (await this.browser.pages())[0];
    this.page.on("pageerror", (error) => problems.push(`${this.name}: ${error}`));
    await this.page.setViewport(VIEW);
  }

  async open(link) {
    await this.page.goto(this.base + link);
    await this.page.waitForSelector("#scanner:not([hidden])");
  }

  /** Ends the browser at once, as if the phone had no battery left. */
  async kill() {
    const ended = new Promise((resolve) => { this.browser.process().on("exit", resolve); });
    this.browser.process().kill("SIGKILL");
    await ended;
    fs.rmSync(path.join(folder, this.name, "SingletonLock"), { force: true });
  }

  /** Scans a code, and answers what the page shows. */
  async scan(code) {
    await this.page.$eval("#verdict", (verdict) => { verdict.hidden = true; });
    await this.page.$eval("#code", (field, text) => { field.value = text; field.form.requestSubmit(); }, code);
    return this.verdict();
  }

  async verdict() {
    await this.page.waitForSelector("#verdict:not([hidden])");
    return this.page.$eval("#verdict", (verdict) => {
      const text = (selector) => verdict.querySelector(selector).textContent;
      return { look: verdict.className, word: text(".word"), type: text(".type"), reason: text(".reason") };
    });
  }

  async looks(codes) {
    const looks = [];
    for (const code of codes) looks.push((await this.scan(code)).look);
    return looks;
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
    return this.waitFor("waiting", "To report: 0");
  }

  /** Everything that the page has stored. */
  stored() {
    return this.page.evaluate(async () => {
      const texts = [];
      const open = indexedDB.open("ticketing-door");
      await new Promise((resolve) => { open.onsuccess = resolve; });
      for (const name of open.result.objectStoreNames) {
        const request = open.result.transaction(name).objectStore(name).getAll();
        await new Promise((resolve) => { request.onsuccess = resolve; });
        texts.push(JSON.stringify(request.result));
      }
      open.result.close();
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const request of await cache.keys()) texts.push(request.url, await (await cache.match(request)).text());
      }
      return [...texts, ...Object.values(localStorage), document.cookie, location.href].join("\n");
    });
  }

  /** Runs axe-core, and takes pictures. */
  async look(state) {
    for (const [scheme, width, height] of [["light", 390, 844], ["dark", 390, 844], ["light", 844, 390], ["dark", 844, 390]]) {
      await this.page.setViewport({ ...VIEW, width, height });
      await this.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      const name = `${state}-${width}-${scheme}`;
      const scrolled = await this.page.evaluate(() => document.documentElement.scrollWidth);
      if (scrolled > width) problems.push(`${name} is ${scrolled} pixels wide`);
      // The content security policy applies to the script of the test too.
      await this.page.evaluate(axe);
      const { violations } = await this.page.evaluate(() => window.axe.run());
      for (const { id, nodes } of violations) {
        problems.push(`${name}: ${id}: ${nodes.map((node) => `${node.target}: ${node.failureSummary}`).join("; ")}`);
      }
      if (screenshots) await this.page.screenshot({ path: `${screenshots}/${name}.png` });
    }
    await this.page.setViewport(VIEW);
  }
}

const { event, tickets } = await publish("summer-night", 60);
const other = await publish("other", 1);
const codes = tickets.map((ticket) => ticket.code);
const next = (count) => codes.splice(0, count);
const cancelled = tickets.at(-1);
await api("POST", `tickets/${cancelled.id}/cancel`);
const [gateA, gateB] = ["Gate A", "Gate B"].map((name) => doorLink(event, name));

const phone = await Phone.create("a");
await phone.start();
await phone.page.goto(`${phone.base}/door/`);
await phone.page.waitForSelector("#message:not([hidden])");
await phone.look("no-link");
const began = Date.now();
await phone.open(gateA);
expect(await phone.page.evaluate(() => location.href), `${phone.base}/door/`, "the key is not in the address");
await phone.look("scanner");

// With a connection
const unknown = "0123456789ABCDEFGHJK";
const [first] = next(1);
expect(await phone.scan(first), { look: "good", word: "Admitted", type: "Parterre", reason: "" }, "a valid ticket");
if (screenshots) await phone.page.screenshot({ path: `${screenshots}/admitted.png` });
const greenAfter = Date.now() - began;
await phone.scan(first.toLowerCase().replace(/(.{5})/g, "$1 "));
const again = await phone.verdict();
expect([again.look, /^Already checked in. First at [^,]+, Gate A [0-9A-F]{4}$/.test(again.reason)], ["bad", true], "a ticket again");
await phone.look("refused");
for (const [code, look, reason] of [
  [cancelled.code, "bad", "The ticket is cancelled"],
  [other.tickets[0].code, "bad", "For another event"],
  [unknown, "bad", "Unknown code"],
  ["https://example.com/", "bad", "Not a ticket code"],
]) {
  const verdict = await phone.scan(code);
  expect([verdict.look, verdict.reason], [look, reason], `the code ${code}`);
}
await phone.page.click("#next");
await phone.page.click("#out");
expect((await phone.scan(first)).word, "Checked out", "a ticket that leaves");
await phone.page.waitForSelector("#verdict[hidden]");
await phone.page.click("#in");
expect((await phone.scan(first)).look, "good", "a ticket that comes back");
// A scanner that types like a keyboard.
await phone.page.$eval("#verdict", (verdict) => { verdict.hidden = true; });
const [typed] = next(1);
await phone.page.keyboard.type(typed);
await phone.page.keyboard.press("Enter");
expect((await phone.verdict()).look, "good", "a scanner with keys");
expect(await phone.status("inside"), "Inside: 2 of 59", "the tickets that are inside");
// A ticket that was issued after the roster was loaded.
await phone.page.waitForFunction(() => navigator.serviceWorker.controller !== null);

// Without a connection
phone.network.set("cut");
const offline = next(12);
expect(await phone.looks(offline), offline.map(() => "good"), "valid tickets without a connection");
expect(await phone.looks(offline.slice(0, 3)), ["bad", "bad", "bad"], "the same tickets again without a connection");
expect((await phone.scan(cancelled.code)).look, "bad", "a cancelled ticket without a connection");
const check = await phone.scan(unknown);
expect([check.look, check.reason.startsWith("Not in the list of ")], ["unsure", true], "an unknown code without a connection");
await phone.look("check-by-hand");
await phone.page.click("#let-in");
expect((await phone.verdict()).look, "unsure", "after one tap, nobody is let in");
await phone.page.click("#let-in");
await phone.page.waitForSelector("#verdict.good");
expect((await phone.verdict()).word, "Let in", "let in after a second tap");
await phone.page.waitForSelector("#verdict[hidden]");
await phone.waitFor("waiting", "To report: 17");
await phone.look("offline");
await phone.page.reload();
await phone.page.waitForSelector("#scanner:not([hidden])");
await phone.waitFor("waiting", "To report: 17");
expect(await phone.looks([offline[0], ...next(1)]), ["bad", "good"], "after the page was loaded again without a connection");
await phone.kill();
await phone.start();
await phone.open("/door/");
await phone.waitFor("waiting", "To report: 19");
const [last] = next(1);
expect((await phone.scan(last)).look, "good", "after the browser was killed");
phone.network.set("good");
await phone.reported();
const rows = await log(event);
const isOf = (code) => (row) => row.ticketId === tickets.find((ticket) => ticket.code === code).id;
for (const code of [...offline, last]) {
  const outcomes = rows.filter(isOf(code)).map((row) => row.outcome).filter((outcome) => outcome !== "REFUSED");
  expect(outcomes, ["ADMITTED"], "each scan without a connection arrives once");
}
expect(rows.filter((row) => row.override).map((row) => row.outcome), ["UNKNOWN_CODE"], "the code that was let in");
expect(new Set(rows.map((row) => row.uuid)).size, rows.length, "no scan twice");
// Two codes that no ticket of the event has let nobody in, and are not logged.
expect(rows.filter((row) => row.kind === "IN" || row.kind === "OUT").length, 6 + 20, "all scans are in the log");

// A connection that is too slow: the service gets the request, and its answer is late.
const [slow] = next(1);
await phone.waitFor("signal", "Online");
phone.network.set("slow");
const asked = Date.now();
expect((await phone.scan(slow)).look, "good", "the phone decides if the service does not answer");
const patience = Date.now() - asked;
if (patience < 1400 || patience > 6000) problems.push(`the phone waits ${patience} ms for the service`);
phone.network.set("good");
await phone.reported();
expect((await log(event)).filter(isOf(slow)).map((row) => row.outcome), ["ADMITTED"], "a late answer counts once");
// The same, and the phone, whose list is old, refuses what the service admits: what the staff saw counts.
await phone.waitFor("age", "List: 0 sec");
await api("POST", "tickets/check-out", { code: slow });
phone.network.set("slow");
expect((await phone.scan(slow)).look, "bad", "a phone that does not know that a holder has left");
phone.network.set("good");
await phone.reported();
const corrected = (await log(event)).filter(isOf(slow)).slice(0, 2).map((row) => row.outcome);
expect(corrected, ["LEFT", "ADMITTED"], "a holder who was not let in is not inside");
await phone.waitFor("signal", "Online");
expect((await phone.scan(slow)).look, "good", "the holder comes again");

// Two phones without a connection
const second = await Phone.create("b");
await second.start();
await second.open(gateB);
const [twice] = next(1);
for (const each of [phone, second]) {
  await each.waitFor("signal", "Online");
  each.network.set("cut");
}
expect((await phone.scan(twice)).look, "good", "a ticket at one entrance");
expect((await second.scan(twice)).look, "good", "the same ticket at another entrance, without a connection");
phone.network.set("good");
await phone.reported();
second.network.set("good");
await second.reported();
const outcomes = (await log(event)).filter(isOf(twice)).map((row) => row.outcome).sort();
expect(outcomes, ["ADMITTED", "ADMITTED_TWICE"], "who came in twice is found");
await second.page.waitForSelector("#notices li");
await second.page.waitForSelector("#verdict[hidden]");
await second.look("admitted-twice");

// What is kept on the phone
const stored = await phone.stored();
expect([stored.includes(first), tickets.some((ticket) => stored.includes(ticket.code))], [false, false], "codes on the phone");
expect([stored.includes("Ada"), stored.includes("ada@"), stored.includes("const VERSION")], [false, false, false], "names on the phone");
if (!stored.includes(tickets[0].id) || stored.length < 50_000) problems.push("what the phone has stored was not found");

// A new version of the page waits until everything is reported, and the page is opened again.
const version = () => phone.page.$eval("link[rel=stylesheet]", (link) => link.href.split("/").at(-2));
const old = await version();
const fresh = "0".repeat(16);
phone.network.isBlocked = true;
phone.network.version = [old, fresh];
expect(await phone.looks(next(1)), ["good"], "a ticket while there is a new version");
await phone.page.reload();
await phone.page.waitForSelector("#scanner:not([hidden])");
await phone.page.waitForFunction(async () => (await navigator.serviceWorker.getRegistration()).waiting !== null);
await phone.page.reload();
await phone.page.waitForSelector("#scanner:not([hidden])");
expect(await version(), old, "the version with a scan that is not reported");
phone.network.isBlocked = false;
await phone.reported();
await phone.page.reload();
const isVersion = (fresh) => document.querySelector("link[rel=stylesheet]").href.includes(fresh);
await phone.page.waitForFunction(isVersion, {}, fresh).catch(async () => expect(await version(), fresh, "the new version"));
await phone.page.waitForSelector("#scanner:not([hidden])");

// A phone that cannot store a scan lets nobody in.
await phone.page.evaluate(() => { IDBObjectStore.prototype.add = () => { throw new DOMException("full", "QuotaExceededError"); }; });
const [lost] = next(1);
const unkept = await phone.scan(lost);
expect([unkept.look, unkept.reason], ["unsure", "This phone cannot keep scans. Use another one"], "a scan that cannot be stored");
expect((await log(event)).filter(isOf(lost)).length, 0, "the service knows nothing of a scan that was not stored");
await phone.look("not-kept");

// Another window takes over.
const window2 = await phone.browser.newPage();
await window2.goto(`${phone.base}/door/`);
await window2.waitForSelector("#scanner:not([hidden])");
await phone.page.waitForSelector("#message:not([hidden])");
await phone.look("other-window");
await window2.close();

// A link that expires: the list goes, and the scans stay for the next link.
const until = new Date(Date.now() + 8000).toISOString();
const third = await Phone.create("c");
await third.start();
await third.open(doorLink(event, "Gate C", "--until", until));
await third.waitFor("signal", "Online");
third.network.set("cut");
const [kept] = next(1);
expect((await third.scan(kept)).look, "good", "a ticket before the link expires");
await new Promise((resolve) => { setTimeout(resolve, Date.parse(until) - Date.now()); });
third.network.set("good");
await third.page.waitForSelector("#message:not([hidden])");
await third.look("expired");
const text = await third.page.$eval("#message", (message) => message.textContent);
expect(text.includes("This link no longer works") && text.includes("not reported: 1."), true, "a link that has expired");
expect((await third.stored()).includes(tickets[0].id), false, "the list is gone");
await third.open(gateB);
await third.reported();
expect((await log(event)).filter(isOf(kept)).map((row) => row.outcome), ["ADMITTED"], "reported with another link");
await third.browser.close();
third.network.close();
await Promise.all([phone.browser.close(), second.browser.close()]);

// The control: a page that lets holders in before it has stored the scan loses scans.
const control = await Phone.create("d");
control.network.changes = [["/queue.js", "async change({", `async change(change) {
  setTimeout(() => this.store(change), 5000);
  this.scans = [...this.scans, ...(change.add ?? [])];
}
async store({`]];
await control.start();
await control.open(gateB);
await control.page.waitForFunction(() => navigator.serviceWorker.controller !== null);
await control.waitFor("signal", "Online");
control.network.set("cut");
expect(await control.looks(next(3)), ["good", "good", "good"], "a page that stores later");
await control.kill();
await control.start();
await control.open("/door/");
expect(await control.status("waiting"), "To report: 0", "scans that are lost by a page that stores later");
await control.browser.close();
control.network.close();

// The camera
const [seen] = next(1);
const reel = path.join(folder, "film.mjpeg");
await film(reel, [seen, cancelled.code, other.tickets[0].code, "WIFI:S:guests;;", unknown]);
await phone.start([
  "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream", `--use-file-for-fake-video-capture=${reel}`,
]);
await phone.open("/door/");
await phone.waitFor("signal", "Online");
await phone.page.evaluate(() => {
  window.verdicts = [];
  const verdict = document.querySelector("#verdict");
  const note = () => {
    const text = ["word", "reason"].map((name) => verdict.querySelector(`.${name}`).textContent).join(" ").trim();
    if (!verdict.hidden && window.verdicts.at(-1) !== text) window.verdicts.push(text);
  };
  new MutationObserver(note).observe(verdict, { attributes: true, childList: true, subtree: true });
});
await phone.page.click("#start");
await phone.page.waitForFunction(() => window.verdicts.some((text) => text.includes("Already")), { timeout: 30_000 }).catch(() => {});
const verdicts = (await phone.page.evaluate(() => window.verdicts)).map((text) => text.replace(/ First at.*/, ""));
for (const text of [
  "Admitted", "No entry The ticket is cancelled", "No entry For another event", "No entry Not a ticket code",
  "No entry Unknown code", "No entry Already checked in.",
]) {
  if (!verdicts.includes(text)) problems.push(`the camera does not lead to "${text}", but to ${JSON.stringify(verdicts)}`);
}
expect(verdicts.filter((text) => text === "Admitted").length, 1, "the ticket in the film is admitted once");
await phone.page.click("#next").catch(() => {});
await phone.page.click("summary");
await phone.look("camera");
await phone.browser.close();

for (const each of [phone, second]) each.network.close();
if (problems.length > 0) process.exit(1);
console.log(`The page for check-in works with and without a connection. First ticket after ${greenAfter} ms`);
