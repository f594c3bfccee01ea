import type { Steps } from '@mercer/formula';

/** A formula that the interpreter cannot run; its kernel has no program and needs a compiler. */
export class NoInstruction extends Error {
  override readonly name = 'NoInstruction';
}

/** In steps, what `make` makes, or nothing where the interpreter lacks an operation. */
export function* unlessNoInstruction<R>(make: Steps<R>): Steps<R | undefined> {
  try {
    return yield* make;
  } catch (error) {
    if (error instanceof NoInstruction) return undefined;
    throw error;
  }
}
