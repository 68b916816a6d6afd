// Makes a film for the camera of Chromium, which plays it with 30 pictures a second, again and again.
import { spawn } from "node:child_process";
import { draw, HEIGHT, randomNumbers, WIDTH } from "./frames.mjs";

/** How many pictures are made for a second of the film. */
const RATE = 2;

/** `shots` are pairs of a picture as `draw` takes it, and its seconds: a multiple of 0.5. */
export async function film(path, shots) {
  const from = ["-f", "image2pipe", "-framerate", String(RATE), "-c:v", "pgm", "-i", "-"];
  const to = ["-r", "30", "-pix_fmt", "yuvj420p", "-q:v", "2", "-f", "mjpeg", path];
  const ffmpeg = spawn("ffmpeg", ["-y", "-loglevel", "error", ...from, ...to], { stdio: ["pipe", "inherit", "inherit"] });
  const random = randomNumbers(1);
  for (const [look, seconds] of shots) {
    const picture = Buffer.concat([Buffer.from(`P5\n${WIDTH} ${HEIGHT}\n255\n`), draw(look, random)]);
    for (let count = 0; count < seconds * RATE; count += 1) ffmpeg.stdin.write(picture);
  }
  ffmpeg.stdin.end();
  const code = await new Promise((resolve) => { ffmpeg.on("close", resolve); });
  if (code !== 0) throw new Error(`ffmpeg ends with ${code}`);
}
