import type { Steps } from '@mercer/formula';

/** A formula that the interpreter cannot run; its kernel has no program and needs a compiler. */
export class NoInstruction extends Error {
  override readonly name = 'NoInstruction';
}

/** The same for what is made in steps. */
export function* unlessNoInstructionSteps<R>(make: Steps<R>): Steps<R | undefined> {
  try {
    return yield* make;
  } catch (error) {
    if (error instanceof NoInstruction) return undefined;
    throw error;
  }
}

/** What `make` makes, or nothing where the interpreter lacks an operation. */
export function unlessNoInstruction<R>(make: () => R): R | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof NoInstruction) return undefined;
    throw error;
  }
}
