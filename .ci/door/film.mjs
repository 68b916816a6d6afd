// Makes a film of QR codes for the camera of the browser: each is shown for 1.5 seconds, and then nothing for half a second.
import { spawn } from "node:child_process";
import encodeQR from "./qr_index.mjs";

const [WIDTH, HEIGHT, RATE] = [640, 480, 10];

export async function film(path, texts) {
  const options = ["-y", "-loglevel", "error", "-f", "image2pipe", "-framerate", String(RATE), "-c:v", "ppm", "-i", "-"];
  const ffmpeg = spawn("ffmpeg", [...options, "-pix_fmt", "yuvj420p", "-q:v", "2", "-f", "mjpeg", path], { stdio: ["pipe", "inherit", "inherit"] });
  for (const text of texts) {
    for (const [picture, frames] of [[frame(text), 1.5 * RATE], [frame(null), 0.5 * RATE]]) {
      for (let count = 0; count < frames; count += 1) ffmpeg.stdin.write(picture);
    }
  }
  ffmpeg.stdin.end();
  const code = await new Promise((resolve) => { ffmpeg.on("close", resolve); });
  if (code !== 0) throw new Error(`ffmpeg ends with ${code}`);
}

/** A picture with noise, and a code that is turned a little. */
function frame(text) {
  const modules = text === null ? [] : encodeQR(text, "raw", { border: 4, ecc: "high" });
  const pixels = Buffer.alloc(WIDTH * HEIGHT * 3);
  const [angle, module] = [0.2, 300 / Math.max(modules.length, 1)];
  for (let y = 0; y < HEIGHT; y += 1) {
    for (let x = 0; x < WIDTH; x += 1) {
      const [dx, dy] = [x - WIDTH / 2, y - HEIGHT / 2];
      const column = Math.floor((dx * Math.cos(angle) + dy * Math.sin(angle)) / module + modules.length / 2);
      const row = Math.floor((dy * Math.cos(angle) - dx * Math.sin(angle)) / module + modules.length / 2);
      const dark = modules[row]?.[column];
      const gray = (dark === undefined ? 120 : dark ? 40 : 200) + ((x * 7 + y * 13) % 17);
      pixels.fill(gray, (y * WIDTH + x) * 3, (y * WIDTH + x) * 3 + 3);
    }
  }
  return Buffer.concat([Buffer.from(`P6\n${WIDTH} ${HEIGHT}\n255\n`), pixels]);
}
