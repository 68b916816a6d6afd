// Buys tickets on the page of an event, as customers do: with a keyboard, and without scripts. In each language, in several
// widths, light and dark; then goes back, reloads and clicks twice, which makes no second order.
//
// node buy.mjs chromium|firefox|stripe PAGE TYPE OUT
//
// OUT is a file that gets the URLs of some pages on the way, as NAME=URL. With `stripe`, Chromium buys once, and pays on the
// page of the fake of Stripe.
import fs from "node:fs";
import puppeteer from "puppeteer-core";

const [browserName, event, type, out] = process.argv.slice(2);
const folder = process.env.KEEP_SCREENSHOTS;
const isFirefox = browserName === "firefox";
const isStripe = browserName === "stripe";

const browser = await puppeteer.launch({
  browser: isFirefox ? "firefox" : "chrome",
  executablePath: isFirefox ? "/usr/bin/firefox-esr" : process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: isFirefox ? [] : ["--no-sandbox", "--disable-dev-shm-usage"],
});

function must(condition, text) {
  if (!condition) throw new Error(text);
}

async function newPage(width, scheme) {
  const page = await browser.newPage();
  await page.setViewport({ width, height: 800 });
  if (!isFirefox) {
    await page.setJavaScriptEnabled(false);
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  }
  return page;
}

/** Moves the focus with the key Tab to what the selector names. */
async function focus(page, selector) {
  await page.evaluate(() => document.activeElement?.blur());
  for (let presses = 0; presses < 60; presses++) {
    if (await page.evaluate((selector) => document.activeElement?.matches(selector) ?? false, selector)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the key Tab does not lead to ${selector} on ${page.url()}`);
}

async function enter(page, selector, text) {
  await focus(page, selector);
  await page.keyboard.down("Control");
  await page.keyboard.press("a");
  await page.keyboard.up("Control");
  await page.keyboard.type(text);
}

/** Presses the button that the selector names, and waits for the next page. */
async function press(page, selector) {
  await focus(page, selector);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
}

async function picture(page, name) {
  if (folder) await page.screenshot({ path: `${folder}/buy-${browserName}-${name}.png`, fullPage: true });
}

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const text = (page) => page.evaluate(() => document.body.innerText);
const shown = [];

/** From the link to the order form, filled in. */
async function fill(page, language, quantity, email) {
  await page.goto(`${event}?lang=${language}`);
  await enter(page, `input[name="t.${type}"]`, String(quantity));
  await press(page, "form.offers button");
  must(page.url().includes("/order?"), `the button leads to the order form, not to ${page.url()}`);
  await enter(page, "#name", "Zoë Müller");
  await enter(page, "#email", email);
  await wait(2100);
}

async function buy(language, width, scheme) {
  const name = `${language}-${width}-${scheme}`;
  const page = await newPage(width, scheme);
  await fill(page, language, 2, `${name}@example.com`);
  await picture(page, `${name}-form`);
  await press(page, "form.fields button");
  must(page.url().includes("/checkout/"), `${name}: the order leads to the checkout, not to ${page.url()}`);
  await press(page, 'button[value="failure"]');
  must(page.url().includes("/orders/"), `${name}: the checkout leads back to the order, not to ${page.url()}`);
  await picture(page, `${name}-failed`);
  await press(page, 'form[action$="/pay"] button');
  await press(page, 'button[value="success"]');
  must((await page.$$("section.card .qr")).length === 2, `${name}: there are two tickets on ${page.url()}`);
  await picture(page, `${name}-tickets`);
  await page.close();
}

async function buyAtStripe() {
  const page = await newPage(390, "light");
  await fill(page, "en", 2, "stripe@example.com");
  await press(page, "form.fields button");
  must(page.url().includes("/c/pay/"), `the order leads to Stripe, not to ${page.url()}`);
  await press(page, 'button[value="success"]');
  must((await page.$$("section.card .qr")).length === 2, `there are two tickets on ${page.url()}`);
  await page.close();
}

if (isStripe) {
  await buyAtStripe();
  await browser.close();
  console.log("chromium paid at the fake of Stripe");
  process.exit();
}

const languages = isFirefox ? ["en"] : ["en", "de", "fr", "es", "it", "nl"];
const views = [[320, "light"], [390, "dark"], [1280, "light"]];
for (const [number, language] of languages.entries()) await buy(language, ...views[number % views.length]);

if (!isFirefox) {
  // Refusals, without leaving the page.
  const page = await newPage(390, "light");
  await page.goto(`${event}?lang=en`);
  await press(page, "form.offers button");
  must((await text(page)).includes("Please choose at least one ticket."), "nothing chosen is said");
  await fill(page, "en", 1, "nobody");
  await press(page, "form.fields button");
  must((await text(page)).includes("Please enter a valid e-mail address."), "a wrong address is said");
  must(await page.$eval("#name", (input) => input.value) === "Zoë Müller", "what was entered is kept");
  await picture(page, "refused");
  // Back, reload and a second click send the form again: it makes one order.
  await fill(page, "en", 1, "twice@example.com");
  await press(page, "form.fields button");
  const checkout = page.url();
  await page.goBack();
  await press(page, "form.fields button");
  must(page.url() === checkout, `back and again leads to ${page.url()}, not to ${checkout}`);
  await page.goBack();
  await focus(page, "form.fields button");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter").then(() => page.keyboard.press("Enter"))]);
  must(page.url() === checkout, `two clicks lead to ${page.url()}, not to ${checkout}`);
  await page.reload();
  await press(page, 'button[value="failure"]');
  const order = page.url();
  shown.push(`order-failed=${order}`, `order-question=${order}/cancel`);
  await picture(page, "order-failed");
  await focus(page, `a[href$="/cancel"]`);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await picture(page, "question");
  // The pages are looked at before it is cancelled.
  await page.close();
}
await browser.close();
fs.writeFileSync(out, shown.join("\n"));
console.log(`${browserName} bought tickets in ${languages.length} language(s)`);
