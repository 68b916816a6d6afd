// The page for check-in: starts it, and connects its parts.
//
// `door.js` decides, `view.js` shows, `storage.js` keeps. The link of the entrance comes in the fragment of the address, which
// browsers never send: https://host/door/#event_.../tk_...

import { normalizeCode, readCode } from "./admission.js";
import { Camera } from "./camera.js";
import { Door } from "./door.js";
import { lookUp, orderNumber } from "./order.js";
import { Queue } from "./queue.js";
import { Roster } from "./roster.js";
import { Service, ServiceError } from "./service.js";
import { allowSound, keepAwake } from "./signals.js";
import { openStorage } from "./storage.js";
import * as view from "./view.js";

const { words, find, fill } = view;

/** For how long a code that stays in view is not scanned again, in milliseconds. */
const SAME_CODE = 3000;
/** How often the service is tried, in milliseconds. */
const RETRY = 3000;
/** For how long a browser is given to change to a new version of the page, in milliseconds. */
const UPDATE = 5000;
/** From when on the roster is called old, in milliseconds. */
const OLD = 60_000;

let storage;
let queue;
let roster;
let service;
let door;
let deviceName;
let kind = "IN";
/** Whether this window is the one that scans. */
let isActive = true;
/** Whether the staff was told that nothing can be stored. */
let isWarned = false;

async function main() {
  view.label();
  const link = readFragment();
  if (!window.isSecureContext || !crypto.subtle) return view.showMessage(words.insecure);
  await becomeActive();
  try {
    storage = await openStorage();
    queue = new Queue(storage);
    await queue.load();
    deviceName = await storage.value("deviceName");
  } catch {
    return view.showMessage(words.noStorage);
  }
  // Otherwise the link would be lost.
  const mayUpdate = link === null && queue.scans.length === 0;
  if (await updatePage(mayUpdate)) return;
  window.addEventListener("hashchange", () => location.reload());
  const known = await storage.value("link");
  if (link !== null && known !== undefined && known.event !== link.event && queue.scans.length > 0) {
    return askToReplace(known, link);
  }
  await enter(link ?? known);
}

/** The link in the address, which is removed from there. */
function readFragment() {
  const found = /^#(event_[0-9A-Z]{13})\/(tk_[0-9A-Za-z_-]+)$/.exec(location.hash);
  if (location.hash !== "") history.replaceState(null, "", location.pathname);
  return found && { event: found[1], key: found[2] };
}

/** Only one window scans: the one that was opened last. */
function becomeActive() {
  if (!navigator.locks) return Promise.resolve();
  return new Promise((resolve) => {
    const forever = () => new Promise(() => resolve());
    navigator.locks.request("ticketing-door", { steal: true }, forever).catch(() => {
      isActive = false;
      camera.stop();
      view.showMessage(words.otherWindow, [[words.useHere, () => location.reload()]]);
    });
  });
}

/**
 * Changes to a new version of the page, if there is one and it may. Resolves to whether it does: a browser that is slow to
 * change shows the old version until the page is opened again.
 */
async function updatePage(mayUpdate) {
  const workers = navigator.serviceWorker;
  if (!workers) return false;
  const waiting = (await workers.getRegistration())?.waiting;
  workers.register("sw.js").catch(() => {});
  if (!waiting || !mayUpdate) return false;
  const isNew = new Promise((resolve) => {
    workers.addEventListener("controllerchange", () => resolve(true), { once: true });
    setTimeout(resolve, UPDATE, false);
  });
  waiting.postMessage("activate");
  if (!await isNew) return false;
  location.reload();
  return true;
}

function askToReplace(known, link) {
  const replace = async () => {
    await wipe();
    await enter(link);
  };
  askToDelete(words.replaceQuestion, [words.replace, replace], [words.cancel, () => enter(known)]);
}

/** Starts with a link. */
async function enter(link) {
  if (!link?.key) {
    // An answer may have been stored after this phone was forgotten.
    if (link === undefined && queue.scans.length === 0) await wipe();
    return showNoLink(words.noLink);
  }
  const known = await storage.value("link");
  await storage.write(({ values, tickets }) => {
    values.put(link, "link");
    if (known !== undefined && known.event !== link.event) {
      tickets.clear();
      values.delete("roster");
      values.delete("conflicts");
    }
  });
  navigator.storage?.persist?.().catch(() => {});
  roster = new Roster(storage);
  await roster.load();
  service = new Service(link, (await storage.value("offset")) ?? 0);
  let suffix = await storage.value("device");
  if (suffix === undefined) {
    suffix = crypto.randomUUID().slice(0, 4).toUpperCase();
    await storage.write(({ values }) => values.put(suffix, "device"));
  }
  while (roster.head === null) {
    if (!(await loadFirst())) return;
  }
  deviceName = `${(roster.head.gate ?? "").slice(0, 59)} ${suffix}`.trim();
  await storage.write(({ values }) => values.put(deviceName, "deviceName"));
  roster.device = deviceName;
  const notify = { changed: render, revoked, loading: () => {}, logFull };
  door = new Door({ roster, queue, service, device: deviceName, notify });
  const { event, gate } = roster.head;
  find("#gate").textContent = gate ?? event.title;
  find("#event").textContent = gate === null ? "" : event.title;
  find("#device").textContent = fill(words.device, { device: deviceName });
  view.showScanner();
  render();
  setInterval(render, 1000);
  synchronize();
}

/** Loads the roster for the first time. Resolves to false if the link does not work. */
async function loadFirst() {
  const loading = (done, all) => view.showMessage({ ...words.loading, text: fill(words.loading.text, { done, all }) });
  view.showMessage({ ...words.loading, text: "" });
  try {
    await roster.reload((cursor, limit) => service.roster(cursor, limit), loading);
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      view.showMessage(words.noStorage);
      return false;
    }
    if ([401, 403, 404].includes(error.status)) {
      await revoked();
      return false;
    }
    view.showMessage(words.noConnection);
    await new Promise((resolve) => { setTimeout(resolve, RETRY); });
  }
  return true;
}

async function synchronize() {
  if (!isActive) return;
  try {
    await door.synchronize();
    await storage.write(({ values }) => values.put(service.offset, "offset"));
  } catch {
    if (!isWarned) view.addNotice(words.reasons["cannot-be-kept"], () => { isWarned = false; });
    isWarned = true;
  }
  setTimeout(synchronize, RETRY);
}

function render() {
  if (!isActive) return;
  const age = Date.now() - roster.head.at;
  const waiting = queue.scans.length;
  const problems = queue.scans.filter((scan) => scan.problem !== undefined).length;
  const { tickets, cancelled } = roster.counts;
  view.setStatus("signal", door.isOnline ? words.online : words.offline, door.isOnline ? "" : "unsure");
  view.setStatus("age", fill(words.age, { age: view.duration(age) }), age > OLD ? "unsure" : "");
  const unreported = problems > 0 ? words.problems : words.waiting;
  view.setStatus("waiting", fill(unreported, { count: problems || waiting }), problems > 0 ? "bad" : "");
  view.setStatus("inside", fill(words.inside, { inside: roster.inside(queue), expected: tickets - cancelled }));
  view.showConflicts(roster, service.now());
}

// Scanning

/** When each code was last in view. */
const seen = new Map();
let isWorking = false;
let work = Promise.resolve();

/** A code in view of the camera. */
function sighted(text) {
  if (find("#scanner").hidden) return;
  const code = readCode(text);
  const now = Date.now();
  seen.forEach((at, old) => { if (now - at >= SAME_CODE) seen.delete(old); });
  const isSame = seen.has(code);
  if (!isSame && isWorking) return;
  seen.set(code, now);
  if (!isSame) check(code);
}

/** Scans a code, after those before it. */
function check(code) {
  decide(() => door.scan(code, kind));
}

/** Shows what is decided, after what was asked before. */
function decide(ask) {
  isWorking = true;
  work = work.then(() => scan(ask)).finally(() => { isWorking = false; });
  return work;
}

async function scan(ask) {
  if (!isActive || !door) return;
  let verdict;
  try {
    verdict = await ask();
  } catch {
    verdict = { result: "check", reason: "cannot-be-kept" };
  }
  if (!isActive) return;
  const letIn = kind === "IN" && verdict.subject ? () => letInAnyway(verdict) : null;
  show(verdict, letIn);
}

async function letInAnyway({ subject, type, areas }) {
  try {
    await door.letIn(subject);
    show({ result: "exception", type, areas }, null);
  } catch {
    show({ result: "check", reason: "cannot-be-kept" }, null);
  }
}

function show(verdict, letIn) {
  view.showVerdict(verdict, { zone: roster.head.event.timezone, now: service.now(), letIn });
}

let isLogFull = false;

/** The service has admitted or refused somebody, and has no room to record it. */
function logFull() {
  if (!isLogFull) view.addNotice(words.logFull, () => { isLogFull = false; });
  isLogFull = true;
}

// The camera

const camera = new Camera(find("video"), sighted);

const PROBLEMS = { NotAllowedError: "cameraRefused", SecurityError: "cameraRefused", NotFoundError: "cameraMissing" };

async function startCamera(id) {
  const problem = find("#camera-problem");
  problem.hidden = true;
  find("#start").hidden = true;
  try {
    await camera.start(id);
    await storage.write(({ values }) => values.put(camera.id, "camera"));
    const options = (await camera.list()).map(({ id: value, name }) => new Option(name, value, false, value === camera.id));
    find("#cameras").replaceChildren(...options);
    find("#torch").hidden = !camera.hasTorch;
  } catch (error) {
    camera.stop();
    problem.textContent = words[PROBLEMS[error.name] ?? "cameraBusy"];
    problem.hidden = false;
    find("#start").hidden = false;
  }
}

// What ends the work of a device

function save() {
  const text = JSON.stringify({ device: deviceName, scans: queue.scans }, null, 1);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = `scans-${new Date().toISOString().slice(0, 16).replaceAll(":", "-")}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), RETRY);
}

async function wipe() {
  await storage.write((stores) => Object.values(stores).forEach((store) => store.clear()));
  queue.scans = [];
}

/** The link does not work any more: the roster goes, and what was not reported stays, for another link of the event. */
async function revoked() {
  isActive = false;
  camera.stop();
  const link = await storage.value("link");
  await storage.write(({ values, tickets }) => {
    tickets.clear();
    values.delete("roster");
    values.put({ event: link.event, key: null }, "link");
  });
  showNoLink(words.revoked);
}

function showNoLink({ title, text }) {
  const count = queue.scans.length;
  if (count === 0) return view.showMessage({ title, text });
  const unreported = `${text} ${fill(words.unreported, { count })}`;
  view.showMessage({ title, text: unreported }, [[words.save, save], [words.forget, askToForget]]);
}

async function askToForget() {
  // Otherwise a scan could come after the file.
  camera.stop();
  await work;
  isActive = false;
  const back = () => location.reload();
  askToDelete(words.forgetQuestion, [words.forget, () => wipe().then(back)], [words.cancel, back]);
}

/** Asks before everything is deleted, with two buttons. What was not reported has to be saved before. */
function askToDelete({ title, text }, confirm, cancel) {
  const ask = () => view.showMessage({ title, text }, [confirm, cancel]);
  const count = queue.scans.length;
  if (count === 0) return ask();
  const saveFirst = () => {
    save();
    ask();
  };
  const unreported = `${text} ${fill(words.unreported, { count })}`;
  view.showMessage({ title, text: unreported }, [[words.save, saveFirst], cancel]);
}

// What the staff does

find("#start").addEventListener("click", async () => {
  allowSound();
  keepAwake();
  await startCamera((await storage.value("camera")) ?? null);
});
find("#cameras").addEventListener("change", (event) => startCamera(event.target.value));
find("#torch").addEventListener("click", async ({ target }) => {
  const isOn = target.getAttribute("aria-pressed") !== "true";
  await camera.setTorch(isOn);
  target.setAttribute("aria-pressed", String(isOn));
});
find("#typed").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = find("#code");
  const [code, order] = [readCode(field.value), orderNumber(normalizeCode(field.value))];
  field.value = "";
  field.blur();
  allowSound();
  // The code of another seller can look like the number of an order.
  if (order !== null && !(await door.knows(code))) lookUp(order, { door, show, scan: (ticket) => decide(() => door.scanOfOrder(ticket, kind)) });
  else if (code !== "") check(code);
});
document.addEventListener("keydown", ({ key, ctrlKey, metaKey, target }) => {
  if (target.matches("input, select")) return;
  // A scanner that types like a keyboard writes into the field, wherever the focus is.
  const isTyping = key.length === 1 && key !== " " && !ctrlKey && !metaKey;
  if (key === "Escape") view.leave();
  if (isTyping && view.backToScanner()) find("#code").focus();
});
for (const [id, direction] of [["in", "IN"], ["out", "OUT"]]) {
  find(`#${id}`).addEventListener("click", () => {
    kind = direction;
    seen.clear();
    for (const other of ["in", "out"]) find(`#${other}`).setAttribute("aria-pressed", String(other === id));
  });
}
find("#next").addEventListener("click", view.hideVerdict);
find("#verdict").addEventListener("click", ({ currentTarget }) => {
  if (currentTarget.className === "good") view.hideVerdict();
});
find("#save").addEventListener("click", save);
find("#forget").addEventListener("click", askToForget);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "visible" || !isActive || find("#start").hidden === false) return;
  keepAwake();
  // Phones stop the camera of a page in the background.
  if (!camera.isOn) startCamera(camera.id);
});

main();
