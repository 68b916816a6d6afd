// Finds the three finder patterns of QR codes in a picture.

/** The limit of `errorOf` for three corners. */
const MOST_ERROR = 1;
const MOST_CORNERS = 6;
/** The directions in which the edges of a pattern are measured: pairs of opposite ones. */
const RAYS = Array.from({ length: 16 }, (_, index) => {
  const angle = (Math.PI * (index * 5 % 16)) / 16;
  return [Math.cos(angle), Math.sin(angle)];
});
/** In how many pairs of directions the edges may be missing, for example because of a reflection. */
const MISSING = 6;
/** By how much pixels differ because of noise: half of it in a picture of half the size. */
const NOISE = 8;
const SMALLEST_MODULE = 1.3;
const MOST_PATTERNS = 16;
/** The limit of places in a picture that are examined. */
const MOST_PLACES = 2000;

/**
 * The finder patterns as {x, y, area, isLight}: the center and the area of a module in pixels of the whole picture, and whether
 * the pattern is light on dark.
 */
export function findPatterns(darkness) {
  const { width, height, values, halvings } = darkness;
  const patterns = [];
  const starts = new Int32Array(width + 2);
  let places = 0;
  for (let y = 1; y < height; y += 2) {
    const isFirstDark = values[y * width] > 0;
    const row = values.subarray(y * width, (y + 1) * width);
    const count = findRuns(row, NOISE >> halvings, isFirstDark ? 1 : -1, starts);
    for (let index = 0; index + 5 <= count && places < MOST_PLACES; index += 1) {
      if (!isRow(starts, index)) continue;
      places += 1;
      const x = (starts[index + 2] + starts[index + 3]) / 2;
      const isLight = isFirstDark === (index % 2 === 1);
      addPattern(darkness, patterns, { x, y: y + 0.5, isLight }, (starts[index + 5] - starts[index]) / 7);
    }
  }
  const best = patterns.sort((one, other) => other.rows - one.rows).slice(0, MOST_PATTERNS);
  const scale = 2 ** halvings;
  return best.map(({ x, y, area, isLight }) => ({ x: x * scale, y: y * scale, area: area * scale ** 2, isLight }));
}

/** Stores where a row changes between dark and light pixels, and returns the number of runs. Small changes are noise. */
function findRuns(row, noise, first, starts) {
  let [count, sign] = [1, first];
  for (let x = 1; x < row.length; x += 1) {
    if (row[x] * sign >= -noise) continue;
    starts[count++] = x;
    sign = -sign;
  }
  starts[count] = row.length;
  return count;
}

/** Whether five runs of pixels have the lengths 1:1:3:1:1. */
function isRow(starts, index) {
  const module = (starts[index + 5] - starts[index]) / 7;
  if (module < SMALLEST_MODULE) return false;
  for (let run = 0; run < 5; run += 1) {
    const error = Math.abs(starts[index + run + 1] - starts[index + run] - (run === 2 ? 3 : 1) * module);
    if (error > (run === 2 ? 1.5 : 0.8) * module) return false;
  }
  return true;
}

function addPattern(darkness, patterns, place, module) {
  const pattern = patternAt(patterns, place) ?? measure(darkness, place, module);
  if (pattern === null) return;
  const known = patternAt(patterns, pattern);
  if (known === undefined) patterns.push(pattern);
  else known.rows += 1;
}

/** The pattern in which a place is, if it is known. */
function patternAt(patterns, { x, y, isLight }) {
  const isNear = (known) => Math.hypot(known.x - x, known.y - y) < 2.5 * Math.sqrt(known.area);
  return patterns.find((known) => known.isLight === isLight && isNear(known));
}

/** The pattern around a place, or null if its edges are not those of a finder pattern. */
function measure(darkness, { x, y, isLight }, module) {
  const sign = isLight ? -1 : 1;
  const longest = 8 * module;
  for (const [right, down] of [[0, 1], [1, 0], [0, 1], [1, 0]]) {
    const move = offset(darkness, x, y, right, down, sign, longest);
    if (!(Math.abs(move) < 2 * module)) return null;
    x += move * right;
    y += move * down;
  }
  let [missing, sumX, sumY, area] = [0, 0, 0, 0];
  for (const [right, down] of RAYS) {
    const ahead = outerEdge(darkness, x, y, right, down, sign, longest);
    const back = outerEdge(darkness, x, y, -right, -down, sign, longest);
    if (ahead === Infinity || back === Infinity) {
      missing += 1;
      if (missing > MISSING) return null;
      continue;
    }
    sumX += (ahead - back) * right;
    sumY += (ahead - back) * down;
    area += (ahead + back) ** 2 / 4;
  }
  const count = RAYS.length - missing;
  return { x: x + sumX / count, y: y + sumY / count, area: (Math.PI * area) / count / 49, isLight, rows: 1 };
}

/** How far the middle of the inner square is from a point in it, in a direction. */
function offset(darkness, x, y, right, down, sign, longest) {
  const ahead = nextEdge(darkness, x, y, right, down, 0, sign, longest);
  if (ahead === Infinity) return Infinity;
  return (ahead - nextEdge(darkness, x, y, -right, -down, 0, sign, longest)) / 2;
}

/** The distance of the outer edge from the center of a pattern: Infinity if its edges are not at 1.5, 2.5 and 3.5 modules. */
function outerEdge(darkness, x, y, right, down, sign, longest) {
  const inner = nextEdge(darkness, x, y, right, down, 0, sign, longest);
  const middle = nextEdge(darkness, x, y, right, down, inner, -sign, longest);
  const outer = nextEdge(darkness, x, y, right, down, middle, sign, longest);
  const module = outer / 3.5;
  const isAt = (edge, modules) => Math.abs(edge - modules * module) < 0.75 * module;
  return isAt(inner, 1.5) && isAt(middle, 2.5) ? outer : Infinity;
}

/** The distance at which what is dark (sign 1) or light (sign -1) ends in a direction, or Infinity if that is too far away. */
function nextEdge({ width, height, values }, x, y, right, down, from, sign, longest) {
  let before = 0;
  for (let step = Math.ceil(from); step <= longest; step += 1) {
    const column = Math.floor(x + step * right);
    const row = Math.floor(y + step * down);
    if (column < 0 || row < 0 || column >= width || row >= height) return Infinity;
    const value = values[row * width + column] * sign;
    if (value <= 0) return before === 0 ? step : step - 1 + before / (before - value);
    before = value;
  }
  return Infinity;
}

/**
 * The corners of codes, the most probable ones first, as [origin, right, below]: the patterns at the start of the rows and
 * columns, at the end of the first row, and at the end of the first column.
 */
export function findCorners(patterns) {
  const found = [];
  for (const origin of patterns) {
    for (const right of patterns) {
      for (const below of patterns) {
        const corners = [origin, right, below];
        const error = errorOf(corners);
        if (error < MOST_ERROR) found.push({ corners, error });
      }
    }
  }
  return found.sort((one, other) => one.error - other.error).slice(0, MOST_CORNERS).map(({ corners }) => corners);
}

/** How much corners differ from those of a square: 0 for a square, about 1 if one angle is half a right angle. */
function errorOf([origin, right, below]) {
  if (origin.isLight !== right.isLight || origin.isLight !== below.isLight) return Infinity;
  const [x1, y1, x2, y2] = [right.x - origin.x, right.y - origin.y, below.x - origin.x, below.y - origin.y];
  // The code is not seen in a mirror.
  if (x1 * y2 - x2 * y1 <= 0) return Infinity;
  const { modules, weights: [one, other] } = scaleOf([origin, right, below]);
  if (modules < 11 || modules > 62) return Infinity;
  const lengths = [one * Math.hypot(x1, y1), other * Math.hypot(x2, y2)];
  const cosine = (one * other * (x1 * x2 + y1 * y2)) / (lengths[0] * lengths[1]);
  return Math.abs(cosine) + Math.abs(Math.log(lengths[0] / lengths[1]));
}

/**
 * The modules between the centers of two patterns, and how much farther away than the origin the other two patterns are.
 * An area in the picture shrinks with the cube of the distance.
 */
export function scaleOf([origin, right, below]) {
  const weights = [right, below].map(({ area }) => Math.cbrt(origin.area / area));
  const cross = (right.x - origin.x) * (below.y - origin.y) - (below.x - origin.x) * (right.y - origin.y);
  return { modules: Math.sqrt((weights[0] * weights[1] * Math.abs(cross)) / origin.area), weights };
}
