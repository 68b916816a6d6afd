// Opens the HTML of mails in Chromium at the width of a phone and of a window, light, dark, and without pictures, and fails if
// axe-core finds anything, if a mail loads anything that is not in it, or is wider than its window. With the variable
// KEEP_SCREENSHOTS, pictures of the mails are written to that folder.
//
// node look.mjs FILE…
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = process.env.KEEP_SCREENSHOTS;
const problems = [];
const views = [
  [360, "light", true],
  [360, "dark", true],
  [640, "light", true],
  [640, "dark", true],
  [640, "light", false],
  [360, "dark", false],
];

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});

async function look(file) {
  const name = path.basename(file, ".html");
  const complain = (text) => problems.push(`${name}: ${text}`);
  for (const [width, scheme, images] of views) {
    const view = `${width} pixels, ${scheme}, ${images ? "with" : "without"} pictures`;
    const page = await browser.newPage();
    await page.setRequestInterception(true);
    page.on("request", (request) => {
      const isPicture = request.resourceType() === "image";
      if (!request.url().startsWith(pathToFileURL(path.dirname(file)).href)) complain(`loads ${request.url()}`);
      if (isPicture && !images) request.abort();
      else request.continue();
    });
    await page.setViewport({ width, height: 800, deviceScaleFactor: 1 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.goto(pathToFileURL(file).href);
    const scrolled = await page.evaluate(() => document.documentElement.scrollWidth);
    if (scrolled > width) complain(`is ${scrolled} pixels wide (${view})`);
    // What stands in place of a picture: axe-core does not see it.
    const unreadable = await page.evaluate(() => {
      const brightness = (color) => color.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
      const isUnreadable = (image) => {
        const { color, backgroundColor } = getComputedStyle(image);
        return !image.alt || Math.abs(brightness(color) - brightness(backgroundColor)) < 380;
      };
      return [...document.images].filter(isUnreadable).length;
    });
    if (unreadable > 0) complain(`${unreadable} pictures have no readable alternative (${view})`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    for (const { id, impact, nodes } of violations) {
      const places = nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`);
      complain(`${impact}: ${id} (${view})\n  ${places.join("\n  ")}`);
    }
    if (folder) {
      await page.screenshot({ path: `${folder}/${name}-${width}-${scheme}${images ? "" : "-off"}.png`, fullPage: true });
    }
    await page.close();
  }
}

const files = process.argv.slice(2);
for (const file of files) await look(file);
await browser.close();
problems.forEach((problem) => console.error(problem));
if (files.length === 0 || problems.length > 0) process.exit(1);
console.log(`axe-core finds nothing in ${files.length} mails`);
