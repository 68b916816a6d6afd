// Decodes QR codes of the versions 1 to 10 in pictures (ISO/IEC 18004).

import { brightnessOf, darknessOf, findCorners, findPatterns, halfBrightnessOf, halved, meansOf, smoothed } from "./find.js";
import { readModules } from "./read.js";
import { findPlace, sampleModules, versionsOf } from "./sample.js";

const SMALLEST_SIDE = 32;

/** The pictures in which codes are searched and sampled. Each is only created if it is needed. */
const SIZES = {
  whole: (picture) => brightnessOf(picture),
  smooth: (_, size) => smoothed(size("whole")),
  half: (picture) => halfBrightnessOf(picture),
  quarter: (_, size) => halved(size("half")),
};

/**
 * The ways to look at a picture: where patterns are searched, and where modules are sampled. Pixels are compared with the means
 * of squares, whose side is `2 * reach + 1` in the picture of a quarter of the size.
 */
const LOOKS = [
  { searched: "half", sampled: ["half", "whole"], reach: 8 },
  { searched: "quarter", sampled: ["half"], reach: 16 },
  { searched: "half", sampled: ["half", "whole"], reach: 4 },
  { searched: "smooth", sampled: ["smooth"], reach: 8 },
];

/** How often it is tried at most to read a code in a picture. */
export const MOST_TRIES = 32;

/** The text of a code in an RGBA picture {width, height, data}, or null. Counts in `work` what was tried. */
export default function decode(picture, work = { tries: 0 }) {
  const { width, height, data } = picture;
  if (!(Math.min(width, height) >= SMALLEST_SIDE && data.length === 4 * width * height)) return null;
  const created = new Map();
  const size = (name) => {
    if (!created.has(name)) created.set(name, SIZES[name](picture, size));
    return created.get(name);
  };
  for (const look of LOOKS) {
    const text = search(size, look, work);
    if (text !== null) return text;
  }
  return null;
}

function search(size, { searched, sampled, reach }, work) {
  const means = meansOf(size("quarter"), reach);
  const patterns = findPatterns(darknessOf(size(searched), means));
  for (const corners of findCorners(patterns)) {
    for (const name of sampled) {
      const factor = 2 ** (size(searched).halvings - size(name).halvings);
      const text = read({ ...size(name), means }, corners.map((corner) => enlarged(corner, factor)), work);
      if (text !== null) return text;
    }
  }
  return null;
}

const enlarged = (pattern, factor) => ({
  ...pattern, x: pattern.x * factor, y: pattern.y * factor, area: pattern.area * factor ** 2,
});

/** The text of the code with these corners, or null. */
function read(brightness, corners, work) {
  const picture = { ...brightness, sign: corners[0].isLight ? -1 : 1 };
  for (const version of versionsOf(corners)) {
    if (work.tries === MOST_TRIES) return null;
    work.tries += 1;
    const modules = sampleModules(picture, version, findPlace(picture, corners, version));
    const text = readModules(version, modules) ?? readModules(version, mirrored(modules));
    if (text !== null) return text;
  }
  return null;
}

/** The modules with rows in place of columns, as they are if the code is seen in a mirror. */
function mirrored(modules) {
  const size = Math.sqrt(modules.length);
  return modules.map((_, index) => modules[(index % size) * size + Math.floor(index / size)]);
}
