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

/** The time of an instant in a zone, with the date if it is another day than now. */
export function time(at, zone, now) {
  try {
    const sameDay = localDay(zone, at) === localDay(zone, now);
    const style = { timeStyle: "short", timeZone: zone, ...(!sameDay && { dateStyle: "short" }) };
    return new Intl.DateTimeFormat(locale, style).format(at);
  } catch {
    return new Date(at).toISOString().slice(0, 16);
  }
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

/** Shows a page with a message in place of the scanner. `buttons` are pairs of a text and what a click does. */
export function showMessage({ title, text }, buttons = []) {
  hideVerdict();
  find("header").hidden = true;
  find("#scanner").hidden = true;
  const message = find("#message");
  message.hidden = false;
  message.querySelector("h1").textContent = title;
  message.querySelector("p").textContent = text;
  message.querySelector(".buttons").replaceChildren(...buttons.map(([name, act]) => button(name, act)));
}

export function showScanner() {
  find("#message").hidden = true;
  find("header").hidden = false;
  find("#scanner").hidden = false;
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

/** Adds a notice. `dismissed` is called when the staff has seen it. */
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
}

const LOOKS = {
  admitted: ["good", "M4 12.5l5.5 5.5L20 7"],
  left: ["good", "M4 12h15M13 6l6 6-6 6"],
  exception: ["good", "M4 12.5l5.5 5.5L20 7"],
  refused: ["bad", "M5 5l14 14M19 5L5 19"],
  check: ["unsure", "M12 4v10M12 19.5v.1"],
};

let timer;

/** Shows a verdict on the whole screen. `letIn` is called if the staff decides against it; null if that is not possible. */
export function showVerdict({ result, reason, at, device, type, areas }, { zone, now, letIn }) {
  const [look, icon] = LOOKS[result];
  const verdict = find("#verdict");
  const text = (selector, value) => { verdict.querySelector(selector).textContent = value ?? ""; };
  verdict.className = look;
  verdict.querySelector("path").setAttribute("d", icon);
  text(".word", words[result]);
  text(".type", type);
  text(".areas", areas?.join(" · "));
  const when = at ? time(at, zone, now) : null;
  const lines = [reason && fill(words.reasons[reason] ?? reason, { time: when })];
  if (reason === "already-checked-in" && when !== null) {
    lines.push(fill(device ? words.firstWithDevice : words.first, { time: when, device }));
  }
  text(".reason", lines.filter(Boolean).join(". "));
  showLetIn(look === "good" ? null : letIn);
  find("#next").hidden = look === "good";
  verdict.hidden = false;
  signal(look);
  clearTimeout(timer);
  if (look === "good") timer = setTimeout(hideVerdict, 1500);
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
}
