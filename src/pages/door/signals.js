// Tones, vibration, and a screen that stays on.

let audio = null;
let lock = null;

/** To be called in a click: browsers play nothing before. */
export function allowSound() {
  audio ??= new AudioContext();
  audio.resume().catch(() => {});
}

// Each tone is [hertz, seconds]; vibrations are in milliseconds.
const SIGNALS = {
  good: { tones: [[880, 0.12], [1320, 0.16]], vibration: [80] },
  bad: { tones: [[220, 0.25], [160, 0.35]], vibration: [250, 100, 250] },
  unsure: { tones: [[520, 0.15], [520, 0.15]], vibration: [120, 80, 120] },
};

export function signal(kind) {
  const { tones, vibration } = SIGNALS[kind];
  navigator.vibrate?.(vibration);
  if (audio?.state !== "running") return;
  let at = audio.currentTime;
  for (const [frequency, seconds] of tones) {
    const tone = new OscillatorNode(audio, { frequency, type: kind === "bad" ? "square" : "sine" });
    const volume = new GainNode(audio, { gain: 0.3 });
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + seconds);
    at += seconds + 0.03;
  }
}

/** Keeps the screen on, as long as the page is visible. */
export async function keepAwake() {
  if (document.visibilityState !== "visible" || (lock !== null && !lock.released)) return;
  try {
    lock = await navigator.wakeLock.request("screen");
  } catch {
    // The browser has none, or the battery is low.
  }
}
