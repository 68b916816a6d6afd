"""The steps of a driver program: prints each one that was done."""

import sys

address, key = sys.argv[1:]


def done(step: str, is_right: bool) -> None:
    if not is_right:
        sys.exit(f"failed: {step}")
    print(f"done: {step}", flush=True)
