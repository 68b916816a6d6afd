// Draws what a camera sees of tickets: pictures in shades of gray, the same in each run.
import encodeQR from "qr";

export const [WIDTH, HEIGHT] = [640, 480];
/** The focal length of the camera, in pixels. */
const FOCAL = 600;
const [PAPER, INK, AROUND] = [205, 40, 120];
/** Where a pixel is looked at. */
const SAMPLES = [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]];

/** Random numbers from 0 to 1, from a seed (mulberry32). */
export function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A code with a border: like those of ticket documents, or with other options of the encoder. */
export const encode = (text, options = {}) => encodeQR(text, "raw", { border: 4, ecc: "high", ...options });

/**
 * Draws a picture, a byte a pixel. `codes` are {modules, x, y, module, angle, tilt}: the modules of the code, the pixels of
 * its center, the pixels of a module, and radians by which it is turned in the picture, and tilted up and to the side.
 * `blur` is the standard deviation in pixels, `glare` {x, y, radius} the white reflection of a lamp, `light` how much of the
 * light there is, and `noise` the greatest error of a pixel.
 */
export function draw({ codes, blur = 0, glare = null, light = 1, noise = 8 }, random) {
  let pixels = new Float32Array(WIDTH * HEIGHT).fill(AROUND);
  codes.forEach((code) => drawCode(pixels, code));
  if (glare !== null) {
    for (let y = 0; y < HEIGHT; y += 1) {
      for (let x = 0; x < WIDTH; x += 1) {
        const distance = ((x - glare.x) ** 2 + (y - glare.y) ** 2) / (2 * glare.radius ** 2);
        if (distance < 8) pixels[y * WIDTH + x] += 255 * Math.exp(-distance);
      }
    }
  }
  pixels = blurred(pixels, blur);
  const picture = new Uint8ClampedArray(WIDTH * HEIGHT);
  for (let index = 0; index < picture.length; index += 1) {
    picture[index] = Math.min(255, pixels[index]) * light + (random() * 2 - 1) * noise;
  }
  return new Uint8Array(picture.buffer);
}

function drawCode(pixels, { modules, x: centerX, y: centerY, module, angle = 0, tilt: [up, side] = [0, 0] }) {
  const [sinA, cosA, sinU, cosU, sinS, cosS] = [angle, up, side].flatMap((turn) => [Math.sin(turn), Math.cos(turn)]);
  // The directions of the columns and of the rows of the code, and the one in which it faces.
  const columns = [cosA * cosS, sinA * cosS, -sinS];
  const rows = [cosA * sinS * sinU - sinA * cosU, sinA * sinS * sinU + cosA * cosU, cosS * sinU];
  const facing = [cosA * sinS * cosU + sinA * sinU, sinA * sinS * cosU - cosA * sinU, cosS * cosU];
  const half = modules.length / 2;
  const reach = Math.ceil(modules.length * module);
  const dark = (x, y) => {
    const depth = (FOCAL * facing[2]) / (x * facing[0] + y * facing[1] + FOCAL * facing[2]);
    const [pointX, pointY, pointZ] = [x * depth, y * depth, FOCAL * (depth - 1)];
    const row = pointX * rows[0] + pointY * rows[1] + pointZ * rows[2];
    const column = pointX * columns[0] + pointY * columns[1] + pointZ * columns[2];
    return modules[Math.floor(row / module + half)]?.[Math.floor(column / module + half)];
  };
  for (let y = Math.max(0, centerY - reach); y < Math.min(HEIGHT, centerY + reach); y += 1) {
    for (let x = Math.max(0, centerX - reach); x < Math.min(WIDTH, centerX + reach); x += 1) {
      let sum = 0;
      for (const [dx, dy] of SAMPLES) {
        const found = dark(x + dx - centerX, y + dy - centerY);
        sum += found === undefined ? pixels[y * WIDTH + x] : found ? INK : PAPER;
      }
      pixels[y * WIDTH + x] = sum / 4;
    }
  }
}

/** Each pixel as the mean of those around it, weighted by a normal distribution. */
function blurred(pixels, deviation) {
  if (deviation === 0) return pixels;
  const reach = Math.ceil(deviation * 3);
  const weights = Array.from({ length: 2 * reach + 1 }, (_, index) => Math.exp(-((index - reach) ** 2) / (2 * deviation ** 2)));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const along = (source, step) => {
    const target = new Float32Array(source.length).fill(AROUND);
    for (let index = reach * step; index < source.length - reach * step; index += 1) {
      let sum = 0;
      for (let tap = -reach; tap <= reach; tap += 1) sum += weights[tap + reach] * source[index + tap * step];
      target[index] = sum / all;
    }
    return target;
  };
  return along(along(pixels, 1), WIDTH);
}
