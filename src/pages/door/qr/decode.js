// Decodes QR codes of the versions 1 to 10 in pictures (ISO/IEC 18004).

import { brightnessOf, darknessOf, findCorners, findPatterns, halved, meansOf, smoothed } from "./find.js";
import { readModules } from "./read.js";
import { findCodes, refine, sampleModules } from "./sample.js";

/** The ways to look at a picture. */
const LOOKS = [
  { halvings: 1, reach: 16, isSmooth: false },
  { halvings: 2, reach: 16, isSmooth: false },
  { halvings: 0, reach: 32, isSmooth: true },
  { halvings: 1, reach: 7, isSmooth: false },
];

/** The text of a code in an RGBA picture {width, height, data}, or null. */
export default function decode(picture) {
  const brightness = brightnessOf(picture);
  for (const look of LOOKS) {
    const text = readPicture(brightness, look);
    if (text !== null) return text;
  }
  return null;
}

function readPicture(brightness, { halvings, reach, isSmooth }) {
  const picture = isSmooth ? smoothed(brightness) : brightness;
  let small = picture;
  for (let count = 0; count < halvings; count += 1) small = halved(small);
  const means = meansOf(small, reach);
  const patterns = findPatterns(darknessOf(small, means, 0)).map((pattern) => enlarged(pattern, 2 ** halvings));
  const found = findCorners(patterns);
  if (found.length === 0) return null;
  const darkness = darknessOf(picture, means, halvings);
  for (const corners of found) {
    const text = readCode(darkness, corners);
    if (text !== null) return text;
  }
  return null;
}

const enlarged = (pattern, factor) => ({
  ...pattern, x: pattern.x * factor, y: pattern.y * factor, area: pattern.area * factor ** 2,
});

function readCode(darkness, corners) {
  const sign = corners[0].isLight ? -1 : 1;
  for (const code of findCodes(darkness, corners).slice(0, 2)) {
    const { place } = refine(darkness, code);
    const sampled = sampleModules(darkness, code.version, place);
    const text = readModules(code.version, sampled.values.map((value) => Number(value * sign > 0)));
    if (text !== null) return text;
  }
  return null;
}
