// The brightness of pictures, as {width, height, values, halvings}: a byte for each pixel, and how often the picture was halved.

/** The brightness of each pixel of an RGBA picture, from 0 to 255. */
export function brightnessOf({ width, height, data }) {
  const values = new Uint8Array(width * height);
  for (let index = 0, from = 0; index < values.length; index += 1, from += 4) {
    values[index] = (data[from] + 2 * data[from + 1] + data[from + 2]) >> 2;
  }
  return { width, height, values, halvings: 0 };
}

/** The brightness of an RGBA picture of half the width and height: each pixel is the mean of four. */
export function halfBrightnessOf({ width, height, data }) {
  const [across, down] = [width >> 1, height >> 1];
  const values = new Uint8Array(across * down);
  for (let y = 0, to = 0; y < down; y += 1) {
    let at = 8 * y * width;
    let below = at + 4 * width;
    for (let x = 0; x < across; x += 1, at += 8, below += 8, to += 1) {
      const red = data[at] + data[at + 4] + data[below] + data[below + 4];
      const green = data[at + 1] + data[at + 5] + data[below + 1] + data[below + 5];
      const blue = data[at + 2] + data[at + 6] + data[below + 2] + data[below + 6];
      values[to] = (red + 2 * green + blue) >> 4;
    }
  }
  return { width: across, height: down, values, halvings: 1 };
}

/** A picture of half the width and height: each pixel is the mean of four. */
export function halved({ width, height, values, halvings }) {
  const [across, down] = [width >> 1, height >> 1];
  const halves = new Uint8Array(across * down);
  for (let y = 0; y < down; y += 1) {
    for (let x = 0; x < across; x += 1) {
      const at = 2 * (y * width + x);
      halves[y * across + x] = (values[at] + values[at + 1] + values[at + width] + values[at + width + 1] + 2) >> 2;
    }
  }
  return { width: across, height: down, values: halves, halvings: halvings + 1 };
}

/** Each pixel as the mean of a square around it of `2 * reach + 1` pixels. */
export function meansOf(picture, reach) {
  const { width, height } = picture;
  const rows = meansAlong(picture.values, height, width, width, 1, reach);
  return { ...picture, values: meansAlong(rows, width, height, 1, width, reach) };
}

/** The means of what is next to each other in rows or columns, which are `start` apart, and their pixels `step`. */
function meansAlong(values, lines, length, start, step, reach) {
  const means = new Uint8Array(values.length);
  for (let line = 0; line < lines; line += 1) {
    let [sum, count] = [0, 0];
    for (let index = -reach; index < length; index += 1) {
      const at = line * start + index * step;
      if (index + reach < length) {
        sum += values[at + reach * step];
        count += 1;
      }
      if (index > reach) {
        sum -= values[at - (reach + 1) * step];
        count -= 1;
      }
      if (index >= 0) means[at] = sum / count + 0.5;
    }
  }
  return means;
}

/** How much darker each pixel is than the mean around it. The means are those of a smaller picture. */
export function darknessOf({ width, height, values, halvings }, means) {
  const shift = means.halvings - halvings;
  const darkness = new Int16Array(width * height);
  for (let y = 0, at = 0; y < height; y += 1) {
    const row = Math.min(means.height - 1, y >> shift) * means.width;
    for (let x = 0; x < width; x += 1, at += 1) {
      darkness[at] = means.values[row + Math.min(means.width - 1, x >> shift)] - values[at];
    }
  }
  return { width, height, values: darkness, halvings };
}
