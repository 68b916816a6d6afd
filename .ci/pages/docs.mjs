// Sells a ticket on the page `/docs` in Chromium, as a reader does: with an API key in the field for it, the first example of
// each operation, and the button that sends it. Then axe-core looks at the page. With the variable KEEP_SCREENSHOTS, pictures
// are written to that folder.
//
// node docs.mjs URL KEY
import fs from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const [url, key] = process.argv.slice(2);
const folder = process.env.KEEP_SCREENSHOTS;
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const problems = [];
const page = await browser.newPage();
page.setDefaultTimeout(30_000);
page.on("request", (request) => {
  const of = new URL(request.url());
  if (of.protocol !== "data:" && of.protocol !== "blob:" && of.origin !== new URL(url).origin) problems.push(`loads ${request.url()}`);
});
await page.setViewport({ width: 1400, height: 1000 });

/** Opens the page at an operation, with the key. */
async function open(tag, method, path) {
  await page.goto("about:blank");
  await page.goto(`${url}/docs#tag/${tag}/${method}${path}`);
  const field = await page.waitForSelector("input.scalar-password-input");
  const before = await field.evaluate((field) => field.value);
  if (before !== "") problems.push(`the field for the key has the value ${before}`);
  await field.type(key);
  const button = await page.waitForSelector(`xpath///button[contains(., "Test Request") and contains(., "(${method.toLowerCase()} ${path})")]`);
  await button.evaluate((button) => button.click());
  await page.waitForSelector("[role=dialog] .app-exit-button");
}

/** Replaces the text of an editor. */
async function write(editor, text) {
  await editor.click();
  await page.keyboard.down("Control");
  await page.keyboard.press("a");
  await page.keyboard.up("Control");
  await page.keyboard.sendCharacter(text);
}

/**
 * Sends the request of an operation that the page shows. `variables` are those of its path, and `change` may change the body.
 * Returns the response.
 */
async function send(tag, method, path, variables = {}, change = (body) => body) {
  await open(tag, method, path);
  for (const [name, value] of Object.entries(variables)) {
    const row = `*[@aria-label=" Key" and normalize-space(.)="${name}"]/following::*[@aria-label=" Value"]`;
    await write(await page.waitForSelector(`xpath///*[@role="dialog"]//${row}`), value);
  }
  const editor = await page.waitForSelector("[role=dialog] .cm-content");
  const shown = await editor.evaluate((editor) => [...editor.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n"));
  const changed = JSON.stringify(change(JSON.parse(shown)));
  if (changed !== JSON.stringify(JSON.parse(shown))) await write(editor, changed);
  const answered = page.waitForResponse((response) => response.request().method() === method && response.url().includes("/v1/"));
  const button = await page.waitForSelector('xpath///*[@role="dialog"]//button[starts-with(normalize-space(.), "Send") and not(contains(., "Request"))]');
  await button.click();
  const response = await answered.catch(() => null);
  if (folder) await page.screenshot({ path: `${folder}/docs-${method}-${tag}.png` });
  const said = `${method} ${path}: ${response?.status()}`;
  if (!response?.ok()) throw new Error(`${said}: ${await response?.text()}`);
  console.log(said);
  return response.json();
}

/** What axe-core finds on the page as it is. */
async function look(what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  for (const { id, impact, nodes } of violations) {
    const places = nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`);
    problems.push(`${impact}: ${id} (${what})\n  ${places.join("\n  ")}`);
  }
}

const event = await send("events", "POST", "/v1/events");
const ofEvent = { eventId: event.id };
const type = await send("ticket-types", "POST", "/v1/events/{eventId}/ticket-types", ofEvent);
await send("events", "PATCH", "/v1/events/{eventId}", ofEvent);
await send("discounts", "POST", "/v1/discounts", {}, (body) => ({ ...body, ...ofEvent }));
const ofType = (items) => items.map((item) => ({ ...item, ticketId: type.id }));
const created = await send("orders", "POST", "/v1/orders", {}, (body) => ({ ...body, ...ofEvent, items: ofType(body.items) }));
const paid = await send("orders", "POST", "/v1/orders/{orderId}/mark-paid", { orderId: created.order.id });
const [{ code }] = paid.items[0].issuedTickets;
const ticket = await send("tickets", "POST", "/v1/tickets/check-in", {}, () => ({ code }));
if (ticket.status !== "CHECKED_IN") problems.push(`the ticket is ${ticket.status}`);
for (const scheme of ["light", "dark"]) {
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto("about:blank");
  await page.goto(`${url}/docs`);
  await page.waitForSelector("input.scalar-password-input");
  // The page moves until it has loaded all of the operations at the top.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  if (folder) await page.screenshot({ path: `${folder}/docs-${scheme}.png` });
  await look(scheme);
}
await browser.close();
problems.forEach((problem) => console.error(problem));
if (problems.length > 0) process.exit(1);
