// Decodes QR codes of the versions 1 to 10 in pictures (ISO/IEC 18004).

import { brightnessOf, darknessOf, halfBrightnessOf, halved, meansOf } from "./brightness.js";
import { findCorners, findPatterns } from "./find.js";
import { readModules } from "./read.js";
import { findPlace, refine, sampleModules, versionsOf } from "./sample.js";

const SMALLEST_SIDE = 32;

/**
 * The ways to search a picture: in which size patterns are found, and in which sizes modules are sampled. Pixels are compared
 * with the means of squares, whose side is `2 * reach + 1` in the picture of a quarter of the size.
 */
const SEARCHES = [
  { searched: "half", sampled: ["half", "whole"], reach: 8 },
  { searched: "quarter", sampled: ["half"], reach: 16 },
  { searched: "half", sampled: ["half", "whole"], reach: 4 },
  { searched: "whole", sampled: ["whole"], reach: 8 },
];

/** The limit of attempts to read a code in a picture. */
export const MOST_TRIES = 16;
/** If the patterns of a code match better, and the code cannot be read, the picture is not searched in other ways. */
const GOOD_MATCH = 0.5;
/** If the patterns of a code match worse, it is not read. */
const POOR_MATCH = 0.15;

/** The text of a code in an RGBA picture {width, height, data}, or null. Counts the attempts in `work`, with the best match. */
export default function decode(picture, work = { tries: 0, match: 0 }) {
  const { width, height, data } = picture;
  if (!(Math.min(width, height) >= SMALLEST_SIDE && data.length === 4 * width * height)) return null;
  const half = halfBrightnessOf(picture);
  let whole = null;
  const sizes = {
    half,
    quarter: halved(half),
    // Most codes are read without the whole picture.
    get whole() { return (whole ??= brightnessOf(picture)); },
  };
  for (const way of SEARCHES) {
    const text = search(sizes, way, work);
    if (text !== null) return text;
    if (work.match > GOOD_MATCH) return null;
  }
  return null;
}

function search(sizes, { searched, sampled, reach }, work) {
  const means = meansOf(sizes.quarter, reach);
  for (const corners of findCorners(findPatterns(darknessOf(sizes[searched], means)))) {
    for (const version of versionsOf(corners)) {
      if (work.tries === MOST_TRIES) return null;
      work.tries += 1;
      const text = read(sizes, sampled, means, corners, version, work);
      if (text !== null) return text;
    }
  }
  return null;
}

/** The text of the code of a version with these corners, or null. */
function read(sizes, sampled, means, corners, version, work) {
  let found = null;
  for (const name of sampled) {
    const picture = { ...sizes[name], means, sign: corners[0].isLight ? -1 : 1 };
    found = found === null ? findPlace(picture, corners, version) : refine(picture, version, found);
    if (found.match < POOR_MATCH) return null;
    work.match = Math.max(work.match, found.match);
    const modules = sampleModules(picture, version, found.place);
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
