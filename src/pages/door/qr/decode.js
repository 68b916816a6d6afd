// Decodes QR codes of the versions 1 to 10 in pictures (ISO/IEC 18004).

import { brightnessOf, darknessOf, findCorners, findPatterns, halfBrightnessOf, halved, meansOf } from "./find.js";
import { readModules } from "./read.js";
import { findPlace, refine, sampleModules, versionsOf } from "./sample.js";

const SMALLEST_SIDE = 32;

/** The pictures in which codes are searched and sampled. Each is only created if it is needed. */
const SIZES = {
  whole: (picture) => brightnessOf(picture),
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
  { searched: "whole", sampled: ["whole"], reach: 8 },
];

/** How often it is tried at most to read a code in a picture. */
export const MOST_TRIES = 24;
/** If the patterns of a code match that well and it cannot be read, it does not help to look in other ways. */
const GOOD_MATCH = 0.5;
/** What matches worse is no code. */
const POOR_MATCH = 0.15;

/** The text of a code in an RGBA picture {width, height, data}, or null. Notes in `work` what was tried. */
export default function decode(picture, work = { tries: 0, match: 0 }) {
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
    if (work.match > GOOD_MATCH) return null;
  }
  return null;
}

function search(size, { searched, sampled, reach }, work) {
  const means = meansOf(size("quarter"), reach);
  const patterns = findPatterns(darknessOf(size(searched), means));
  for (const corners of findCorners(patterns)) {
    const text = read(size, means, corners.map((corner) => enlarged(corner, size(searched), size(sampled[0]))), sampled, work);
    if (text !== null) return text;
  }
  return null;
}

function enlarged(pattern, from, to) {
  const factor = 2 ** (from.halvings - to.halvings);
  return { ...pattern, x: pattern.x * factor, y: pattern.y * factor, area: pattern.area * factor ** 2 };
}

/** The text of the code with these corners, or null. */
function read(size, means, corners, sampled, work) {
  const look = (name) => ({ ...size(name), means, sign: corners[0].isLight ? -1 : 1 });
  for (const version of versionsOf(corners)) {
    if (work.tries === MOST_TRIES) return null;
    work.tries += 1;
    let found = findPlace(look(sampled[0]), corners, version);
    for (const name of sampled) {
      if (name !== sampled[0]) {
        const factor = 2 ** (size(sampled[0]).halvings - size(name).halvings);
        found = refine(look(name), version, { ...found, place: found.place.map((coordinate) => coordinate * factor) });
      }
      work.match = Math.max(work.match, found.match);
      if (found.match < POOR_MATCH) break;
      const modules = sampleModules(look(name), version, found.place);
      const text = readModules(version, modules) ?? readModules(version, mirrored(modules));
      if (text !== null) return text;
    }
  }
  return null;
}

/** The modules with rows in place of columns, as they are if the code is seen in a mirror. */
function mirrored(modules) {
  const size = Math.sqrt(modules.length);
  return modules.map((_, index) => modules[(index % size) * size + Math.floor(index / size)]);
}
