// Buys a ticket and scans it, and takes a picture of each page: of an event, the checkout, the ticket and the door.
//
// node pictures.mjs EVENT DOOR FOLDER
import puppeteer from "puppeteer-core";

const [event, door, folder] = process.argv.slice(2);
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--lang=en-GB"],
});
const page = await browser.newPage();
await page.setExtraHTTPHeaders({ "Accept-Language": "en-GB" });
await page.setViewport({ width: 390, height: 760, deviceScaleFactor: 1 });

const take = (name) => page.screenshot({ path: `${folder}/${name}.png` });

async function press(selector) {
  await Promise.all([page.waitForNavigation(), page.click(selector)]);
}

await page.goto(event);
await page.locator('input[type="number"]').fill("1");
await take("event");
await press("form.offers button");
await page.locator("#name").fill("Ada Lovelace");
await page.locator("#email").fill("ada@example.com");
await new Promise((resolve) => setTimeout(resolve, 2100));
await press("form.fields button");
await take("checkout");
await press('button[value="success"]');
await take("ticket");
const code = await page.$eval(".code", (code) => code.textContent);
await page.goto(door);
await page.waitForSelector("#typed:not([hidden]) #code", { visible: true });
await page.locator("#code").fill(code);
await page.keyboard.press("Enter");
await page.waitForSelector("#verdict", { visible: true });
await new Promise((resolve) => setTimeout(resolve, 500));
await take("door");
await browser.close();
