// Compares the decoder of QR codes of the page with others: zbarimg, and the npm package `qr`, which the page had before.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import decodeOther from "qr/decode.js";
import decode from "./decoder/decode.js";
import { HEIGHT, WIDTH } from "./frames.mjs";
import { ratings, rgba, SETS } from "./pictures.mjs";

/** How much longer than the other decoder ours may take. */
const SLOWER = 1.5;
let problems = 0;

function problem(text) {
  console.error(text);
  problems += 1;
}

/** What a decoder reads in pictures, as {text, took}. */
function timed(decoder, picture) {
  const began = performance.now();
  let text = null;
  try {
    text = decoder(picture);
  } catch {
    // The other decoder throws if it reads nothing.
  }
  return { text, took: performance.now() - began };
}

/** What zbarimg reads in a picture: the texts of all codes. */
function judge(pixels) {
  const file = path.join(os.tmpdir(), `code_${process.pid}.pgm`);
  fs.writeFileSync(file, Buffer.concat([Buffer.from(`P5\n${WIDTH} ${HEIGHT}\n255\n`), pixels]));
  try {
    const options = ["--quiet", "--raw", "--nodbus", "-Sdisable", "-Sqrcode.enable", file];
    return execFileSync("zbarimg", options, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch (error) {
    // It reads nothing.
    if (error.status === 4) return null;
    throw error;
  } finally {
    fs.rmSync(file);
  }
}

for (const [name, { create, bar }] of Object.entries(SETS)) {
  const pictures = create();
  const found = { ours: [], other: [] };
  for (const { pixels } of pictures) {
    found.ours.push(timed(decode, rgba(pixels)));
    found.other.push(timed(decodeOther, rgba(pixels)));
  }
  const [ours, other] = [ratings(pictures, found.ours), ratings(pictures, found.other)];
  const figures = ({ read, median, most }) => `${read} in ${median.toFixed(1)} ms (median) and ${most.toFixed(1)} ms (95 %)`;
  console.log(`Pictures of ${name}: the decoder reads ${figures(ours)}, the package qr ${figures(other)}`);
  if (ours.read < bar || ours.read < other.read) problem(`the decoder reads too few pictures of ${name}: ${ours.shares}`);
  if (ours.wrong.length > 0) problem(`the decoder reads wrong texts in pictures of ${name}: ${JSON.stringify(ours.wrong)}`);
  if (ours.median > SLOWER * other.median) problem(`the decoder is slow with pictures of ${name}`);

  // The sharp pictures are what they are taken for, and zbarimg agrees with the decoder about them.
  const sharp = pictures.map((picture, index) => [picture, found.ours[index].text]).filter(([{ kind }]) => kind === "sharp");
  const judged = sharp.map(([picture, text]) => [picture.text, judge(picture.pixels), text]);
  const differing = judged.filter(([text, one]) => one !== null && one !== text);
  const read = judged.filter(([, one]) => one !== null).length;
  if (differing.length > 0) problem(`zbarimg reads other texts: ${JSON.stringify(differing)}`);
  if (read < 0.8 * sharp.length) problem(`zbarimg reads only ${read} of ${sharp.length} sharp pictures of ${name}`);
  const missed = judged.filter(([text, one, our]) => one !== null && our !== text);
  if (missed.length > 0) problem(`zbarimg reads what the decoder does not: ${JSON.stringify(missed)}`);
  console.log(`zbarimg reads ${read} of the ${sharp.length} sharp ones, and the decoder as well`);
}
if (problems > 0) process.exit(1);
