// Opens pages in Chromium, and fails if axe-core finds something serious or critical on one of them, or if a page loads or
// logs anything, or is wider than its window. With the variable KEEP_SCREENSHOTS, pictures of the pages, and the pages as
// they are printed, are written to that folder.
//
// node check.mjs NAME=URL…
import fs from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = process.env.KEEP_SCREENSHOTS;
const problems = [];

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});

async function check(name, url) {
  const page = await browser.newPage();
  const complain = (text) => problems.push(`${name}: ${text}`);
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("data:")) complain(`loads ${request.url()}`);
  });
  // A page with a status other than 200 is logged too.
  page.on("console", (message) => {
    if (!message.text().startsWith("Failed to load resource: the server responded")) complain(`logs ${message.text()}`);
  });
  for (const width of [360, 1280]) {
    for (const scheme of ["light", "dark"]) {
      await page.setViewport({ width, height: 800, deviceScaleFactor: 1 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.goto(url);
      const scrolled = await page.evaluate(() => document.documentElement.scrollWidth);
      if (scrolled > width) complain(`is ${scrolled} pixels wide in a window of ${width}`);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      for (const { id, impact, nodes } of violations) {
        const places = nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`);
        const text = `${impact}: ${id} (${width} pixels, ${scheme})\n  ${places.join("\n  ")}`;
        if (impact === "serious" || impact === "critical") complain(text);
        else console.log(`${name}: ${text}`);
      }
      if (folder) await page.screenshot({ path: `${folder}/${name}-${width}-${scheme}.png`, fullPage: true });
    }
  }
  if (folder) await page.pdf({ path: `${folder}/${name}.pdf`, format: "A4", printBackground: false });
  await page.close();
}

const pages = process.argv.slice(2).map((argument) => argument.split(/=(.*)/s));
for (const [name, url] of pages) await check(name, url);
await browser.close();
problems.forEach((problem) => console.error(problem));
if (pages.length === 0 || problems.length > 0) process.exit(1);
console.log(`axe-core finds nothing serious on ${pages.length} pages`);
