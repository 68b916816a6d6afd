// What the staff of an entrance sees and types: reasons, a keyboard, orders of holders without a code, and every language with
// twice the size of text on a small screen.
import { api, doorLink, expect, Phone, problems, publish, VIEW } from "./phone.mjs";

const LANGUAGES = ["en-GB", "de", "fr", "es", "it", "nl"];
/** Width, height, and the size of text in percent. */
const SCREENS = [[320, 568, 100], [320, 568, 200], [390, 844, 100], [390, 844, 200], [844, 390, 100], [844, 390, 200]];
const UNKNOWN = "0123456789ABCDEFGHJK";
const HOUR = 3_600_000;
const customer = { name: "Grace Hopper", email: "grace@example.com" };

const focused = (phone) => phone.page.evaluate(() => document.activeElement.id || document.activeElement.localName);
const isShown = (phone, selector) => phone.page.$eval(selector, (item) => item.checkVisibility());

/** A code of a ticket of a new type with these rules. */
async function ticketOf(event, rules) {
  const type = await api("POST", `events/${event}/ticket-types`, { name: "Parterre", price: 0, quantity: 5, ...rules });
  const { issuedTickets } = await api("POST", "tickets/issue", { ticketId: type.id, quantity: 1, customer });
  return issuedTickets[0].code;
}

/** Why a ticket is refused, with and without a connection. */
async function reasons(phone, codes) {
  // The browser may be British or American.
  const day = "(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? ([0-9]{1,2} [A-Z][a-z]+|[A-Z][a-z]+ [0-9]{1,2})";
  const time = "[0-9]{1,2}:[0-9]{2}( [AP]M)?";
  const expected = [
    [codes.tomorrow, `^Valid from ${day}, ${time}$`],
    [codes.over, `^Was valid until (${day}, )?${time}$`],
    [codes.days, `^Valid on ${day} and ${day}$`],
  ];
  for (const state of ["good", "cut"]) {
    phone.network.set(state);
    if (state === "good") await phone.waitFor("signal", "Online");
    for (const [code, pattern] of expected) {
      const { look, reason } = await phone.scan(code);
      expect([look, new RegExp(pattern).test(reason)], ["bad", true], `"${reason}" instead of ${pattern}, network ${state}`);
    }
    await phone.page.keyboard.press("Escape");
    await phone.page.click("#out");
    const { look, reason } = await phone.scan(codes.fresh);
    expect([look, reason], ["bad", "Was not in"], `a holder who leaves and was not in, network ${state}`);
    await phone.page.keyboard.press("Escape");
    await phone.page.click("#in");
    expect((await phone.scan("https://example.com/")).reason, "Not a ticket code", "the link of a poster");
    expect(await isShown(phone, "#let-in"), false, "nobody can be let in with the link of a poster");
    expect((await phone.scan(codes.tomorrow)).look, "bad", "a ticket for tomorrow");
    expect(await isShown(phone, "#let-in"), true, "the staff can let in a holder with a ticket for tomorrow");
  }
  phone.network.set("good");
  await phone.reported();
  await phone.waitFor("signal", "Online");
}

/** With a keyboard, nothing behind a verdict can be reached, and a scanner that types still finds the field. */
async function keyboard(phone, used, fresh) {
  const { keyboard: keys } = phone.page;
  await phone.page.focus("#code");
  await keys.type(used);
  await keys.press("Enter");
  expect((await phone.verdict()).look, "bad", "a used ticket that is typed");
  expect(await focused(phone), "next", "the focus on a verdict");
  const behind = () => ["#message", "#scanner"].some((pane) => document.querySelector(pane).contains(document.activeElement));
  for (let tabs = 0; tabs < 6; tabs += 1) {
    await keys.press("Tab");
    if (await phone.page.evaluate(behind)) problems.push(`${phone.kind}: ${await focused(phone)} is reached behind a verdict`);
  }
  await keys.press("Escape");
  expect(await isShown(phone, "#verdict"), false, "Escape ends a verdict");
  expect(await phone.page.$eval("#scanner", (scanner) => scanner.inert), false, "the scanner after a verdict");
  await phone.page.click("#typed button").catch(() => {});
  expect((await phone.scan(used)).look, "bad", "a used ticket");
  await keys.type(fresh);
  await keys.press("Enter");
  await phone.page.waitForSelector("#verdict.good");
  await phone.page.waitForSelector("#verdict[hidden]");
  // In Firefox, the keys of the test press no button.
  if (phone.kind !== "chrome") return;
  expect((await phone.scan(used)).look, "bad", "a used ticket again");
  expect(await focused(phone), "next", "the focus on a verdict after another one");
  await keys.press("Enter");
  await phone.page.waitForSelector("#verdict[hidden]").catch(() => problems.push("Enter ends no verdict"));
}

/** The tickets of an order whose holders have no code to show. */
async function orders(phone, number) {
  const { keyboard: keys } = phone.page;
  const type = async (text) => {
    await phone.page.focus("#code");
    await keys.type(text);
    await keys.press("Enter");
  };
  const listed = () => phone.page.$$eval("#message button", (all) => all.map((button) => button.textContent));
  await type(`order_${number}`.toLowerCase());
  expect((await phone.message()).includes(`Order ${number}`), true, "the number of the order");
  await phone.look("order");
  const [one, two, three] = [1, 2, 3].map((place) => `Parterre \u00b7 ${place} of 3`);
  expect(await listed(), [one, two, three, "Back"], "the tickets of an order");
  await phone.choose("2 of 3");
  expect((await phone.verdict()).look, "good", "a ticket of an order");
  await phone.page.waitForSelector("#verdict[hidden]");
  expect(await listed(), [one, `${two} \u00b7 Already checked in`, three, "Back"], "the tickets after one came in");
  await phone.choose("2 of 3");
  expect((await phone.verdict()).look, "bad", "the same ticket of an order again");
  await keys.press("Escape");
  expect((await listed()).length, 4, "the tickets after a refused one");
  await keys.press("Escape");
  await phone.scanner();
  expect(await phone.status("inside"), "Inside: 3 of 8", "a ticket of an order that came in");
  await type("0000000000001");
  expect((await phone.verdict()).reason, "No tickets with this order number", "an unknown order");
  expect(await isShown(phone, "#let-in"), false, "nobody can be let in with an unknown order");
  phone.network.set("cut");
  await keys.press("Escape");
  await type(number);
  expect((await phone.verdict()).reason, "Orders cannot be looked up now", "an order without a connection");
  await keys.press("Escape");
  phone.network.set("good");
  await phone.waitFor("signal", "Online");
  const stored = await phone.stored();
  expect([stored.includes(number), stored.includes("Hopper")], [false, false], "the order and its names on the phone");
}

/** What is not seen as a whole of a verdict. */
function cut() {
  const frame = document.querySelector("#verdict .what").getBoundingClientRect();
  const isCut = (selector, within) => {
    const item = document.querySelector(selector);
    const { top, bottom, left, right } = item.getBoundingClientRect();
    const isInside = item.checkVisibility() && top >= within.top - 1 && bottom <= within.bottom + 1 && left >= -1 && right <= window.innerWidth + 1;
    return !isInside || item.scrollWidth > item.clientWidth + 1;
  };
  const screen = { top: 0, bottom: window.innerHeight };
  return [["#gate", screen], [".word", frame], [".reason", frame], ["#next", screen], ["#let-in", screen]]
    .filter(([selector, within]) => isCut(selector, within)).map(([selector]) => selector);
}

/** The name of the entrance, the word, the reason and the buttons of a verdict are seen in all languages. */
async function languages(phone, used) {
  await phone.page.evaluateOnNewDocument(() => {
    const wanted = () => [sessionStorage.getItem("language") ?? "en-GB"];
    Object.defineProperty(navigator, "languages", { get: wanted });
  });
  for (const language of LANGUAGES) {
    phone.network.set("good");
    await phone.page.evaluate((tag) => sessionStorage.setItem("language", tag), language);
    await phone.reload();
    expect(await phone.page.evaluate(() => document.documentElement.lang), language.slice(0, 2), "the language");
    await phone.page.waitForSelector("#signal:not(.unsure)");
    await phone.page.waitForFunction(() => document.querySelector("#age").className === "");
    for (const [look, code] of [["bad", used], ["unsure", UNKNOWN]]) {
      if (look === "unsure") phone.network.set("cut");
      expect((await phone.scan(code)).look, look, `a verdict in ${language}`);
      for (const [width, height, percent] of SCREENS) {
        await phone.page.setViewport({ ...VIEW, width, height });
        await phone.page.evaluate((size) => { document.documentElement.style.fontSize = `${size}%`; }, percent);
        const name = `${language}-${look}-${width}-${percent}`;
        const found = await phone.page.evaluate(cut);
        if (found.length > 0) problems.push(`${phone.kind} ${name}: cut: ${found}`);
        await phone.picture(name);
      }
    }
  }
  phone.network.set("good");
}

/** Runs in the browser "chrome" or "firefox". */
export async function staff(kind) {
  const { event, tickets } = await publish(`staff-${kind}`, 1);
  const [used] = tickets.map((ticket) => ticket.code);
  const at = (hours) => new Date(Date.now() + hours * HOUR).toISOString();
  const codes = {
    tomorrow: await ticketOf(event, { validFrom: at(48) }),
    over: await ticketOf(event, { validUntil: at(-1) }),
    days: await ticketOf(event, { allowedDates: [at(48), at(72)] }),
    fresh: await ticketOf(event, {}),
  };
  const type = await api("POST", `events/${event}/ticket-types`, { name: "Parterre", price: 0, quantity: 5 });
  const order = { eventId: event, customer, items: [{ ticketId: type.id, quantity: 3 }] };
  const number = (await api("POST", "orders", order)).order.id.replace("order_", "");
  const phone = await Phone.create(`staff-${kind}`, kind);
  await phone.start();
  await phone.open(doorLink(event, "Gate A, Lower Foyer").path);
  await phone.kept();
  expect((await phone.scan(used)).look, "good", "a valid ticket");
  await reasons(phone, codes);
  await phone.page.keyboard.press("Escape");
  await keyboard(phone, used, codes.fresh);
  await orders(phone, number);
  await languages(phone, used);
  await phone.close();
}
