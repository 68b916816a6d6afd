// The camera, and the codes that it sees.

/** The side of the picture that is searched by the decoder, in pixels. */
const LONGEST = 640;

export class Camera {
  #video;
  #found;
  #stream = null;
  #decode = null;
  #isRunning = false;

  /** `found` is called with the text of each code that is seen, many times a second. */
  constructor(video, found) {
    this.#video = video;
    this.#found = found;
  }

  /** Starts a camera: the one with this id, or else the one at the back. Rejects with what `getUserMedia` rejects with. */
  async start(deviceId) {
    this.stop();
    if (!navigator.mediaDevices?.getUserMedia) throw new DOMException("there is no camera", "NotFoundError");
    const wanted = deviceId ? { deviceId: { exact: deviceId } } : { facingMode: { ideal: "environment" } };
    const video = { ...wanted, width: { ideal: 1280 }, height: { ideal: 720 } };
    try {
      this.#stream = await navigator.mediaDevices.getUserMedia({ video, audio: false });
    } catch (error) {
      // The remembered camera may be gone.
      if (deviceId && error.name === "OverconstrainedError") return this.start(null);
      throw error;
    }
    this.#video.srcObject = this.#stream;
    await this.#video.play();
    this.#decode ??= await decoder();
    this.#isRunning = true;
    this.#next();
  }

  stop() {
    this.#isRunning = false;
    this.#stream?.getTracks().forEach((track) => track.stop());
    this.#stream = null;
    this.#video.srcObject = null;
  }

  get isOn() {
    return this.#stream !== null && this.#track.readyState === "live";
  }

  /** The cameras as {id, name}. Their names are known once one was started. */
  async list() {
    const devices = await navigator.mediaDevices.enumerateDevices();
    const cameras = devices.filter((device) => device.kind === "videoinput");
    return cameras.map(({ deviceId, label }, index) => ({ id: deviceId, name: label || String(index + 1) }));
  }

  get id() {
    return this.#track?.getSettings().deviceId ?? null;
  }

  get hasTorch() {
    return this.#track?.getCapabilities?.().torch === true;
  }

  async setTorch(isOn) {
    await this.#track.applyConstraints({ advanced: [{ torch: isOn }] });
  }

  get #track() {
    return this.#stream?.getVideoTracks()[0];
  }

  #next() {
    if (!this.#isRunning) return;
    const look = async () => {
      const stream = this.#stream;
      try {
        const text = await this.#decode(this.#video);
        if (text !== null && stream === this.#stream) this.#found(text);
      } catch {
        // A picture in which nothing can be read.
      }
      if (stream === this.#stream) this.#next();
    };
    if (this.#video.requestVideoFrameCallback) this.#video.requestVideoFrameCallback(look);
    else setTimeout(look, 60);
  }
}

/** A function that resolves to the text of a code in a video, or null: that of the browser, or else our own. */
async function decoder() {
  try {
    if ((await BarcodeDetector.getSupportedFormats()).includes("qr_code")) {
      const detector = new BarcodeDetector({ formats: ["qr_code"] });
      return async (video) => (await detector.detect(video))[0]?.rawValue ?? null;
    }
  } catch {
    // There is no such class in this browser.
  }
  return ownDecoder();
}

function ownDecoder() {
  const worker = new Worker(new URL("qr/decoder.js", import.meta.url), { type: "module" });
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { willReadFrequently: true });
  return (video) => new Promise((resolve, reject) => {
    const scale = Math.min(1, LONGEST / Math.max(video.videoWidth, video.videoHeight));
    const width = Math.round(video.videoWidth * scale);
    const height = Math.round(video.videoHeight * scale);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.drawImage(video, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height);
    worker.onmessage = ({ data: text }) => resolve(text);
    worker.onerror = () => reject(new Error("the decoder has failed"));
    worker.postMessage({ width, height, data }, [data.buffer]);
  });
}
