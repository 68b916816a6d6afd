// Opens pages in Chromium, and fails if axe-core finds anything on one of them, or if a page loads or logs anything, is wider
// than its window, also with letters of twice the size and in a window that is zoomed four times, or has more than the given
// number of bytes once it is compressed, as the server sends it. With the variable KEEP_SCREENSHOTS, pictures of the pages, and
// the pages as they are printed, are written to that folder.
//
// node check.mjs BYTES NAME=URL…
import fs from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import puppeteer from "puppeteer-core";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = process.env.KEEP_SCREENSHOTS;
const problems = [];

// Width of the window in pixels, colors, and the size of letters in percent. A window of 1280 pixels that is zoomed four times
// has 320.
const views = [
  [360, "light", 100],
  [360, "dark", 100],
  [360, "light", 200],
  [320, "light", 100],
  [1280, "light", 100],
  [1280, "dark", 100],
];

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});

async function check(name, url, most) {
  const page = await browser.newPage();
  const complain = (text) => problems.push(`${name}: ${text}`);
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("data:")) complain(`loads ${request.url()}`);
  });
  // A page with a status other than 200 is logged too.
  page.on("console", (message) => {
    if (!message.text().startsWith("Failed to load resource: the server responded")) complain(`logs ${message.text()}`);
  });
  for (const [width, scheme, letters] of views) {
    await page.setViewport({ width, height: 800, deviceScaleFactor: 1 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    const response = await page.goto(url);
    const bytes = gzipSync(await response.buffer()).length;
    if (bytes > most) complain(`has ${bytes} bytes when compressed, more than ${most}`);
    const view = `${width} pixels, ${scheme}, letters of ${letters} %`;
    if (letters !== 100) {
      // All lengths that depend on the letters are in `rem`, so this is what the setting of a browser does.
      await page.evaluate((letters) => { document.documentElement.style.fontSize = `${letters}%`; }, letters);
      const side = await page.evaluate(() => document.querySelector(".qr svg")?.getBoundingClientRect().width ?? null);
      if (side !== null && side < 240) complain(`has a code of ${side} pixels (${view})`);
    }
    const scrolled = await page.evaluate(() => document.documentElement.scrollWidth);
    if (scrolled > width) complain(`is ${scrolled} pixels wide (${view})`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    for (const { id, impact, nodes } of violations) {
      const places = nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`);
      complain(`${impact}: ${id} (${view})\n  ${places.join("\n  ")}`);
    }
    if (folder) await page.screenshot({ path: `${folder}/${name}-${width}-${scheme}-${letters}.png`, fullPage: true });
  }
  if (folder) await page.pdf({ path: `${folder}/${name}.pdf`, format: "A4", printBackground: false });
  await page.close();
}

const [most, ...pages] = process.argv.slice(2);
for (const [name, url] of pages.map((argument) => argument.split(/=(.*)/s))) await check(name, url, Number(most));
await browser.close();
problems.forEach((problem) => console.error(problem));
if (pages.length === 0 || problems.length > 0) process.exit(1);
console.log(`axe-core finds nothing on ${pages.length} pages`);
