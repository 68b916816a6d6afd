// What a phone keeps, and how it loses it: new versions of the page, a full disk, a second window, links that end, and a phone
// that is to be forgotten.
import fs from "node:fs";
import path from "node:path";
import { api, doorLink, expect, log, pause, Phone, publish, revoke } from "./phone.mjs";

const { event, tickets } = await publish("keeping", 40);
const other = await publish("other-keeping", 1);
const codes = tickets.map((ticket) => ticket.code);
const next = (count) => codes.splice(0, count);
const outcomesOf = async (code) => {
  const { id } = tickets.find((ticket) => ticket.code === code);
  return (await log(event)).filter((row) => row.ticketId === id).map((row) => row.outcome);
};

/** The scans in the file that a phone saves when a button is clicked. */
async function saved(phone, click) {
  const files = () => fs.readdirSync(phone.folder).filter((name) => name.endsWith(".json"));
  files().forEach((name) => fs.rmSync(path.join(phone.folder, name)));
  await click();
  for (let tries = 0; files().length === 0 && tries < 500; tries += 1) await pause(20);
  return JSON.parse(fs.readFileSync(path.join(phone.folder, files()[0]), "utf8"));
}

const buttons = (phone) => phone.page.$$eval("#message button", (all) => all.map((button) => button.textContent));
const sorted = (scans) => scans.map((scan) => scan.id).sort();

/** A new version of the page waits until everything is reported, and the page is opened again. */
async function newVersion(phone) {
  const version = () => phone.page.$eval("link[rel=stylesheet]", (link) => link.href.split("/").at(-2));
  const old = await version();
  const fresh = "0".repeat(16);
  phone.network.isBlocked = true;
  phone.network.version = [old, fresh];
  // A browser that never changes to the new version.
  phone.network.changes = [["/sw.js", "self.skipWaiting()", "null"]];
  expect(await phone.looks(next(1)), ["good"], "a ticket while there is a new version");
  await phone.reload();
  await phone.page.waitForFunction(async () => (await navigator.serviceWorker.getRegistration()).waiting !== null);
  await phone.reload();
  expect(await version(), old, "the version with a scan that is not reported");
  phone.network.isBlocked = false;
  await phone.reported();
  await phone.reload();
  expect(await version(), old, "the version in a browser that does not change to the new one");
  phone.network.changes = [];
  for (let tries = 0; tries < 20 && (await version()) === old; tries += 1) await phone.reload();
  expect(await version(), fresh, "the new version");
}

/** A phone that cannot store a scan lets nobody in. */
async function fullDisk(phone) {
  await phone.page.evaluate(() => { IDBObjectStore.prototype.add = () => { throw new DOMException("full", "QuotaExceededError"); }; });
  const [lost] = next(1);
  const unkept = await phone.scan(lost);
  expect([unkept.look, unkept.reason], ["unsure", "This phone cannot keep scans. Use another one"], "a scan that cannot be stored");
  expect(await outcomesOf(lost), [], "the service knows nothing of a scan that was not stored");
  await phone.look("not-kept");
}

/** A ticket whose log is full still comes in, and the page says that this is not recorded. */
async function fullLog(phone) {
  const [code] = next(1);
  const refused = () => ({
    id: crypto.randomUUID(), code, kind: "IN", scannedAt: new Date().toISOString(), verdict: "REFUSED",
  });
  for (let rows = 0; rows < 200; rows += 100) {
    const scans = Array.from({ length: 100 }, refused);
    await api("POST", "tickets/scans", { eventId: event, device: "Office", scans });
  }
  expect(await phone.looks([code]), ["good"], "a ticket whose log is full");
  expect((await outcomesOf(code)).length, 200, "the rows of a full log");
  await phone.reported();
  await phone.page.waitForSelector("#notices li");
  const notices = () => phone.page.$$eval("#notices p", (texts) => texts.map((text) => text.textContent));
  const full = "Some scans were not recorded: the log is full. Admission goes on. Tell the organizer.";
  expect(await notices(), [full], "what is said of a full log");
  await phone.look("log-full");
  // The verdict may still cover it.
  await phone.page.$eval("#notices button", (button) => button.click());
  await phone.page.waitForFunction(() => document.querySelector("#notices li") === null);
}

async function secondWindow(phone) {
  const window = await phone.browser.newPage();
  await window.goto(`${phone.base}/door/`);
  await window.waitForSelector("#scanner:not([hidden])");
  await phone.message();
  await phone.look("other-window");
  await window.close();
  await phone.choose("Use it here");
  await phone.scanner();
}

/** A link that ends: the list goes, and the scans stay for a file, or for the next link of the event. */
async function linkThatEnds(phone, link, end, state) {
  await phone.open(link.path);
  await phone.waitFor("signal", "Online");
  phone.network.set("cut");
  const kept = next(2);
  expect(await phone.looks(kept), ["good", "good"], `tickets before the link is ${state}`);
  const { scans } = await phone.database();
  await end();
  phone.network.set("good");
  const text = await phone.message();
  await phone.look(state);
  expect(text.includes("This link no longer works") && text.includes("not reported: 2."), true, `a link that is ${state}`);
  const stored = await phone.stored();
  expect([stored.includes(tickets[0].id), stored.includes(link.path.split("/").at(-1))], [false, false], "the list and the key are gone");
  const file = await saved(phone, () => phone.choose("Save scans as a file"));
  expect([file.scans.length, sorted(file.scans)], [2, sorted(scans)], `the file of a phone whose link is ${state}`);
  return kept;
}

/** "Forget this phone" deletes everything, once everything is reported or saved. */
async function forget(phone, link) {
  const isEmpty = async () => Object.values(await phone.database()).every((rows) => rows.length === 0);
  const ask = async () => {
    await phone.page.waitForSelector("#verdict[hidden]");
    await phone.page.$eval("details", (details) => { details.open = true; });
    await phone.page.click("#forget");
    return phone.message();
  };
  await phone.open(link.path);
  expect(await isEmpty(), false, "a phone that is used");
  await ask();
  await phone.choose("Cancel");
  await phone.scanner();
  // With everything reported
  await ask();
  await phone.look("forget");
  await phone.choose("Forget this phone");
  await phone.page.waitForFunction(() => document.querySelector("#message").textContent.includes("Not set up yet"));
  expect(await isEmpty(), true, "a phone that was forgotten");
  // With scans that are not reported
  await phone.open(link.path);
  await phone.waitFor("signal", "Online");
  phone.network.set("cut");
  expect(await phone.looks(next(3)), ["good", "good", "good"], "tickets before a phone is forgotten");
  const { scans } = await phone.database();
  await ask();
  expect(await buttons(phone), ["Save scans as a file", "Cancel"], "what can be done with scans that are not reported");
  await phone.look("forget-unreported");
  const file = await saved(phone, () => phone.choose("Save scans as a file"));
  expect([file.scans.length, sorted(file.scans)], [3, sorted(scans)], "the file of a phone that is to be forgotten");
  expect(await buttons(phone), ["Forget this phone", "Cancel"], "what can be done once scans are saved");
  await phone.choose("Forget this phone");
  await phone.page.waitForFunction(() => document.querySelector("#message").textContent.includes("Not set up yet"));
  expect(await isEmpty(), true, "a phone that was forgotten after its scans were saved");
  phone.network.set("good");
}

/** A link of another event, while scans of the first wait. */
async function otherEvent(phone, link, otherLink) {
  await phone.open(link.path);
  await phone.waitFor("signal", "Online");
  phone.network.isBlocked = true;
  const [waiting] = next(1);
  expect(await phone.looks([waiting]), ["good"], "a ticket of the first event");
  const { scans } = await phone.database();
  const openOther = async () => {
    await phone.page.goto(phone.base + otherLink.path);
    const text = await phone.message();
    expect(text.includes("not reported: 1."), true, "a link of another event");
    expect(await buttons(phone), ["Save scans as a file", "Cancel"], "what can be done with scans of the first event");
  };
  const saveAll = async () => {
    const file = await saved(phone, () => phone.choose("Save scans as a file"));
    expect(sorted(file.scans), sorted(scans), "the file of a phone with a link of another event");
    expect(/^Gate A [0-9A-F]{4}$/.test(file.device), true, "the device in the file");
  };
  await openOther();
  await phone.look("other-event");
  await saveAll();
  await phone.choose("Cancel");
  await phone.waitFor("waiting", "Unsent: 1");
  expect((await phone.database()).scans, scans, "scans of an event that stays");
  await openOther();
  await saveAll();
  phone.network.isBlocked = false;
  await phone.choose("Delete and replace");
  await phone.scanner();
  await phone.waitFor("inside", "of 1");
  const stored = await phone.stored();
  const isOther = [stored.includes(event), stored.includes(tickets[0].id), stored.includes(other.tickets[0].id)];
  expect(isOther, [false, false, true], "a phone whose event was replaced");
  expect(await phone.looks([waiting, other.tickets[0].code]), ["bad", "good"], "tickets after the event was replaced");
  expect(await outcomesOf(waiting), [], "scans that were deleted");
}

/** The control: a page that lets holders in before it has stored the scan loses scans. */
async function control(link) {
  const phone = await Phone.create("control");
  phone.network.changes = [["/queue.js", "async change({", `async change(change) {
    setTimeout(() => this.store(change), 5000);
    this.scans = [...this.scans, ...(change.add ?? [])];
  }
  async store({`]];
  await phone.start();
  await phone.open(link.path);
  await phone.kept();
  await phone.waitFor("signal", "Online");
  phone.network.set("cut");
  expect(await phone.looks(next(3)), ["good", "good", "good"], "a page that stores later");
  await phone.kill();
  await phone.start();
  await phone.open("/door/");
  expect(await phone.status("waiting"), "Unsent: 0", "scans that are lost by a page that stores later");
  await phone.close();
}

export async function keeping() {
  const link = doorLink(event, "Gate A");
  const phone = await Phone.create("keeping");
  await phone.start();
  await phone.open(link.path);
  await phone.kept();
  await newVersion(phone);
  await fullLog(phone);
  await fullDisk(phone);
  await secondWindow(phone);
  const until = new Date(Date.now() + 8000).toISOString();
  const expiring = doorLink(event, "Gate B", "--until", until);
  const expires = () => pause(Date.parse(until) - Date.now());
  const revoked = doorLink(event, "Gate C");
  for (const [each, end, state] of [[expiring, expires, "expired"], [revoked, () => revoke(revoked), "revoked"]]) {
    const kept = await linkThatEnds(phone, each, end, state);
    await phone.open(link.path);
    await phone.reported();
    for (const code of kept) expect(await outcomesOf(code), ["ADMITTED"], "reported with another link");
  }
  await forget(phone, link);
  await otherEvent(phone, link, doorLink(other.event, "Gate D"));
  await phone.close();
  await control(link);
}
