// Shows the decoder of QR codes of the page pictures that are no codes, random and hostile ones: it returns null, never throws,
// and does not work for long.
import decode, { MOST_TRIES } from "./decoder/decode.js";
import { draw, encode, HEIGHT, randomNumbers, WIDTH } from "./frames.mjs";
import { rgba } from "./pictures.mjs";

const PICTURES = 10_000;
/** How long a picture of the size of those of the camera may take, in milliseconds: ten times longer than the worst one did. */
const SLOW = 2000;

const random = randomNumbers(10);
const below = (count) => Math.floor(random() * count);
const pick = (list) => list[below(list.length)];
let problems = 0;

function problem(text) {
  console.error(text);
  problems += 1;
}

/** A picture from the brightness of each pixel. */
function paint(width, height, brightness) {
  const values = new Uint8Array(width * height);
  for (let index = 0; index < values.length; index += 1) values[index] = brightness(index % width, Math.floor(index / width));
  return { values, width, height };
}

const inRings = (distance) => distance < 1.5 || (distance >= 2.5 && distance < 3.5);

/** Finder patterns next to each other. */
function finders(width, height, module, gap) {
  const pitch = (7 + gap) * module;
  const offset = (at) => Math.abs((at % pitch) / module - 3.5);
  return paint(width, height, (x, y) => (inRings(Math.max(offset(x), offset(y))) ? 30 : 220));
}

/** What is drawn in pictures of any size. */
const DRAWINGS = {
  "one color": (width, height) => paint(width, height, () => 120),
  noise: (width, height) => paint(width, height, () => below(256)),
  "black and white noise": (width, height) => paint(width, height, () => 255 * below(2)),
  stripes: (width, height) => {
    const part = 1 + below(12);
    return paint(width, height, (x) => (x % (2 * part) < part ? 0 : 255));
  },
  bars: (width, height) => {
    const part = 1 + below(4);
    return paint(width, height, (_, y) => (inRings(Math.abs((y / part) % 8 - 3.5)) ? 0 : 255));
  },
  checkerboard: (width, height) => {
    const part = 1 + below(8);
    return paint(width, height, (x, y) => ((Math.floor(x / part) + Math.floor(y / part)) % 2) * 255);
  },
  gradient: (width, height) => paint(width, height, (x, y) => ((x * 3 + y) / (width * 3 + height)) * 255),
  rings: (width, height) => {
    const part = 1 + below(6);
    return paint(width, height, (x, y) => (Math.hypot(x - width / 2, y - height / 2) % (2 * part) < part ? 0 : 255));
  },
  finders: (width, height) => finders(width, height, 1 + below(6), 1 + below(4)),
};

/** A sharp code, small and upright, with its text. */
function code() {
  const text = Array.from({ length: 1 + below(14) }, () => pick([..."0123456789ABCXYZ"])).join("");
  const modules = encode(text, { ecc: pick(["low", "medium", "quartile", "high"]) });
  const scale = 2 + below(3);
  const side = modules.length * scale;
  const isLight = below(2) === 1;
  return { text, ...paint(side, side, (x, y) => (modules[Math.floor(y / scale)][Math.floor(x / scale)] === isLight ? 210 : 40)) };
}

/** Changes of a picture with a code. */
const MUTATIONS = [
  ({ values }) => {
    for (let count = below(2000); count > 0; count -= 1) values[below(values.length)] = below(256);
  },
  ({ values, width, height }) => {
    const [left, top, right, bottom, color] = [below(width), below(height), below(width), below(height), below(256)];
    for (let y = top; y < bottom; y += 1) values.fill(color, y * width + left, y * width + Math.max(left, right));
  },
  ({ values }) => values.copyWithin(below(values.length), below(values.length), below(values.length)),
  ({ values }) => {
    const from = below(values.length);
    values.subarray(from, from + below(values.length)).reverse();
  },
  ({ values }) => {
    const mask = below(256);
    values.set(values.map((value, index) => (index % 7 < 3 ? value ^ mask : value)));
  },
  ({ values, width }) => {
    for (let at = 0; at < values.length; at += width * (1 + below(9))) values.copyWithin(at, at + below(5));
  },
  ({ values }) => {
    const [factor, less] = [random(), below(100)];
    values.set(values.map((value) => Math.max(0, value * factor - less)));
  },
];

/** Decodes a picture. A text that is not the expected one is a problem. Returns how long it has taken. */
function show(what, { values, width, height }, text = null) {
  const work = { tries: 0, match: 0 };
  const began = performance.now();
  try {
    const found = decode(rgba(values, width, height), work);
    if (found !== null && found !== text) problem(`${what}: the decoder reads ${JSON.stringify(found)} instead of ${text}`);
    if (found !== null) read += 1;
  } catch (error) {
    problem(`${what}: ${error.stack}`);
  }
  if (work.tries > MOST_TRIES) problem(`${what}: ${work.tries} tries`);
  tries = Math.max(tries, work.tries);
  return performance.now() - began;
}

let [read, tries] = [0, 0];
const names = Object.keys(DRAWINGS);
const codes = Array.from({ length: 300 }, code);
for (let index = 0; index < PICTURES; index += 1) {
  if (index % 2 === 0) {
    const name = names[(index / 2) % names.length];
    show(`${name}, picture ${index}`, DRAWINGS[name](1 + below(130), 1 + below(130)));
    continue;
  }
  const { values, ...rest } = pick(codes);
  const picture = { ...rest, values: values.slice() };
  for (let count = below(4); count > 0; count -= 1) pick(MUTATIONS)(picture);
  show(`changed code, picture ${index}`, picture, picture.text);
}
// A quarter of the codes is not changed at all.
if (read < PICTURES / 8) problem(`the decoder reads only ${read} of the changed codes`);

let [worst, worstName] = [0, ""];
function showLarge(name, picture) {
  const took = show(name, picture);
  if (took > worst) [worst, worstName] = [took, name];
}
for (const [name, drawing] of Object.entries(DRAWINGS)) {
  for (let time = 0; time < 3; time += 1) showLarge(name, drawing(WIDTH, HEIGHT));
}
for (const module of [2, 3, 4, 6]) showLarge(`finders of ${module} pixels`, finders(WIDTH, HEIGHT, module, 2));
const many = Array.from({ length: 24 }, (_, index) => ({
  modules: encode("X").map((row, y) => row.map((dark, x) => (Math.max(x, y) > 12 ? below(2) === 1 : dark))),
  x: 60 + 105 * (index % 6), y: 60 + 120 * Math.floor(index / 6), module: 3, angle: random(),
}));
showLarge("codes with random data", { values: draw({ codes: many }, random), width: WIDTH, height: HEIGHT });
if (worst > SLOW) problem(`${worstName} takes ${Math.round(worst)} ms`);

for (const [width, height] of [[0, 0], [1, 1], [0, 100], [20_000, 40], [40, 20_000], [31, 31], [32, 32], [33, 35]]) {
  show(`${width} × ${height}`, DRAWINGS.noise(width, height));
}
const data = new Uint8ClampedArray(4 * 64 * 64);
for (const [width, height] of [[64, 65], [NaN, 64], [64.5, 64], [-64, -64], [undefined, 64]]) {
  if (decode({ width, height, data }) !== null) problem("a picture of another size is read");
}

console.log(`The decoder is shown ${PICTURES} random pictures: ${read} codes are read, in at most ${tries} of ${MOST_TRIES} tries`);
console.log(`The worst picture of the camera's size, ${worstName}, takes ${Math.round(worst)} ms`);
if (problems > 0) process.exit(1);
