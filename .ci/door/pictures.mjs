// Pictures of codes for the decoder, the same in each run: sharp and bad ones, and damaged codes that must not be read.
import { draw, encode, HEIGHT, randomNumbers, WIDTH } from "./frames.mjs";

const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const FRAMES = 200;
const DAMAGED = 20;
const LEVELS = ["low", "medium", "quartile", "high"];
/** The lowest version of the second set, and how many versions it has. */
const [FIRST, VERSIONS] = [3, 8];
/** The diagonal of the largest code that is drawn, in pixels. */
const DIAGONAL = 450;

/** Bad pictures of tickets, and of larger codes that are tilted more, with how many must be read. */
export const SETS = {
  tickets: { create: () => pictures(2026, ticket), bar: 190 },
  "larger codes": { create: () => pictures(31, large), bar: 190 },
};

/** What a decoder has read of pictures, from a list of {text, took}: texts or null, and milliseconds. */
export function ratings(shown, found) {
  const results = shown.map(({ kind, text }, index) => ({ kind, text, found: found[index].text, took: found[index].took }));
  const wrong = results.filter((result) => result.found !== null && result.found !== result.text);
  const good = results.slice(0, FRAMES);
  const kinds = [...new Set(good.map(({ kind }) => kind))];
  const count = (list) => `${list.filter((result) => result.found !== null).length} of ${list.length}`;
  const shares = kinds.map((kind) => `${kind} ${count(good.filter((result) => result.kind === kind))}`).join(", ");
  const times = good.map(({ took }) => took).sort((one, other) => one - other);
  const [median, most] = [0.5, 0.95].map((part) => times[Math.floor(part * FRAMES)]);
  return { read: good.filter((result) => result.found === result.text).length, wrong, shares, median, most };
}

/** A picture as browsers have it, from a byte for each pixel. */
export function rgba(pixels, width = WIDTH, height = HEIGHT) {
  const data = new Uint8ClampedArray(pixels.length * 4);
  const colors = new Uint32Array(data.buffer);
  pixels.forEach((gray, index) => { colors[index] = 0xff000000 + gray * 0x010101; });
  return { width, height, data };
}

/** Pictures as {kind, text, pixels}. The text is null if the code is damaged. */
function pictures(seed, show) {
  const random = randomNumbers(seed);
  const between = (low, high) => low + random() * (high - low);
  const letters = (count) => Array.from({ length: count }, () => LETTERS[Math.floor(random() * 32)]).join("");
  const kinds = kindsOf(between);
  const names = Object.keys(kinds);
  return Array.from({ length: FRAMES + DAMAGED }, (_, index) => {
    const isDamaged = index >= FRAMES;
    const { text, code, size, tilt } = show(index, letters);
    const modules = isDamaged ? damage(code, random) : code;
    const kind = isDamaged ? "damaged" : names[index % names.length];
    const look = somehow(modules, between, size, tilt);
    const pixels = draw({ codes: [look], blur: 0.5, ...kinds[isDamaged ? "sharp" : kind](look) }, random);
    return { kind, text: isDamaged ? null : text, code, pixels };
  });
}

function ticket(_, letters) {
  const text = letters(20);
  return { text, code: encode(text), size: [4, 9], tilt: 0.45 };
}

/** A code of the versions 3 to 10, in turn, with a level of error correction in turn. */
function large(index, letters) {
  const version = FIRST + (Math.floor(index / 5) % VERSIONS);
  const ecc = LEVELS[Math.floor(index / (5 * VERSIONS)) % LEVELS.length];
  const text = letters(15 + 8 * version);
  const code = encode(text, { ecc, version: Math.max(version, smallest(text, ecc)) });
  const fitting = DIAGONAL / ((code.length - 8) * Math.SQRT2);
  return { text, code, size: [Math.min(4, fitting * 0.9), Math.min(9, fitting)], tilt: 0.6 };
}

const smallest = (text, ecc) => (encode(text, { ecc }).length - 25) / 4;

/** A code that is turned and tilted somehow, in about the middle of the picture. */
function somehow(modules, between, [smallest, largest], most) {
  const [lean, direction] = [between(0, most), between(0, 2 * Math.PI)];
  const place = { x: Math.round(between(280, 360)), y: Math.round(between(210, 270)) };
  const tilt = [lean * Math.cos(direction), lean * Math.sin(direction)];
  return { modules, ...place, module: between(smallest, largest), angle: between(0, 2 * Math.PI), tilt };
}

const kindsOf = (between) => ({
  sharp: () => ({}),
  blurred: () => ({ blur: between(1, 1.6) }),
  glare: ({ x, y, module }) => {
    const [dx, dy] = [between(-16, 16), between(-16, 16)];
    return { glare: { x: x + dx * module, y: y + dy * module, radius: between(1, 2) * module } };
  },
  dark: () => ({ light: between(0.12, 0.3), noise: between(6, 10) }),
  "blurred and dark": () => ({ blur: between(0.5, 1.5), light: between(0.2, 0.4), noise: between(5, 8) }),
});

/** The modules with noise in place of the data, which leaves the three corners as they are. */
function damage(modules, random) {
  const size = modules.length;
  const isCorner = (row, column) => row < 13 && (column < 13 || column >= size - 13) || row >= size - 13 && column < 13;
  const isData = (row, column) => Math.min(row, column) >= 4 && Math.max(row, column) < size - 4 && !isCorner(row, column);
  return modules.map((line, row) => line.map((dark, column) => (isData(row, column) ? random() < 0.5 : dark)));
}
