// Reads the modules of a QR code: its format, its words, and the text in them (ISO/IEC 18004).

import { correctBlock, correctFormat, correctVersion } from "./correct.js";
import { DATA, layoutOf, sizeOf } from "./layout.js";

/** The words for error correction of a block, and the blocks of a code, by level and version (table 9). */
const LEVELS = {
  L: { words: [7, 10, 15, 20, 26, 18, 20, 24, 30, 18], blocks: [1, 1, 1, 1, 1, 2, 2, 2, 2, 4] },
  M: { words: [10, 16, 26, 18, 24, 16, 18, 22, 22, 26], blocks: [1, 1, 1, 2, 2, 4, 4, 4, 5, 5] },
  Q: { words: [13, 22, 18, 26, 18, 24, 18, 22, 20, 24], blocks: [1, 1, 2, 2, 4, 4, 6, 6, 8, 8] },
  H: { words: [17, 28, 22, 16, 22, 28, 26, 26, 24, 28], blocks: [1, 1, 2, 4, 4, 4, 5, 6, 8, 8] },
};
/** The levels as the format numbers them. */
const LEVEL_NAMES = ["M", "L", "H", "Q"];

/** Whether a mask inverts a module (table 10). */
const MASKS = [
  (row, column) => (row + column) % 2 === 0,
  (row) => row % 2 === 0,
  (row, column) => column % 3 === 0,
  (row, column) => (row + column) % 3 === 0,
  (row, column) => (Math.floor(row / 2) + Math.floor(column / 3)) % 2 === 0,
  (row, column) => ((row * column) % 2) + ((row * column) % 3) === 0,
  (row, column) => (((row * column) % 2) + ((row * column) % 3)) % 2 === 0,
  (row, column) => (((row + column) % 2) + ((row * column) % 3)) % 2 === 0,
];

/** The text of a code whose modules are 1 if they are dark, row by row. Null if it cannot be read. */
export function readModules(version, modules) {
  const size = sizeOf(version);
  if (version >= 7 && (readVersion(size, modules) ?? version) !== version) return null;
  const format = readFormat(size, modules);
  if (format === null) return null;
  const words = readWords(version, modules, MASKS[format & 7]);
  const data = correctWords(version, words, LEVELS[LEVEL_NAMES[format >> 3]]);
  return data === null ? null : readText(version, data);
}

/** The number whose bits are modules at these rows and columns, the highest one first. */
function bitsAt(size, modules, places) {
  return places.reduce((bits, [row, column]) => (bits << 1) | modules[row * size + column], 0);
}

function readFormat(size, modules) {
  const count = (length, place) => Array.from({ length }, (_, index) => place(index));
  const first = [
    ...count(6, (index) => [8, index]), [8, 7], [8, 8], [7, 8], ...count(6, (index) => [5 - index, 8]),
  ];
  const second = [...count(7, (index) => [size - 1 - index, 8]), ...count(8, (index) => [8, size - 8 + index])];
  return correctFormat(bitsAt(size, modules, first), bitsAt(size, modules, second));
}

function readVersion(size, modules) {
  const right = Array.from({ length: 18 }, (_, index) => [5 - Math.floor(index / 3), size - 9 - (index % 3)]);
  const below = right.map(([row, column]) => [column, row]);
  return correctVersion(bitsAt(size, modules, right), bitsAt(size, modules, below));
}

/** The words in their order in the code: in columns of two modules from the right, upwards and downwards in turn. */
function readWords(version, modules, isInverted) {
  const size = sizeOf(version);
  const layout = layoutOf(version);
  const words = [];
  let [word, bits, isUp] = [0, 0, true];
  for (let right = size - 1; right > 0; right -= 2, isUp = !isUp) {
    // The timing pattern has a column of its own.
    if (right === 6) right -= 1;
    for (let step = 0; step < 2 * size; step += 1) {
      const row = isUp ? size - 1 - (step >> 1) : step >> 1;
      const column = right - (step & 1);
      if (layout[row * size + column] !== DATA) continue;
      word = (word << 1) | (modules[row * size + column] ^ Number(isInverted(row, column)));
      bits += 1;
      if (bits % 8 !== 0) continue;
      words.push(word);
      word = 0;
    }
  }
  return words;
}

/** The words of data, after the correction of each block. Null if a block has too many errors. */
function correctWords(version, words, level) {
  const [count, correcting] = [level.blocks[version - 1], level.words[version - 1]];
  const all = words.length - count * correcting;
  const lengths = Array.from({ length: count }, (_, index) => Math.floor((all + index) / count));
  const blocks = lengths.map(() => []);
  let next = 0;
  for (let index = 0; index < lengths.at(-1); index += 1) {
    for (let block = 0; block < count; block += 1) {
      if (index < lengths[block]) blocks[block].push(words[next++]);
    }
  }
  for (; next < words.length; next += 1) blocks[(next - all) % count].push(words[next]);
  const isCorrect = blocks.every((block) => correctBlock(block, correcting));
  return isCorrect ? blocks.flatMap((block, index) => block.slice(0, lengths[index])) : null;
}

const ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
const [END, NUMERIC, LETTERS, BYTES, ECI] = [0, 1, 2, 4, 7];

const latin1 = (bytes) => String.fromCharCode(...bytes);

function utf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The character sets of bytes by their numbers: ISO/IEC 8859-1 and UTF-8. */
const CHARACTER_SETS = new Map([[1, latin1], [3, latin1], [26, utf8]]);

/** The text in words of data, or null: of Kanji, of several codes, or with a character set that is not known. */
export function readText(version, data) {
  const bits = new Bits(data);
  let text = "";
  let characters = (bytes) => utf8(bytes) ?? latin1(bytes);
  while (bits.left >= 4) {
    const mode = bits.take(4);
    if (mode === END) return text;
    let part = "";
    if (mode === ECI) characters = CHARACTER_SETS.get(readDesignator(bits));
    else if (mode === NUMERIC) part = readDigits(bits, bits.take(version < 10 ? 10 : 12));
    else if (mode === LETTERS) part = readLetters(bits, bits.take(version < 10 ? 9 : 11));
    else if (mode === BYTES) part = readBytes(bits, bits.take(version < 10 ? 8 : 16), characters);
    else return null;
    if (part === null || characters === undefined || bits.left < 0) return null;
    text += part;
  }
  return text;
}

class Bits {
  #words;
  #position = 0;

  constructor(words) {
    this.#words = words;
  }

  /** How many are left: negative if more were taken than there are. */
  get left() {
    return this.#words.length * 8 - this.#position;
  }

  take(count) {
    let value = 0;
    for (const end = this.#position + count; this.#position < end; this.#position += 1) {
      const word = this.#words[this.#position >> 3] ?? 0;
      value = (value << 1) | ((word >> (7 - (this.#position & 7))) & 1);
    }
    return value;
  }
}

/** The number of a character set, in one to three bytes. */
function readDesignator(bits) {
  const first = bits.take(8);
  if (first < 0x80) return first;
  if (first < 0xc0) return ((first & 0x3f) << 8) | bits.take(8);
  return ((first & 0x1f) << 16) | bits.take(16);
}

/** Three digits in 10 bits, two in 7, one in 4. Null if a number is too large. */
function readDigits(bits, count) {
  let text = "";
  while (text.length < count) {
    const digits = Math.min(3, count - text.length);
    const value = bits.take([0, 4, 7, 10][digits]);
    if (value >= 10 ** digits) return null;
    text += String(value).padStart(digits, "0");
  }
  return text;
}

/** Two characters in 11 bits, one in 6. Null if a number is too large. */
function readLetters(bits, count) {
  let text = "";
  while (text.length < count) {
    const isPair = count - text.length > 1;
    const value = bits.take(isPair ? 11 : 6);
    if (value >= (isPair ? 45 * 45 : 45)) return null;
    text += (isPair ? ALPHANUMERIC[Math.floor(value / 45)] : "") + ALPHANUMERIC[value % 45];
  }
  return text;
}

function readBytes(bits, count, characters) {
  if (bits.left < 8 * count) return null;
  return characters?.(Uint8Array.from({ length: count }, () => bits.take(8))) ?? null;
}
