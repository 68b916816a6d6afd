// Tickets of another seller: a film of their codes in all versions that are read, and scans with and without a connection.
import path from "node:path";
import { film } from "./film.mjs";
import { encode } from "./frames.mjs";
import { api, doorLink, expect, folder, log, Phone, publish } from "./phone.mjs";

/** The QR codes that are shown: version, and what it is made of. */
const VERSIONS = Array.from({ length: 10 }, (_, index) => index + 1);
const digits = (version) => `40063813339${String(version).padStart(2, "0")}`;
const KINDS = {
  digits,
  letters: (version) => `PARTNER-$${version}/ROW-A`,
  bytes: (version) => `t;#${version}~aZ_{x}|`,
  url: (version) => `https://t.co/v${version}`,
};

/** A code in the middle of the picture, as large as it fits, which is turned and tilted a little. */
function one(text, options) {
  const modules = encode(text, options);
  const module = Math.min(9, Math.floor(400 / modules.length));
  return { codes: [{ modules, x: 320, y: 240, module, angle: 0.1, tilt: [0.1, -0.1] }] };
}

async function shown(phone, reel) {
  await phone.page.evaluate(() => {
    window.admitted = 0;
    const verdict = document.querySelector("#verdict");
    const note = () => { window.admitted += verdict.querySelector(".word").textContent === "Admitted" ? 1 : 0; };
    new MutationObserver(note).observe(verdict, { attributes: true, attributeFilter: ["class"] });
  });
  await phone.page.click("#start");
  const isDone = (count) => window.admitted >= count;
  await phone.page.waitForFunction(isDone, { timeout: 180_000 }, reel).catch(() => {});
  return phone.page.evaluate(() => window.admitted);
}

/** Resolves to a text with figures. */
export async function foreign() {
  const { event } = await publish("foreign", 1);
  const other = await publish("foreign-elsewhere", 1);
  const typesOf = async (id) => (await api("GET", `events/${id}/ticket-types`)).data[0].id;
  const more = async (id) => {
    const type = await typesOf(id);
    await api("PATCH", `ticket-types/${type}`, { quantity: 1000 });
    return type;
  };
  const [type, elsewhere] = [await more(event), await more(other.event)];
  const codes = Object.values(KINDS).flatMap((kind) => VERSIONS.map((version) => [version, kind(version)]));
  const typed = ["4006381333931", "typed-Code_1", "https://shop.example/t/7GX2?a=b"];
  const tickets = [...codes.map(([, code]) => code), ...typed].map((code) => ({ code, label: `Seat of ${code.slice(0, 6)}` }));
  await api("POST", `ticket-types/${type}/imports`, { name: "Box office", tickets });
  // The same code at another event.
  await api("POST", `ticket-types/${elsewhere}/imports`, { name: "Box office", tickets: [{ code: typed[0] }] });

  const reel = path.join(folder, "foreign.mjpeg");
  const nothing = [{ codes: [] }, 0.5];
  const shots = codes.flatMap(([version, code]) => [[one(code, { version, ecc: "low" }), 1.5], nothing]);
  await film(reel, [nothing, nothing, ...shots]);
  const phone = await Phone.create("foreign");
  await phone.start([
    "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream", `--use-file-for-fake-video-capture=${reel}`,
  ]);
  await phone.open(doorLink(event, "Gate A").path);
  await phone.waitFor("signal", "Online");

  // Typed with a connection: the service decides, and the label is shown.
  expect((await phone.scan(typed[0])).look, "good", "an imported code, typed like the number of an order");
  expect(await phone.page.$eval("#verdict .label", (label) => label.textContent), "Seat of 400638", "the label");
  expect((await phone.scan(typed[1])).look, "good", "an imported code with small and large letters");
  const unknown = ["TYPED-CODE_1", "https://shop.example/t/7GX3"];
  for (const code of unknown) {
    const { look, reason } = await phone.scan(code);
    expect([look, reason], ["bad", "Unknown code"], `the code ${code}`);
  }
  await phone.page.click("#next");

  // Without a connection, the phone decides alike.
  phone.network.set("cut");
  expect((await phone.scan(typed[2])).look, "good", "an imported URL without a connection");
  for (const code of typed) {
    const { look, reason } = await phone.scan(code);
    expect([look, reason.startsWith("Already checked in")], ["bad", true], `${code} again without a connection`);
  }
  for (const code of unknown) {
    const { look, reason } = await phone.scan(code);
    expect([look, reason.startsWith("Not in the list of ")], ["unsure", true], `${code} without a connection`);
  }
  await phone.page.click("#next");
  const read = await shown(phone, codes.length);
  expect(read >= codes.length, true, `QR codes of another seller in a film (${read} of ${codes.length})`);
  phone.network.set("good");
  await phone.reported();
  const rows = (await log(event)).filter((row) => row.kind === "IN" && row.outcome === "ADMITTED");
  expect(new Set(rows.map((row) => row.ticketId)).size, codes.length + typed.length, "the imported tickets that came in");
  await phone.look("foreign");
  await phone.close();
  return `The camera reads ${codes.length} codes of another seller, of the versions 1 to 10`;
}
