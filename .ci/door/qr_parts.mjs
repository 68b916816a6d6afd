// Tests of the parts of the decoder of QR codes in the page. Expected values are those of ISO/IEC 18004, of arithmetic, or of
// the encoder in the npm package `qr`.
import assert from "node:assert/strict";
import { darknessOf, halfBrightnessOf, halved, meansOf } from "./decoder/brightness.js";
import { correctBlock, correctFormat, correctVersion, multiply } from "./decoder/correct.js";
import decode from "./decoder/decode.js";
import { findCorners, findPatterns } from "./decoder/find.js";
import { DARK, DATA, INFORMATION, layoutOf, LIGHT, sizeOf } from "./decoder/layout.js";
import { readModules, readText } from "./decoder/read.js";
import { findPlace, sampleModules, versionsOf } from "./decoder/sample.js";
import { draw, encode, HEIGHT, randomNumbers, WIDTH } from "./frames.mjs";
import { rgba } from "./pictures.mjs";

const random = randomNumbers(18004);
const below = (count) => Math.floor(random() * count);
const range = (count, create = (index) => index) => Array.from({ length: count }, (_, index) => create(index));
const VERSIONS = range(10, (index) => index + 1);
const LEVELS = ["low", "medium", "quartile", "high"];

/** The example of annex I: "01234567" in a code of the version 1-M. */
const EXAMPLE = [
  16, 32, 12, 86, 97, 128, 236, 17, 236, 17, 236, 17, 236, 17, 236, 17, 165, 36, 212, 193, 237, 54, 199, 135, 44, 85,
];

/** The modules of a code without its border, row by row. */
const modulesOf = (code) => code.slice(4, -4).flatMap((row) => row.slice(4, -4).map(Number));

/** Bits as bytes, filled up with zeros. */
function bytes(...parts) {
  const bits = parts.join("").replaceAll(" ", "");
  return range(Math.ceil(bits.length / 8), (index) => parseInt(bits.slice(8 * index, 8 * index + 8).padEnd(8, "0"), 2));
}

/** The product of polynomials with bits as coefficients, modulo x^8 + x^4 + x^3 + x^2 + 1. */
function product(one, other) {
  let result = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    result <<= 1;
    if (result & 0x100) result ^= 0x11d;
    if ((other >> bit) & 1) result ^= one;
  }
  return result;
}

/** A block without errors: random data times the generator polynomial, whose roots are powers of 2. */
function randomBlock(data, correcting) {
  let generator = [1];
  for (let index = 0, root = 1; index < correcting; index += 1, root = product(root, 2)) {
    generator = [...generator, 0].map((value, at) => value ^ (at === 0 ? 0 : product(generator[at - 1], root)));
  }
  const block = new Array(data + correcting).fill(0);
  for (let index = 0; index < data; index += 1) {
    const factor = below(256);
    generator.forEach((value, at) => { block[index + at] ^= product(value, factor); });
  }
  return block;
}

/** A copy of a block with this many different words at random places. */
function withErrors(block, count) {
  const places = new Set();
  while (places.size < count) places.add(below(block.length));
  return block.map((word, place) => (places.has(place) ? word ^ (1 + below(255)) : word));
}

/** All numbers of this many bits that have at most three ones. */
function fewBits(count) {
  const powers = [0, ...range(count, (index) => 1 << index)];
  return new Set(powers.flatMap((one) => powers.flatMap((two) => powers.map((three) => one | two | three))));
}

/** A picture of random pixels. */
function randomPicture(width, height) {
  return { width, height, values: Uint8Array.from({ length: width * height }, () => below(256)), halvings: 0 };
}

/** A finder pattern in a picture of darkness, and where it is. Its color changes at 1.5, 2.5 and 3.5 modules from the center. */
function drawPattern(values, width, { x, y, module, angle, isLight = false }) {
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  values.forEach((_, index) => {
    const [right, down] = [(index % width) + 0.5 - x, Math.floor(index / width) + 0.5 - y];
    const distance = Math.max(Math.abs(right * cosine + down * sine), Math.abs(down * cosine - right * sine)) / module;
    if (distance > 4.5) return;
    const isDark = distance < 1.5 || (distance > 2.5 && distance < 3.5);
    values[index] = isDark === isLight ? -60 : 60;
  });
}

/** The brightness of a drawn code in all that `findPlace` needs. */
function pictureOf(look) {
  const whole = { width: WIDTH, height: HEIGHT, values: draw({ noise: 0, ...look }, random), halvings: 0 };
  return { ...whole, means: meansOf(halved(halved(whole)), 8), sign: 1 };
}

const TESTS = {
  "the field has the products of polynomials": () => {
    for (let one = 0; one < 256; one += 1) {
      for (let other = 0; other < 256; other += 1) assert.equal(multiply(one, other), product(one, other));
    }
  },

  "the block of the standard is corrected with up to five errors": () => {
    for (let errors = 0; errors <= 5; errors += 1) {
      for (let time = 0; time < 200; time += 1) {
        const block = withErrors(EXAMPLE, errors);
        assert.ok(correctBlock(block, 10));
        assert.deepEqual(block, EXAMPLE);
      }
    }
  },

  "blocks of all lengths are corrected with up to half as many errors as words for correction": () => {
    for (const correcting of [7, 10, 13, 15, 16, 17, 18, 20, 22, 24, 26, 28, 30]) {
      for (let time = 0; time < 50; time += 1) {
        const block = randomBlock(9 + below(100), correcting);
        const damaged = withErrors(block, below(Math.floor(correcting / 2) + 1));
        assert.ok(correctBlock(damaged, correcting));
        assert.deepEqual(damaged, block);
      }
    }
  },

  "a block with too many errors is not corrected to itself, and rarely to another one": () => {
    let corrected = 0;
    for (let time = 0; time < 1000; time += 1) corrected += Number(correctBlock(withErrors(randomBlock(16, 28), 15), 28));
    // The part of all words that are near a block without errors is below one in a million.
    assert.equal(corrected, 0);
  },

  "formats are those of annex C, also with three errors in one of two places": () => {
    const known = new Map([[0, 0x5412], [0b00101, 0b100000011001110], [31, 0x2bed]]);
    for (const [format, bits] of known) {
      for (const error of fewBits(15)) {
        assert.equal(correctFormat(bits ^ error), format);
        assert.equal(correctFormat(bits ^ error, bits), format);
      }
    }
  },

  "versions are those of annex D, also with three errors": () => {
    for (const [version, bits] of [[7, 0x07c94], [8, 0x085bc], [9, 0x09a99], [10, 0x0a4d3]]) {
      for (const error of fewBits(18)) assert.equal(correctVersion(bits ^ error), version);
    }
  },

  "layouts leave as many modules for data as table 1 has": () => {
    const expected = [208, 359, 567, 807, 1079, 1383, 1568, 1936, 2336, 2768];
    assert.deepEqual(VERSIONS.map((version) => layoutOf(version).filter((kind) => kind === DATA).length), expected);
    assert.deepEqual(VERSIONS.map(sizeOf), [21, 25, 29, 33, 37, 41, 45, 49, 53, 57]);
    // Twice 15 modules of the format, and twice 18 of the version.
    const information = VERSIONS.map((version) => layoutOf(version).filter((kind) => kind === INFORMATION).length);
    assert.deepEqual(information, [30, 30, 30, 30, 30, 30, 66, 66, 66, 66]);
  },

  "the patterns of layouts are those of codes": () => {
    for (const version of VERSIONS) {
      const modules = modulesOf(encode("0", { version }));
      layoutOf(version).forEach((kind, index) => {
        if (kind === DARK || kind === LIGHT) assert.equal(modules[index], Number(kind === DARK));
      });
    }
  },

  "texts are read as the examples of the standard": () => {
    assert.equal(readText(1, EXAMPLE.slice(0, 16)), "01234567");
    const digits = "0001 0000010000 0000001100 0101011001 1010100110 1110000101 0011101010 0101";
    assert.equal(readText(1, bytes(digits)), "0123456789012345");
    assert.equal(readText(1, bytes("0010 000000101 00111001110 11100111001 000010 0000")), "AC-42");
    // The Greek letters of ISO/IEC 8859-7 are not known.
    assert.equal(readText(1, bytes("0111 00001001 0100 00000101 10100001 10100010 10100011 10100100 10100101 0000")), null);
  },

  "bytes are UTF-8 or else Latin-1, or as the character set says": () => {
    const umlaut = "11000011 10111100";
    assert.equal(readText(1, bytes("0100 00000010", umlaut, "0000")), "ü");
    assert.equal(readText(1, bytes("0100 00000001 11111100 0000")), "ü");
    assert.equal(readText(1, bytes("0111 00011010 0100 00000010", umlaut, "0000")), "ü");
    assert.equal(readText(1, bytes("0111 00000011 0100 00000010", umlaut, "0000")), "Ã¼");
    // The number 26 in two and in three bytes.
    assert.equal(readText(1, bytes("0111 10000000 00011010 0100 00000010", umlaut, "0000")), "ü");
    assert.equal(readText(1, bytes("0111 11000000 00000000 00011010 0100 00000010", umlaut, "0000")), "ü");
    assert.equal(readText(1, bytes("0111 00011010 0100 00000001 11111100 0000")), null);
  },

  "several parts make one text, with lengths of the version": () => {
    const letters = (length) => `0010 ${length} 00111001110`;
    const digits = (length) => `0001 ${length} 0001111011`;
    const ends = ["0000", "0", ""];
    for (const end of ends) assert.equal(readText(9, bytes(letters("000000010"), digits("0000000011"), end)), "AC123");
    const letter = "0100 0000000000000001 01000001";
    assert.equal(readText(10, bytes(letters("00000000010"), digits("000000000011"), letter, "0000")), "AC123A");
    assert.equal(readText(1, bytes("0000")), "");
  },

  "what is not known, not complete or not possible is not read": () => {
    for (const mode of ["0011", "0101", "1000", "1001", "0110", "1111"]) {
      assert.equal(readText(1, bytes(mode, "00000001 00000001 00000001")), null);
    }
    assert.equal(readText(1, bytes("0001 0000000011 1111101000 0000")), null, "1000 is no number of three digits");
    assert.equal(readText(1, bytes("0001 0000000001 1010 0000")), null, "10 is no digit");
    assert.equal(readText(1, bytes("0010 000000010 11111101001 0000")), null, "2025 is no pair of characters");
    assert.equal(readText(1, bytes("0010 000000001 101101 0000")), null, "45 is no character");
    for (const start of ["0001 1111111111", "0010 111111111", "0100 11111111"]) {
      assert.equal(readText(1, bytes(start, "0000 0000")), null);
    }
    for (let time = 0; time < 20_000; time += 1) readText(1 + below(10), range(below(40), () => below(256)));
  },

  "codes of all versions, levels and masks are read": () => {
    let codes = 0;
    for (const version of VERSIONS) {
      for (const ecc of LEVELS) {
        for (const mask of range(8)) {
          const text = [`${version}${ecc}`, "0123456789", "A-1:B"][codes % 3].slice(0, 7);
          assert.equal(readModules(version, modulesOf(encode(text, { version, ecc, mask }))), text);
          codes += 1;
        }
      }
    }
    assert.equal(codes, 320);
  },

  "a code says its version twice, and is not read as one of another version": () => {
    const modules = modulesOf(encode("VERSION", { version: 7 }));
    // Bit 0 is in the first row and, below, in the first column.
    const places = (bit) => [Math.floor(bit / 3) * 45 + 34 + (bit % 3), (34 + (bit % 3)) * 45 + Math.floor(bit / 3)];
    const changed = (bits, places) => {
      const copy = modules.slice();
      for (let bit = 0; bit < 18; bit += 1) for (const place of places(bit)) copy[place] ^= (bits >> bit) & 1;
      return copy;
    };
    const other = 0x07c94 ^ 0x085bc;
    assert.equal(readModules(7, changed(0b101000000000000001, places)), "VERSION");
    assert.equal(readModules(7, changed(other, (bit) => places(bit).slice(1))), "VERSION");
    assert.equal(readModules(7, changed(other, places)), null);
  },

  "codes that are full are read": () => {
    for (const version of VERSIONS) {
      for (const ecc of LEVELS) {
        for (const [encoding, letters] of Object.entries({ numeric: "0123456789", alphanumeric: "Z$ %*+-./:", byte: "zä€" })) {
          const text = (length) => range(length, (index) => letters[index % letters.length]).join("");
          let length = 1;
          const fits = (count) => { try { return encode(text(count), { version, ecc, encoding }); } catch { return null; } };
          while (fits(length + 1) !== null) length += 1;
          assert.equal(readModules(version, modulesOf(fits(length))), text(length));
        }
      }
    }
  },

  "a code is read with as many wrong words as its level corrects, and not with twice as many": () => {
    const modules = modulesOf(encode("0123456789ABCDEFGHJK", { version: 2, ecc: "high" }));
    const data = range(modules.length).filter((index) => layoutOf(2)[index] === DATA);
    // 28 of 44 words correct 14 words.
    const changed = (count) => {
      const places = new Set();
      while (places.size < count) places.add(data[below(data.length)]);
      return modules.map((module, index) => (places.has(index) ? 1 - module : module));
    };
    for (let time = 0; time < 200; time += 1) {
      assert.equal(readModules(2, changed(14)), "0123456789ABCDEFGHJK");
      assert.equal(readModules(2, changed(150)), null);
    }
  },

  "means and halves are those of the pixels": () => {
    const [width, height, reach] = [23, 17, 3];
    const picture = randomPicture(width, height);
    const near = (at, length) => range(2 * reach + 1, (index) => at + index - reach).filter((each) => each >= 0 && each < length);
    const means = meansOf(picture, reach);
    picture.values.forEach((value, index) => {
      const [row, column] = [Math.floor(index / width), index % width];
      const around = near(row, height).flatMap((y) => near(column, width).map((x) => picture.values[y * width + x]));
      const mean = around.reduce((sum, each) => sum + each) / around.length;
      assert.ok(Math.abs(means.values[index] - mean) <= 1);
      assert.equal(darknessOf(picture, means).values[index], means.values[index] - value);
    });
    const half = halved(picture);
    assert.deepEqual([half.width, half.height, half.halvings], [11, 8, 1]);
    const [one, two, three, four] = [0, 1, width, width + 1].map((offset) => picture.values[4 * width + 6 + offset]);
    assert.equal(half.values[2 * 11 + 3], Math.floor((one + two + three + four + 2) / 4));
    // A red, a green, a blue and a white pixel: green counts twice.
    const data = [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255];
    assert.equal(halfBrightnessOf({ width: 2, height: 2, data }).values[0], Math.floor((255 + 2 * 255 + 255 + 4 * 255) / 16));
  },

  "finder patterns are found where they are, light and dark, and turned": () => {
    const [width, height] = [200, 150];
    for (let time = 0; time < 200; time += 1) {
      const values = new Int16Array(width * height);
      const [x, y, module, angle] = [60 + 80 * random(), 50 + 50 * random(), 2.5 + 5 * random(), 2 * Math.PI * random()];
      const pattern = { x, y, module, angle, isLight: time % 2 === 1 };
      drawPattern(values, width, pattern);
      const found = findPatterns({ width, height, values, halvings: 1 }).filter(({ isLight }) => isLight === pattern.isLight);
      assert.equal(found.length, 1, JSON.stringify(pattern));
      // The picture is half as large as the whole one.
      assert.ok(Math.hypot(found[0].x / 2 - pattern.x, found[0].y / 2 - pattern.y) < 0.6);
      assert.ok(Math.abs(Math.sqrt(found[0].area) / 2 / pattern.module - 1) < 0.12);
    }
  },

  "stripes, checkerboards and squares in one ring are no finder patterns": () => {
    const [width, height] = [120, 120];
    const square = (right, down) => Math.max(Math.abs(right), Math.abs(down));
    const drawings = [
      (right) => right % 16 < 8, (_, down) => down % 16 < 8, (right, down) => (right >> 3) % 2 === (down >> 3) % 2,
      (right, down) => square(right - 60, down - 60) < 12, (right, down) => Math.abs(square(right - 60, down - 60) - 20) < 5,
    ];
    for (const isDark of drawings) {
      const at = (index) => (isDark(index % width, Math.floor(index / width)) ? 60 : -60);
      const values = Int16Array.from({ length: width * height }, (_, index) => at(index));
      assert.deepEqual(findPatterns({ width, height, values, halvings: 0 }), []);
    }
  },

  "corners are named as those of a code that is turned": () => {
    for (let time = 0; time < 100; time += 1) {
      const angle = 2 * Math.PI * random();
      const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
      const turned = (right, down) => ({ x: 300 + right * cosine - down * sine, y: 200 + right * sine + down * cosine });
      const at = (right, down) => ({ ...turned(right, down), area: 25, isLight: false });
      // 18 modules of 5 pixels: the version 2.
      const corners = [at(0, 0), at(90, 0), at(0, 90)];
      const [found] = findCorners([corners[1], corners[2], { ...at(45, 50), isLight: true }, corners[0]]);
      assert.deepEqual(found, corners);
      assert.equal(versionsOf(found)[0], 2);
    }
  },

  "the modules of tilted codes are sampled without an error": () => {
    for (const version of VERSIONS) {
      for (let time = 0; time < 5; time += 1) {
        const code = encode("0123456789ABC", { version, ecc: "low" });
        const [angle, side, module] = [2 * Math.PI * random(), random() < 0.5 ? -0.4 : 0.4, 300 / code.length];
        const picture = pictureOf({ codes: [{ modules: code, x: 320, y: 240, module, angle, tilt: [side, 0.2] }], blur: 0.5 });
        const expected = modulesOf(code).join("");
        const sampled = findCorners(findPatterns(darknessOf(picture, picture.means))).map((corners) => (
          sampleModules(picture, version, findPlace(picture, corners, version).place).join("")
        ));
        assert.ok(sampled.includes(expected), `version ${version}, time ${time}`);
      }
    }
  },

  "sharp codes of all versions are read in pictures: turned, light on dark, and in a mirror": () => {
    for (const version of VERSIONS) {
      for (const change of [(row) => row, (row) => row.map((dark) => !dark), (row) => [...row].reverse()]) {
        const text = `TICKET ${version}`;
        const modules = encode(text, { version, ecc: "medium" }).map(change);
        const module = 400 / modules.length;
        const picture = draw({ codes: [{ modules, x: 320, y: 240, module, angle: 2 * Math.PI * random() }] }, random);
        assert.equal(decode(rgba(picture)), text);
      }
    }
  },
};

for (const [name, test] of Object.entries(TESTS)) {
  try {
    test();
  } catch (error) {
    console.error(`Not true: ${name}`);
    throw error;
  }
}
console.log(`The decoder of QR codes: ${Object.keys(TESTS).length} tests of its parts`);
