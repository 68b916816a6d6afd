// Error correction: Reed-Solomon codes for the data, and BCH codes for the format and the version (ISO/IEC 18004).

/** Powers of 2 in the field of 256 elements with the polynomial x^8 + x^4 + x^3 + x^2 + 1, and their logarithms. */
const [POWERS, LOGARITHMS] = [new Uint8Array(510), new Uint8Array(256)];
for (let index = 0, power = 1; index < 255; index += 1) {
  POWERS[index] = power;
  POWERS[index + 255] = power;
  LOGARITHMS[power] = index;
  power = power < 128 ? power << 1 : (power << 1) ^ 0x11d;
}

export const multiply = (one, other) => (one === 0 || other === 0 ? 0 : POWERS[LOGARITHMS[one] + LOGARITHMS[other]]);

const divide = (one, other) => (one === 0 ? 0 : POWERS[LOGARITHMS[one] + 255 - LOGARITHMS[other]]);

/** The value of a polynomial, whose first coefficient is the constant one. */
function evaluate(polynomial, at) {
  let value = 0;
  for (let index = polynomial.length - 1; index >= 0; index -= 1) value = multiply(value, at) ^ polynomial[index];
  return value;
}

/** The values of a block at the roots of the generator: all are 0 if the block has no error. */
function syndromesOf(block, count) {
  const polynomial = [...block].reverse();
  return Array.from({ length: count }, (_, index) => evaluate(polynomial, POWERS[index]));
}

/** Corrects a block with `count` words for error correction in place. Returns whether that is possible. */
export function correctBlock(block, count) {
  const syndromes = syndromesOf(block, count);
  if (syndromes.every((value) => value === 0)) return true;
  const locator = locatorOf(syndromes);
  const errors = locator.length - 1;
  const places = [];
  for (let place = 0; place < block.length; place += 1) {
    if (evaluate(locator, POWERS[255 - place]) === 0) places.push(place);
  }
  if (2 * errors > count || places.length !== errors) return false;
  for (const place of places) block[block.length - 1 - place] ^= errorAt(place, locator, syndromes);
  return syndromesOf(block, count).every((value) => value === 0);
}

/** The polynomial whose roots are the inverses of the places of errors (algorithm of Berlekamp and Massey). */
function locatorOf(syndromes) {
  let [locator, last, lastDiscrepancy, shift, degree] = [[1], [1], 1, 1, 0];
  for (let step = 0; step < syndromes.length; step += 1) {
    let discrepancy = 0;
    for (let index = 0; index <= degree; index += 1) discrepancy ^= multiply(locator[index] ?? 0, syndromes[step - index]);
    if (discrepancy === 0) {
      shift += 1;
      continue;
    }
    const factor = divide(discrepancy, lastDiscrepancy);
    const next = Array.from({ length: Math.max(locator.length, last.length + shift) }, (_, index) => (
      (locator[index] ?? 0) ^ multiply(factor, last[index - shift] ?? 0)
    ));
    if (2 * degree <= step) {
      [last, lastDiscrepancy, shift, degree] = [locator, discrepancy, 1, step + 1 - degree];
    } else {
      shift += 1;
    }
    locator = next;
  }
  while (locator.at(-1) === 0) locator.pop();
  return locator;
}

/** The error at a place, counted from the end of the block (formula of Forney). */
function errorAt(place, locator, syndromes) {
  const inverse = POWERS[255 - place];
  let numerator = 0;
  for (let power = locator.length - 2; power >= 0; power -= 1) {
    let coefficient = 0;
    for (let index = 0; index <= power; index += 1) coefficient ^= multiply(locator[index], syndromes[power - index]);
    numerator = multiply(numerator, inverse) ^ coefficient;
  }
  const derivative = locator.map((value, index) => (index % 2 === 1 ? value : 0)).slice(1);
  return multiply(POWERS[place], divide(numerator, evaluate(derivative, inverse)));
}

/** Appends the remainder of the division by a generator of the degree `degree`, all as bits of integers. */
function withRemainder(value, generator, degree) {
  let rest = value << degree;
  while (rest >= 1 << degree) rest ^= generator << (31 - Math.clz32(rest) - degree);
  return (value << degree) | rest;
}

const KNOWN_FORMATS = Array.from({ length: 32 }, (_, value) => withRemainder(value, 0x537, 10) ^ 0x5412);
const KNOWN_VERSIONS = Array.from({ length: 34 }, (_, index) => withRemainder(index + 7, 0x1f25, 12));

/** The index of the word that differs from one of these in the fewest bits, which are at most 3. Otherwise null. */
function nearest(words, found) {
  let [best, fewest] = [null, 4];
  words.forEach((word, index) => {
    for (const each of found) {
      let [difference, count] = [word ^ each, 0];
      for (; difference !== 0; difference &= difference - 1) count += 1;
      if (count < fewest) [best, fewest] = [index, count];
    }
  });
  return best;
}

/** The five bits of the format that was read from one or several places, or null. */
export const correctFormat = (...found) => nearest(KNOWN_FORMATS, found);

/** The version that was read from one or several places, or null. */
export function correctVersion(...found) {
  const index = nearest(KNOWN_VERSIONS, found);
  return index === null ? null : index + 7;
}
