// Pictures of codes for the decoder, the same in each run: sharp and bad ones, and damaged codes that must not be read.
import { draw, encode, randomNumbers } from "./frames.mjs";

const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const FRAMES = 200;
const DAMAGED = 20;
const LEVELS = ["low", "medium", "quartile", "high"];
/** The lowest version of the second set, and how many versions it has. */
const [FIRST, VERSIONS] = [3, 8];
/** The diagonal of the largest code that is drawn, in pixels. */
const DIAGONAL = 450;

/** The bad pictures that look like those of tickets, and larger codes that are tilted more. */
export const SETS = {
  tickets: () => pictures(2026, ticket),
  large: () => pictures(31, large),
};

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
    return { kind, text: isDamaged ? null : text, version: (code.length - 25) / 4, pixels };
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
