// An evening at the entrance: scans with a connection, without one, and with one that is too slow, and two entrances that let
// in the same ticket.
import { api, doorLink, expect, log, pause, Phone, problems, publish } from "./phone.mjs";

/** How many tickets are scanned without a connection. */
const OFFLINE = 200;
const UNKNOWN = "0123456789ABCDEFGHJK";

const refused = (row) => row.outcome === "REFUSED";

/** Runs in the browser "chrome" or "firefox". Resolves to a text with figures. */
export async function entrance(kind) {
  const { event, tickets } = await publish(`evening-${kind}`, OFFLINE + 20);
  const other = await publish(`other-evening-${kind}`, 1);
  const codes = tickets.map((ticket) => ticket.code);
  const next = (count) => codes.splice(0, count);
  const cancelled = tickets.at(-1);
  await api("POST", `tickets/${cancelled.id}/cancel`);
  const [gateA, gateB] = ["Gate A", "Gate B"].map((name) => doorLink(event, name));
  const rowsOf = async (code) => {
    const { id } = tickets.find((ticket) => ticket.code === code);
    return (await log(event)).filter((row) => row.ticketId === id);
  };
  const outcomesOf = async (code) => (await rowsOf(code)).map((row) => row.outcome);

  const phone = await Phone.create(`${kind}-a`, kind);
  await phone.start();
  await phone.page.goto(`${phone.base}/door/`);
  await phone.message();
  await phone.look("no-link");
  const began = Date.now();
  await phone.open(gateA.path);
  const scannerAfter = Date.now() - began;
  expect(await phone.page.evaluate(() => location.href), `${phone.base}/door/`, "the key is not in the address");
  await phone.look("scanner");

  // With a connection
  const [first] = next(1);
  expect(await phone.scan(first), { look: "good", word: "Admitted", type: "Parterre", reason: "" }, "a valid ticket");
  await phone.picture("admitted");
  const again = await phone.scan(first.toLowerCase().replaceAll("0", "o").replaceAll("1", "l").replace(/(.{5})/g, "$1\u2013"));
  const isFirst = new RegExp(`^Already checked in. First at [^,]+, Gate A [0-9A-F]{4}$`).test(again.reason);
  expect([again.look, isFirst], ["bad", true], "a ticket again");
  await phone.look("refused");
  for (const [code, look, reason] of [
    [cancelled.code, "bad", "The ticket is cancelled"],
    [other.tickets[0].code, "bad", "For another event"],
    [UNKNOWN, "bad", "Unknown code"],
    ["https://example.com/", "bad", "Not a ticket code"],
  ]) {
    const verdict = await phone.scan(code);
    expect([verdict.look, verdict.reason], [look, reason], `the code ${code}`);
  }
  await phone.page.click("#next");
  await phone.page.click("#out");
  expect((await phone.scan(first)).word, "Checked out", "a ticket that leaves");
  await phone.page.waitForSelector("#verdict[hidden]");
  await phone.page.click("#in");
  expect((await phone.scan(first)).look, "good", "a ticket that comes back");
  // A scanner that types like a keyboard.
  await phone.page.$eval("#verdict", (verdict) => { verdict.hidden = true; });
  const [typed] = next(1);
  await phone.page.keyboard.type(typed);
  await phone.page.keyboard.press("Enter");
  expect((await phone.verdict()).look, "good", "a scanner with keys");
  expect(await phone.status("inside"), `Inside: 2 of ${tickets.length - 1}`, "the tickets that are inside");
  await phone.kept();

  // Without a connection
  phone.network.set("cut");
  const offline = next(OFFLINE);
  const scanned = Date.now();
  expect(await phone.looks(offline), offline.map(() => "good"), "valid tickets without a connection");
  const perScan = Math.round((Date.now() - scanned) / OFFLINE);
  expect(await phone.looks(offline.slice(0, 3)), ["bad", "bad", "bad"], "the same tickets again without a connection");
  expect((await phone.scan(cancelled.code)).look, "bad", "a cancelled ticket without a connection");
  const check = await phone.scan(UNKNOWN);
  expect([check.look, check.reason.startsWith("Not in the list of ")], ["unsure", true], "an unknown code without a connection");
  await phone.look("check-by-hand");
  await phone.page.click("#let-in");
  expect((await phone.verdict()).look, "unsure", "after one tap, nobody is let in");
  await phone.page.click("#let-in");
  await phone.page.waitForSelector("#verdict.good");
  expect((await phone.verdict()).word, "Let in", "let in after a second tap");
  await phone.page.waitForSelector("#verdict[hidden]");
  await phone.waitFor("waiting", `Unsent: ${OFFLINE + 5}`);
  await phone.look("offline");
  await phone.reload();
  await phone.waitFor("waiting", `Unsent: ${OFFLINE + 5}`);
  expect(await phone.looks([offline[0], ...next(1)]), ["bad", "good"], "after the page was loaded again without a connection");
  await phone.kill();
  await phone.start();
  await phone.open("/door/");
  await phone.waitFor("waiting", `Unsent: ${OFFLINE + 7}`);
  const [last] = next(1);
  expect((await phone.scan(last)).look, "good", "after the browser was killed");
  phone.network.set("good");
  await phone.reported();
  const rows = await log(event);
  const admissions = new Map();
  for (const { ticketId } of rows.filter((row) => row.kind === "IN" && !refused(row))) {
    admissions.set(ticketId, (admissions.get(ticketId) ?? 0) + 1);
  }
  const ids = [...offline, last].map((code) => tickets.find((ticket) => ticket.code === code).id);
  expect(ids.filter((id) => admissions.get(id) !== 1), [], "each scan without a connection arrives once");
  expect(rows.filter((row) => row.override).map((row) => row.outcome), ["UNKNOWN_CODE"], "the code that was let in");
  expect(new Set(rows.map((row) => row.uuid)).size, rows.length, "no scan twice");
  // Two codes that no ticket of the event has let nobody in, and are not logged.
  expect(rows.filter((row) => row.kind === "IN" || row.kind === "OUT").length, 6 + OFFLINE + 8, "all scans are in the log");

  // A connection that is too slow: the service gets the request, and its answer is late.
  const [slow] = next(1);
  await phone.waitFor("signal", "Online");
  phone.network.set("slow");
  const asked = Date.now();
  expect((await phone.scan(slow)).look, "good", "the phone decides if the service does not answer");
  const patience = Date.now() - asked;
  if (patience < 1400 || patience > 6000) problems.push(`the phone waits ${patience} ms for the service`);
  phone.network.set("good");
  await phone.reported();
  expect(await outcomesOf(slow), ["ADMITTED"], "a late answer counts once");
  // The same, and the phone, whose list is old, refuses what the service admits: what the staff saw counts.
  await phone.reload();
  await phone.waitFor("age", "List: 0 sec");
  await api("POST", "tickets/check-out", { code: slow });
  phone.network.set("slow");
  expect((await phone.scan(slow)).look, "bad", "a phone that does not know that a holder has left");
  phone.network.set("good");
  await phone.reported();
  expect((await outcomesOf(slow)).slice(0, 2), ["LEFT", "ADMITTED"], "a holder who was not let in is not inside");
  await phone.waitFor("signal", "Online");
  expect((await phone.scan(slow)).look, "good", "the holder comes again");

  // The browser is killed while the service is asked. Nobody has seen a verdict, so nobody came in.
  for (const [state, expected] of [["slow", ["LEFT", "ADMITTED"]], ["lost", ["REFUSED"]]]) {
    const [open] = next(1);
    await phone.waitFor("signal", "Online");
    phone.network.set(state);
    const { reports } = phone.network;
    await phone.page.$eval("#code", (field, code) => { field.value = code; field.form.requestSubmit(); }, open);
    while (phone.network.reports === reports) await pause(5);
    await phone.kill();
    phone.network.set("good");
    await phone.start();
    await phone.open("/door/");
    await phone.reported();
    expect(await outcomesOf(open), expected, `a scan whose answer was ${state} as the browser was killed`);
    await phone.waitFor("signal", "Online");
    expect((await phone.scan(open)).look, "good", "the holder is scanned again");
    expect(await outcomesOf(open), ["ADMITTED", ...expected], "the second scan is another one");
  }

  // Two phones without a connection, which report in both orders: both learn that a ticket came in twice.
  const second = await Phone.create(`${kind}-b`, kind);
  await second.start();
  await second.open(gateB.path);
  for (const order of [[phone, second], [second, phone]]) {
    const [twice] = next(1);
    const which = order[0].name;
    for (const each of order) {
      await each.waitFor("signal", "Online");
      each.network.set("cut");
    }
    expect((await phone.scan(twice)).look, "good", "a ticket at one entrance");
    expect((await second.scan(twice)).look, "good", "the same ticket at another entrance, without a connection");
    for (const each of order) {
      each.network.set("good");
      await each.reported();
    }
    expect((await outcomesOf(twice)).sort(), ["ADMITTED", "ADMITTED_TWICE"], `who came in twice is found, ${which} reports first`);
    for (const [each, place] of [[phone, ", Gate B [0-9A-F]{4}"], [second, ""]]) {
      await each.page.waitForSelector("#notices li", { timeout: 20_000 }).catch(() => {});
      const [notice] = await each.notices();
      const isNotice = new RegExp(`^Admitted twice: Parterre, [^,]+${place}. First at [^,]+, Gate A [0-9A-F]{4}$`).test(notice);
      expect(isNotice, true, `what ${each.name} says of who came in twice (${notice}), ${which} reports first`);
      await each.page.waitForSelector("#verdict[hidden]");
      if (order[0] === phone) await each.look(`admitted-twice-${each === phone ? "first" : "second"}`);
      await each.reload();
      expect(await each.notices(), [notice], "what is said after the page was loaded again");
    }
    if (order[0] === phone) {
      for (const each of order) {
        await each.page.click("#notices button");
        await each.page.waitForFunction(() => document.querySelector("#notices li") === null);
      }
      // The service lists the conflict again, because the ticket changes.
      await second.waitFor("signal", "Online");
      expect((await second.scan(twice)).look, "bad", "the ticket a third time");
      for (const each of order) {
        await each.reload();
        await each.waitFor("age", "List: 0 sec");
        expect(await each.notices(), [], "after the staff has seen it");
      }
      continue;
    }
    // A third phone reports that the holder had left before he came again: nobody came in twice.
    const [left] = (await rowsOf(twice)).map((row) => Date.parse(row.scannedAt)).sort();
    const scannedAt = new Date(left + 1).toISOString();
    const scan = { id: crypto.randomUUID(), code: twice, kind: "OUT", scannedAt, verdict: "ADMITTED" };
    await api("POST", "tickets/scans", { eventId: event, device: "Office", scans: [scan] });
    for (const each of order) {
      const isGone = () => document.querySelector("#notices li") === null;
      await each.page.waitForFunction(isGone, { timeout: 25_000 }).catch(() => problems.push(`${each.name} keeps a notice`));
    }
  }

  // What is kept on the phone
  const stored = await phone.stored();
  expect(tickets.filter((ticket) => stored.includes(ticket.code)), [], "codes on the phone");
  expect([stored.includes("Ada"), stored.includes("ada@"), stored.includes("const VERSION")], [false, false, false], "names on the phone");
  if (!stored.includes(tickets[0].id) || stored.length < 50_000) problems.push("what the phone has stored was not found");
  await Promise.all([phone.close(), second.close()]);
  return `The scanner is there after ${scannerAfter} ms; a scan without a connection takes ${perScan} ms`;
}
