// How much the decoder of the page reads, and how long it takes on a slow phone.
import { HEIGHT, WIDTH } from "./frames.mjs";
import { expect, Phone, problems } from "./phone.mjs";
import { ratings, SETS } from "./pictures.mjs";

/** How long most pictures may take, in milliseconds. Ten times more than wanted, because the machine has other work. */
const SLOW = 600;

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
    const text = window.decodeQR({ width, height, data });
    return { text, took: performance.now() - began };
  }), [WIDTH, HEIGHT]);
  await phone.close();
  return read;
}

/** Resolves to a text with figures. */
export async function decoder() {
  const texts = [];
  for (const [name, { create, bar }] of Object.entries(SETS)) {
    const pictures = create();
    const { read, wrong, shares, median, most } = ratings(pictures, await decode(pictures.map(({ pixels }) => pixels)));
    if (read < bar) problems.push(`the decoder reads ${read} of the pictures of ${name}, fewer than ${bar}`);
    expect(wrong, [], `codes of ${name} that are read as others, or read although they are damaged`);
    if (most > SLOW) problems.push(`the decoder takes ${most} ms for a picture of ${name}`);
    texts.push(`${read} pictures of ${name} (${shares}), in ${Math.round(median)} ms (median) and ${Math.round(most)} ms (95 %)`);
  }
  return `The decoder reads, on a slow processor, ${texts.join("; ")}`;
}
