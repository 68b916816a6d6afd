// How much the decoder of the page reads, and how long it takes on a slow phone.
import { draw, encode, HEIGHT, randomNumbers, WIDTH } from "./frames.mjs";
import { expect, Phone, problems } from "./phone.mjs";

const FRAMES = 200;
/** How many must be read. */
const BAR = 190;
const DAMAGED = 20;
/** How long most pictures may take, in milliseconds. Ten times more than wanted, because the machine has other work. */
const SLOW = 600;
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const random = randomNumbers(2026);
const between = (low, high) => low + random() * (high - low);
const code = () => Array.from({ length: 20 }, () => LETTERS[Math.floor(random() * 32)]).join("");

/** A code that is turned and tilted somehow, in about the middle of the picture. */
function somehow(modules) {
  const [lean, direction] = [between(0, 0.45), between(0, 2 * Math.PI)];
  const place = { x: Math.round(between(280, 360)), y: Math.round(between(210, 270)) };
  const tilt = [lean * Math.cos(direction), lean * Math.sin(direction)];
  return { modules, ...place, module: between(4, 9), angle: between(0, 2 * Math.PI), tilt };
}

const KINDS = {
  sharp: () => ({}),
  blurred: () => ({ blur: between(1, 1.6) }),
  glare: ({ x, y, module }) => {
    const [dx, dy] = [between(-16, 16), between(-16, 16)];
    return { glare: { x: x + dx * module, y: y + dy * module, radius: between(1, 2) * module } };
  },
  dark: () => ({ light: between(0.12, 0.3), noise: between(6, 10) }),
  "blurred and dark": () => ({ blur: between(0.5, 1.5), light: between(0.2, 0.4), noise: between(5, 8) }),
};

function frame(modules, kind) {
  const look = somehow(modules);
  return draw({ codes: [look], blur: 0.5, ...KINDS[kind](look) }, random);
}

/** The modules with noise in place of the data, which leaves the three corners as they are. */
function damage(modules) {
  const size = modules.length;
  const isCorner = (row, column) => row < 13 && (column < 13 || column >= size - 13) || row >= size - 13 && column < 13;
  const isData = (row, column) => Math.min(row, column) >= 4 && Math.max(row, column) < size - 4 && !isCorner(row, column);
  return modules.map((line, row) => line.map((dark, column) => (isData(row, column) ? random() < 0.5 : dark)));
}

/** Decodes pictures in the page, as its worker does, on a processor that is four times slower. */
async function decode(frames) {
  const phone = await Phone.create("decoder");
  phone.network.files.set("/door/frames", Buffer.concat(frames));
  await phone.start();
  await phone.page.goto(`${phone.base}/door/`);
  await phone.page.evaluate(async (size) => {
    const script = document.querySelector("script").src.replace("app.js", "qr/decode.js");
    window.decodeQR = (await import(script)).default;
    const bytes = new Uint8Array(await (await fetch("frames")).arrayBuffer());
    window.frames = Array.from({ length: bytes.length / size }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
  }, WIDTH * HEIGHT);
  await phone.page.emulateCPUThrottling(4);
  const read = await phone.page.evaluate(([width, height]) => window.frames.map((pixels) => {
    const data = new Uint8ClampedArray(pixels.length * 4);
    const colors = new Uint32Array(data.buffer);
    pixels.forEach((gray, index) => { colors[index] = 0xff000000 + gray * 0x010101; });
    const began = performance.now();
    let text = null;
    try {
      text = window.decodeQR({ width, height, data });
    } catch {
      // There is no code in the picture, or it cannot be read.
    }
    return { text, took: performance.now() - began };
  }), [WIDTH, HEIGHT]);
  await phone.close();
  return read;
}

/** Resolves to a text with figures. */
export async function decoder() {
  const kinds = Object.keys(KINDS);
  const shown = [];
  const frames = [];
  for (let index = 0; index < FRAMES + DAMAGED; index += 1) {
    const text = code();
    const kind = kinds[index % kinds.length];
    shown.push({ text, kind });
    const isDamaged = index >= FRAMES;
    frames.push(frame(isDamaged ? damage(encode(text)) : encode(text), isDamaged ? "sharp" : kind));
  }
  const found = await decode(frames);
  const results = shown.map((each, index) => ({ ...each, ...found[index], isRead: found[index].text === each.text }));
  const good = results.slice(0, FRAMES);
  const read = good.filter(({ isRead }) => isRead).length;
  if (read < BAR) problems.push(`the decoder reads ${read} of ${FRAMES} pictures`);
  expect(results.filter(({ text, isRead }) => text !== null && !isRead), [], "codes that are read as others");
  expect(results.slice(FRAMES).filter(({ text }) => text !== null), [], "damaged codes that are read");
  const times = good.map(({ took }) => took).sort((one, other) => one - other);
  const [median, most] = [0.5, 0.95].map((part) => Math.round(times[Math.floor(part * FRAMES)]));
  if (most > SLOW) problems.push(`the decoder takes ${most} ms for a picture`);
  const ofKind = (kind) => good.filter((each) => each.kind === kind);
  const shares = kinds.map((kind) => `${kind} ${ofKind(kind).filter(({ isRead }) => isRead).length} of ${ofKind(kind).length}`);
  return `The decoder reads ${read} of ${FRAMES} pictures (${shares.join(", ")}), in ${median} ms (median) and ${most} ms (95 %) on a slow processor`;
}
