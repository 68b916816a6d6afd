// What the page shows: words in the language of the browser, and the parts of the page.

import allWords from "./words.js";
import { localDay } from "./admission.js";
import { signal } from "./signals.js";

const wanted = navigator.languages.map((tag) => tag.split("-")[0]);
const language = wanted.find((tag) => tag in allWords) ?? "en";
// The region decides how times are written.
const locale = navigator.languages.find((tag) => tag.startsWith(language)) ?? language;

export const words = allWords[language];

export const find = (selector) => document.querySelector(selector);

/** A text of `words` with values in place of the names in braces. */
export const fill = (text, values) => text.replaceAll(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

const DAY = { weekday: "short", day: "numeric", month: "short" };

/** The time of an instant in a zone, with the date if it is another day than now. */
export function time(at, zone, now) {
  try {
    const days = Math.abs(localDay(zone, at) - localDay(zone, now));
    const date = { ...(days > 0 && DAY), ...(days > 180 && { year: "numeric" }) };
    const format = new Intl.DateTimeFormat(locale, { ...date, hour: "numeric", minute: "2-digit", timeZone: zone });
    const text = format.format(at);
    return language === "fr" ? text.replace(/0?(\d{1,2}):(\d\d)/, frenchTime) : text;
  } catch {
    return new Date(at).toISOString().slice(0, 16);
  }
}

/** A time as the other pages have it: "4 h 14", "19 h". */
const frenchTime = (_, hour, minute) => (minute === "00" ? `${hour}\u00a0h` : `${hour}\u00a0h\u00a0${minute}`);

/** Days since 1970-01-01, three of them at most. */
function dates(days) {
  const format = new Intl.DateTimeFormat(locale, { ...DAY, timeZone: "UTC" });
  const texts = days.slice(0, 3).map((day) => format.format(day * 86_400_000));
  return new Intl.ListFormat(locale).format(texts) + (days.length > 3 ? " \u2026" : "");
}

/** How long something takes, in seconds or minutes. */
export function duration(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const [value, unit] = seconds < 60 ? [seconds, "second"] : [Math.floor(seconds / 60), "minute"];
  return new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "short" }).format(value);
}

/** Writes the words into the page that never change. */
export function label() {
  document.documentElement.lang = language;
  document.title = words.title;
  const texts = {
    "#start": words.start, "#typed label": words.code, "#typed button": words.checkCode, "#in": words.in, "#out": words.out,
    summary: words.more, "label[for=cameras]": words.camera, "#torch": words.light, "#save": words.save,
    "#forget": words.forget, "#next": words.next,
  };
  for (const [selector, text] of Object.entries(texts)) find(selector).textContent = text;
}

/** Whether the message that is shown in place of the scanner can be left. */
let canLeave = false;

/**
 * Shows a page with a message in place of the scanner. `buttons` are pairs of a text and what a click does. If the staff may
 * leave the message, the last one does that.
 */
export function showMessage({ title, text }, buttons = [], mayLeave = false) {
  hideVerdict();
  canLeave = mayLeave;
  find("header").hidden = true;
  find("#scanner").hidden = true;
  const message = find("#message");
  message.hidden = false;
  message.querySelector("h1").textContent = title;
  message.querySelector("p").textContent = text;
  const made = buttons.map(([name, act]) => button(name, act));
  if (mayLeave) made.at(-1).className = "main leave";
  message.querySelector(".buttons").replaceChildren(...made);
  message.scrollTop = 0;
}

export function showScanner() {
  canLeave = false;
  find("#message").hidden = true;
  find("header").hidden = false;
  find("#scanner").hidden = false;
}

/** Ends a verdict, or else a message that can be left. */
export function leave() {
  if (!find("#verdict").hidden) hideVerdict();
  else if (canLeave) showScanner();
}

/** Shows the scanner without a verdict, unless a message is shown that must stay. Returns whether it is shown. */
export function backToScanner() {
  if (find("#scanner").hidden && !canLeave) return false;
  hideVerdict();
  showScanner();
  return true;
}

export function button(name, act) {
  const made = document.createElement("button");
  made.textContent = name;
  made.addEventListener("click", act);
  return made;
}

export function setStatus(id, text, look = "") {
  const item = find(`#${id}`);
  // Screen readers would read the same again.
  if (item.textContent !== text) item.textContent = text;
  item.className = look;
}

/** Adds a notice, and returns it. `dismissed` is called when the staff has seen it. */
export function addNotice(text, dismissed) {
  const item = document.createElement("li");
  const paragraph = document.createElement("p");
  paragraph.textContent = text;
  const dismiss = () => {
    item.remove();
    dismissed();
  };
  item.append(paragraph, button(words.ok, dismiss));
  find("#notices").prepend(item);
  return item;
}

/** The notices of conflicts, by the ids of their scans. */
const notices = new Map();

/** Shows the conflicts (see `roster.js`) that the staff has not seen, and removes those that were resolved. */
export function showConflicts(roster, now) {
  const open = roster.conflicts.filter(({ isSeen }) => !isSeen);
  for (const [id, notice] of notices) {
    if (open.some((conflict) => conflict.id === id)) continue;
    notice.remove();
    notices.delete(id);
  }
  for (const conflict of open.filter(({ id }) => !notices.has(id))) {
    // If it cannot be stored that it was seen, it is shown when the page is opened again.
    const dismissed = () => roster.dismiss(conflict).catch(() => {});
    notices.set(conflict.id, addNotice(describeConflict(conflict, roster, now), dismissed));
  }
}

function describeConflict({ outcome, other, ticketId, type, at, device }, roster, now) {
  const of = (instant) => time(instant, roster.head.event.timezone, now);
  const ticket = roster.get(ticketId);
  const where = device === roster.device ? "" : device;
  const text = fill(outcome === "ADMITTED_TWICE" ? words.admittedTwice : words.wouldBeRefused, {
    // Version 0.3.0 of the page stored the name of the type.
    type: ticket === null ? type : roster.type(ticket)?.name, time: [of(at), where].filter(Boolean).join(", "),
  });
  const first = other && fill(other.device ? words.firstWithDevice : words.first, {
    time: of(Date.parse(other.at)), device: other.device,
  });
  return [text, first].filter(Boolean).join(". ");
}

const LOOKS = {
  admitted: ["good", "M4 12.5l5.5 5.5L20 7"],
  left: ["good", "M4 12h15M13 6l6 6-6 6"],
  exception: ["good", "M4 12.5l5.5 5.5L20 7"],
  refused: ["bad", "M5 5l14 14M19 5L5 19"],
  check: ["unsure", "M12 4v10M12 19.5v.1"],
};

let timer;
/** What had the focus before a verdict was shown. */
let focused = null;

/** Shows a verdict on the whole screen. `letIn` is called if the staff decides against it; null if that is not possible. */
export function showVerdict({ result, reason, fact, at, device, type, areas, label }, { zone, now, letIn }) {
  const [look, icon] = LOOKS[result];
  const verdict = find("#verdict");
  const text = (selector, value) => { verdict.querySelector(selector).textContent = value ?? ""; };
  if (verdict.hidden) focused = document.activeElement;
  verdict.className = look;
  verdict.querySelector("path").setAttribute("d", icon);
  text(".word", words[result]);
  text(".type", type);
  text(".areas", areas?.join(" · "));
  text(".label", label);
  const when = at ? time(at, zone, now) : null;
  const lines = [reason && because(reason, fact, when, zone, now)];
  if (reason === "already-checked-in" && when !== null) {
    lines.push(fill(device ? words.firstWithDevice : words.first, { time: when, device }));
  }
  text(".reason", lines.filter(Boolean).join(". "));
  showLetIn(look === "good" ? null : letIn);
  find("#next").hidden = look === "good";
  verdict.hidden = false;
  cover(true);
  (look === "good" ? verdict : find("#next")).focus({ preventScroll: true });
  signal(look);
  clearTimeout(timer);
  if (look === "good") timer = setTimeout(hideVerdict, 1500);
}

/** Why, with what the rules say if that is known: "Valid from Sun 29 Nov, 04:14". */
function because(reason, fact, when, zone, now) {
  if (fact === null || fact === undefined) return fill(words.reasons[reason] ?? reason, { time: when });
  const values = Array.isArray(fact) ? { days: dates(fact) } : { time: time(fact, zone, now) };
  return fill(words.facts[reason], values);
}

/** Keeps what is behind a verdict from the keyboard and from screen readers. */
function cover(isCovered) {
  for (const pane of document.querySelectorAll("#message, #scanner")) pane.inert = isCovered;
}

/** The button that lets a holder in against the verdict: it has to be tapped twice. */
function showLetIn(letIn) {
  const old = find("#let-in");
  let isSure = false;
  const fresh = button(words.letInAnyway, () => {
    if (isSure) return letIn();
    isSure = true;
    fresh.textContent = words.tapAgain;
  });
  fresh.id = "let-in";
  fresh.hidden = letIn === null;
  old.replaceWith(fresh);
}

export function hideVerdict() {
  clearTimeout(timer);
  find("#verdict").hidden = true;
  cover(false);
  // In a field it would open the keyboard of a phone.
  if (focused?.isConnected && !focused.matches("input, select")) focused.focus({ preventScroll: true });
  focused = null;
}
