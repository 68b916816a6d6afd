// Compares the rules of admission of the page for check-in with those of the service, and how it reads codes with the
// examples in the guide, and those of codes of other sellers: node vectors.mjs FILE CODES FOREIGN
import fs from "node:fs";
import { afterScan, normalizeCode, readCode, reasonAgainst } from "./admission.mjs";

const lines = fs.readFileSync(process.argv[2], "utf8").trim().split("\n");
let scans = 0;
let differences = 0;
for (const line of lines) {
  const { event, type, ticket, scans: expected } = JSON.parse(line);
  let state = ticket;
  for (const { kind, at, reason, after } of expected) {
    const found = reasonAgainst(event, type, state, kind, at);
    state = afterScan(event, type, state, kind, at);
    const isSame = found === reason && Object.keys(after).every((name) => after[name] === state[name]);
    if (!isSame) console.error("Different:", found, state, line);
    differences += isSame ? 0 : 1;
    // Both go on from the state of the service.
    state = after;
    scans += 1;
  }
}
if (lines.length < 5000 || differences > 0) {
  console.error(`${differences} of ${scans} scans differ, of ${lines.length} tickets`);
  process.exit(1);
}
console.log(`The page decides on ${scans} scans of ${lines.length} tickets as the service does`);

const codes = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));
for (const [typed, stored] of codes) {
  if (normalizeCode(typed) === stored) continue;
  console.error(`The page reads ${JSON.stringify(typed)} as ${normalizeCode(typed)}, not as ${stored}`);
  process.exit(1);
}
const foreign = JSON.parse(fs.readFileSync(process.argv[4], "utf8"));
for (const [typed, read] of foreign) {
  if (readCode(typed) === read) continue;
  console.error(`The page reads ${JSON.stringify(typed)} as ${readCode(typed)}, not as ${read}`);
  process.exit(1);
}
console.log(`The page reads ${codes.length + foreign.length} codes as the service does`);
