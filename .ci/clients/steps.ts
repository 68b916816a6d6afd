// The steps of a driver program: prints each one that was done.

export const [address, key] = process.argv.slice(2) as [string, string];

export function done(step: string, isRight: boolean): void {
  if (!isRight) {
    throw new Error(`failed: ${step}`);
  }
  console.log(`done: ${step}`);
}

/** Whether a date is now, give or take an hour. */
export function isNow(date: Date): boolean {
  return Math.abs(Date.now() - date.getTime()) < 3_600_000;
}
