// A worker that answers each picture with the text of the QR code in it, or null.

import decodeQR from "./decode.js";

onmessage = ({ data: picture }) => {
  let text = null;
  try {
    text = decodeQR(picture);
  } catch {
    // There is no code in the picture, or it cannot be read.
  }
  postMessage(text);
};
