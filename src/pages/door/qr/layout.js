// The layout of QR codes of the versions 1 to 10 (ISO/IEC 18004): the modules that are the same in each code of a version.

export const LARGEST_VERSION = 10;

/** The modules of a side. */
export const sizeOf = (version) => 17 + 4 * version;

/** The rows, which are also the columns, of the centers of alignment patterns (annex E). */
const ALIGNMENT = [
  [], [], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50],
];

/** What a module is: a bit of data, part of the format or version information, or of a pattern. */
export const [DATA, INFORMATION, DARK, LIGHT] = [0, 1, 2, 3];

/** A function of the version that is only called once for each. */
export function once(create) {
  const known = new Map();
  return (version) => {
    if (!known.has(version)) known.set(version, create(version));
    return known.get(version);
  };
}

/** The kinds of all modules, row by row. */
export const layoutOf = once((version) => {
  const size = sizeOf(version);
  const layout = new Uint8Array(size * size).fill(DATA);
  const set = (row, column, kind) => {
    if (Math.min(row, column) >= 0 && Math.max(row, column) < size) layout[row * size + column] = kind;
  };
  for (let index = 0; index < 8; index += 1) {
    for (const [row, column] of [[8, index], [index, 8], [8, size - 1 - index], [size - 1 - index, 8]]) {
      set(row, column, INFORMATION);
    }
  }
  set(8, 8, INFORMATION);
  set(size - 8, 8, DARK);
  for (let index = 0; index < 18 && version >= 7; index += 1) {
    const [one, other] = [Math.floor(index / 3), size - 11 + (index % 3)];
    set(one, other, INFORMATION);
    set(other, one, INFORMATION);
  }
  for (let index = 8; index < size - 8; index += 1) {
    const kind = index % 2 === 0 ? DARK : LIGHT;
    set(6, index, kind);
    set(index, 6, kind);
  }
  for (const [row, column] of alignmentCenters(version)) drawRings(set, row, column, 2, [DARK, LIGHT, DARK]);
  for (const [row, column] of [[3, 3], [3, size - 4], [size - 4, 3]]) {
    drawRings(set, row, column, 4, [DARK, DARK, LIGHT, DARK, LIGHT]);
  }
  return layout;
});

/** The row and the column of the center of each alignment pattern. */
export function alignmentCenters(version) {
  const centers = ALIGNMENT[version];
  const last = centers.at(-1);
  const all = centers.flatMap((row) => centers.map((column) => [row, column]));
  // In three corners are finder patterns.
  return all.filter(([row, column]) => Math.min(row, column) > 6 || (Math.max(row, column) < last && row !== column));
}

/** Draws squares around a center: the kinds of their modules, from the inner one to the outer one. */
function drawRings(set, row, column, reach, kinds) {
  for (let down = -reach; down <= reach; down += 1) {
    for (let right = -reach; right <= reach; right += 1) {
      set(row + down, column + right, kinds[Math.max(Math.abs(down), Math.abs(right))]);
    }
  }
}
