// Finds the exact place of a code from its corners, and samples its modules.
//
// The place of a code is a list of the coordinates of four points in the picture: [x0, y0, x1, y1, x2, y2, x3, y3]. The
// first three are the centers of the finder patterns, the last one that of the fourth corner of their square.

import { scaleOf } from "./find.js";
import { DARK, LARGEST_VERSION, layoutOf, LIGHT, once, sizeOf } from "./layout.js";

/** How far the fourth corner is searched for, and by which step, in modules: everywhere, and then around what was found. */
const SEARCHES = [[3, 1], [0.5, 0.5]];
/** By how much the estimate of the version is too small on average, measured with drawn pictures. */
const SHRINKAGE = 0.12;
/** How far the estimate of the version may be from an integer, so that only this version is tried. */
const DOUBT = 0.25;

/** Where modules are sampled: to the right of their centers and below them, in modules. */
const INSIDE = [[0, 0], [-0.2, -0.2], [0.2, -0.2], [-0.2, 0.2], [0.2, 0.2]];
/** The color of a point that must be that of the point before it, dark or light. Other colors are 1 (dark) and -1 (light). */
const SAME = 2;
const CORNERS = [[0.3, 0.3], [-0.3, 0.3], [0.3, -0.3], [-0.3, -0.3]];

/** The points of a version to sample: of the timing and alignment patterns, of all patterns, and of all modules. */
const pointsOf = once((version) => {
  const size = sizeOf(version);
  const isFinder = (row, column) => row < 8 && (column < 8 || column >= size - 8) || row >= size - 8 && column < 8;
  const [few, all, modules] = [[], [], []];
  layoutOf(version).forEach((kind, index) => {
    const [row, column] = [Math.floor(index / size), index % size];
    for (const [right, down] of INSIDE) modules.push([column + right, row + down, 0]);
    // One corner of each module: corners show small errors better than centers.
    const [right, down] = CORNERS[(row + 2 * column) % 4];
    if (kind === DARK || kind === LIGHT) {
      const color = kind === DARK ? 1 : -1;
      if (!isFinder(row, column)) few.push([column, row, color]);
      all.push([column + right, row + down, color]);
    } else if (version === 1) {
      // There are no alignment patterns: the match depends on opposite corners of modules, which have the same color.
      for (const points of [few, all]) points.push([column + right, row + down, 0], [column - right, row - down, SAME]);
    }
  });
  return { few: betweenFinders(few, size), all: betweenFinders(all, size), modules: betweenFinders(modules, size) };
});

/** Points as {u, v, colors, values}: their places between the finders, from 0 to 1, and what colors they have. */
function betweenFinders(points, size) {
  return {
    u: Float64Array.from(points, ([column]) => (column - 3) / (size - 7)),
    v: Float64Array.from(points, ([, row]) => (row - 3) / (size - 7)),
    colors: Int8Array.from(points, ([, , color]) => color),
    values: new Float64Array(points.length),
  };
}

/** The weights of the second and the third point, if that of the first is 1. */
function weightsOf([x0, y0, x1, y1, x2, y2, x3, y3]) {
  const all = (x1 - x3) * (y2 - y3) - (x2 - x3) * (y1 - y3);
  const one = (x0 - x3) * (y2 - y3) - (x2 - x3) * (y0 - y3);
  const other = (x1 - x3) * (y0 - y3) - (x0 - x3) * (y1 - y3);
  return [one / all, other / all];
}

/** How much darker a point is than the mean around it, or how much lighter if the sign is -1. */
function darknessAt({ width, height, values, means, halvings, sign }, x, y) {
  const left = Math.floor(x - 0.5);
  const top = Math.floor(y - 0.5);
  if (!(left >= 0 && top >= 0 && left < width - 1 && top < height - 1)) return 0;
  const at = top * width + left;
  const upper = values[at] + (values[at + 1] - values[at]) * (x - 0.5 - left);
  const lower = values[at + width] + (values[at + width + 1] - values[at + width]) * (x - 0.5 - left);
  const shift = means.halvings - halvings;
  const row = Math.min(means.height - 1, top >> shift);
  const mean = means.values[row * means.width + Math.min(means.width - 1, left >> shift)];
  return sign * (mean - upper - (lower - upper) * (y - 0.5 - top));
}

/** How dark a picture is at these points, if the code is at this place. Null if a camera cannot see a code like this. */
function sample(picture, place, { u, v, values }) {
  const [one, other] = weightsOf(place);
  if (!(one > 0.2 && other > 0.2 && one < 5 && other < 5 && one + other > 1.2)) return null;
  const [x0, y0, x1, y1, x2, y2] = place.map((coordinate) => coordinate / 2 ** picture.halvings);
  const [ux, uy, uw] = [one * x1 - x0, one * y1 - y0, one - 1];
  const [vx, vy, vw] = [other * x2 - x0, other * y2 - y0, other - 1];
  for (let index = 0; index < values.length; index += 1) {
    const right = u[index];
    const down = v[index];
    const weight = 1 + right * uw + down * vw;
    values[index] = darknessAt(picture, (x0 + right * ux + down * vx) / weight, (y0 + right * uy + down * vy) / weight);
  }
  return values;
}

/** How well a picture shows the colors of these points, if the code is at this place: at most 1. */
function matchOf(picture, place, points, contrast) {
  const values = sample(picture, place, points);
  if (values === null) return -1;
  let [sum, before] = [0, 0];
  for (let index = 0; index < values.length; index += 1) {
    const value = Math.max(-contrast, Math.min(contrast, values[index]));
    sum += points.colors[index] === SAME ? Math.abs(value + before) : points.colors[index] * value;
    before = value;
  }
  return sum / values.length / contrast;
}

/** The place of the code with these corners, by the areas of the modules there. */
function placeOf([origin, right, below]) {
  const { weights: [one, other] } = scaleOf([origin, right, below]);
  const all = Math.max(0.2, one + other - 1);
  const fourth = ["x", "y"].map((axis) => (one * right[axis] + other * below[axis] - origin[axis]) / all);
  return [origin.x, origin.y, right.x, right.y, below.x, below.y, ...fourth];
}

/** The versions that a code with these corners may have, the most probable one first. */
export function versionsOf(corners) {
  const estimate = (scaleOf(corners).modules + 7 - 17) / 4 + SHRINKAGE;
  const nearest = Math.round(estimate);
  const other = nearest + Math.sign(estimate - nearest);
  const versions = Math.abs(estimate - nearest) > DOUBT ? [nearest, other] : [nearest];
  return versions.filter((version) => version >= 1 && version <= LARGEST_VERSION);
}

/** The place of a code of a version with these corners, as {place, match, contrast}. */
export function findPlace(picture, corners, version) {
  const scale = 2 ** picture.halvings;
  // How dark the centers of the corners are.
  const [one, two, three] = corners.map(({ x, y }) => Math.abs(darknessAt(picture, x / scale, y / scale)));
  const contrast = Math.max(2, (one + two + three) / 3);
  return refine(picture, version, { ...searchFourth(picture, version, placeOf(corners), contrast), contrast });
}

/** The place with another fourth corner that matches best. */
function searchFourth(picture, version, place, contrast) {
  const { few } = pointsOf(version);
  const modules = sizeOf(version) - 7;
  const [, , x1, y1, x2, y2, x3, y3] = place;
  const [rightX, rightY, downX, downY] = [x3 - x2, y3 - y2, x3 - x1, y3 - y1].map((length) => length / modules);
  let best = { place, match: matchOf(picture, place, few, contrast) };
  for (const [reach, step] of SEARCHES) {
    const { place: from } = best;
    for (let down = -reach; down <= reach; down += step) {
      for (let right = -reach; right <= reach; right += step) {
        const tried = from.slice();
        tried[6] += right * rightX + down * downX;
        tried[7] += right * rightY + down * downY;
        const match = matchOf(picture, tried, few, contrast);
        if (match > best.match) best = { place: tried, match };
      }
    }
  }
  return best;
}

/** The place nearby that matches best: each coordinate is moved by smaller and smaller steps. */
export function refine(picture, version, { place, contrast }) {
  const { all } = pointsOf(version);
  const module = Math.hypot(place[2] - place[0], place[3] - place[1]) / (sizeOf(version) - 7);
  let best = { place, match: matchOf(picture, place, all, contrast), contrast };
  for (const step of [0.4, 0.2, 0.1]) {
    for (let index = 0; index < 16; index += 1) {
      const tried = best.place.slice();
      tried[index >> 1] += (index % 2 === 0 ? step : -step) * module;
      const match = matchOf(picture, tried, all, contrast);
      if (match > best.match) best = { place: tried, match, contrast };
    }
  }
  return best;
}

/** Whether each module is dark, row by row, as 1 or 0. */
export function sampleModules(picture, version, place) {
  const values = sample(picture, place, pointsOf(version).modules);
  return Uint8Array.from({ length: values.length / INSIDE.length }, (_, module) => {
    let sum = 0;
    for (let index = 0; index < INSIDE.length; index += 1) sum += values[module * INSIDE.length + index];
    return Number(sum > 0);
  });
}
