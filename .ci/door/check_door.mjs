// Uses the page for check-in as the staff of an entrance does: in Chromium, and all but the camera in Firefox.
//
// node check_door.mjs ADDRESS KEY PROGRAM FOLDER [PART...]
import { camera } from "./camera.mjs";
import { decoder } from "./decoder.mjs";
import { entrance } from "./entrance.mjs";
import { foreign } from "./foreign.mjs";
import { keeping } from "./keeping.mjs";
import { problems } from "./phone.mjs";
import { staff } from "./staff.mjs";

const PARTS = {
  chromium: () => entrance("chrome"),
  firefox: () => entrance("firefox"),
  "staff-chromium": () => staff("chrome"),
  "staff-firefox": () => staff("firefox"),
  keeping,
  camera,
  foreign,
  decoder,
};
const wanted = process.argv.slice(6);
for (const [name, part] of Object.entries(PARTS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const began = Date.now();
  const figures = await part();
  console.log(`${name}: ${Math.round((Date.now() - began) / 1000)} s. ${figures ?? ""}`);
}
if (problems.length > 0) process.exit(1);
console.log("The page for check-in works with and without a connection");
