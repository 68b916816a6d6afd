// The camera: a film of tickets, 30 in a minute, as they come at an entrance.
import path from "node:path";
import { film } from "./film.mjs";
import { encode } from "./frames.mjs";
import { api, doorLink, expect, folder, log, Phone, publish } from "./phone.mjs";

/** A code in the middle of the picture, which is turned and tilted a little. */
const one = (text) => [{ modules: encode(text), x: 320, y: 240, module: 9, angle: 0.2, tilt: [0.2, -0.2] }];
const two = (left, right) => [
  { modules: encode(left), x: 165, y: 240, module: 8, angle: 0.05 },
  { modules: encode(right), x: 475, y: 240, module: 8, angle: -0.05 },
];

/** Resolves to a text with figures. */
export async function camera() {
  const { event, tickets } = await publish("camera", 25);
  const other = await publish("other-camera", 1);
  const codes = tickets.map((ticket) => ticket.code);
  const next = (count) => codes.splice(0, count);
  const cancelled = tickets.at(-1);
  await api("POST", `tickets/${cancelled.id}/cancel`);
  const rows = new Map();
  const outcomesOf = (code) => rows.get(tickets.find((ticket) => ticket.code === code).id) ?? [];

  const [valid, unsharp, unreadable, left, right] = next(5);
  const many = next(12);
  const END = "WIFI:S:guests;;";
  const reel = path.join(folder, "film.mjpeg");
  // What is in view for 1.5 seconds, and the verdicts to which that leads.
  const shots = [
    [[{ codes: one(valid) }], "Admitted"],
    [[{ codes: one(cancelled.code) }], "No entry The ticket is cancelled"],
    [[{ codes: one(other.tickets[0].code) }], "No entry For another event"],
    [[{ codes: one("0123456789ABCDEFGHJK") }], "No entry Unknown code"],
    [[{ codes: one(unsharp), blur: 2.5 }], "Admitted"],
    [[{ codes: one(unreadable), blur: 12 }]],
    // At least one of two codes is read. Then now the one is in view and now the other.
    [[{ codes: two(left, right) }], "Admitted", "Admitted"],
    [[left, right, left].map((code) => ({ codes: one(code) }))],
    [[right, left, right].map((code) => ({ codes: one(code) }))],
    ...many.map((code) => [[{ codes: one(code) }], "Admitted"]),
    [[{ codes: one(valid) }], "No entry Already checked in."],
    [[{ codes: one(END) }], "No entry Not a ticket code"],
  ];
  const nothing = [{ codes: [] }, 0.5];
  const shown = shots.flatMap(([looks]) => [...looks.map((look) => [look, 1.5 / looks.length]), nothing]);
  await film(reel, [nothing, nothing, ...shown]);

  const phone = await Phone.create("camera");
  await phone.start([
    "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream", `--use-file-for-fake-video-capture=${reel}`,
  ]);
  await phone.open(doorLink(event, "Gate A").path);
  await phone.waitFor("signal", "Online");
  await phone.page.evaluate(() => {
    window.verdicts = [];
    const verdict = document.querySelector("#verdict");
    const note = () => {
      const text = ["word", "reason"].map((name) => verdict.querySelector(`.${name}`).textContent).join(" ").trim();
      window.verdicts.push({ text: text.replace(/ First at.*/, ""), at: performance.now() });
    };
    // Each verdict sets the class, also if it is the same.
    new MutationObserver(note).observe(verdict, { attributes: true, attributeFilter: ["class"] });
  });
  await phone.page.click("#start");
  const ended = () => window.verdicts.some(({ text }) => text.includes("Not a ticket"));
  await phone.page.waitForFunction(ended, { timeout: 90_000 }).catch(() => {});
  const verdicts = await phone.page.evaluate(() => window.verdicts);
  expect(verdicts.map(({ text }) => text), shots.flatMap(([, ...expected]) => expected), "what the film leads to");
  for (const { ticketId, outcome } of await log(event)) rows.set(ticketId, [...(rows.get(ticketId) ?? []), outcome]);
  for (const code of [unsharp, left, right, ...many]) expect(outcomesOf(code), ["ADMITTED"], "a ticket in the film");
  expect(outcomesOf(unreadable), [], "a ticket that nobody could read");
  // Without the last two.
  const times = verdicts.slice(-2 - many.length, -2).map(({ at }) => at);
  const perMinute = Math.round((60_000 * (times.length - 1)) / (times.at(-1) - times[0]));
  await phone.page.click("#next").catch(() => {});
  await phone.page.click("summary");
  await phone.look("camera");
  await phone.close();
  return `The camera leads to ${times.length} verdicts at ${perMinute} a minute`;
}
