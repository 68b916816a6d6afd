// A worker that answers each picture with the text of the QR code in it, or null.

import decode from "./decode.js";

onmessage = ({ data: picture }) => postMessage(decode(picture));
