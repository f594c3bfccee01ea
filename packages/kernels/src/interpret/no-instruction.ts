/** A formula that the interpreter cannot run; its kernel has no program and needs a compiler. */
export class NoInstruction extends Error {
  override readonly name = 'NoInstruction';
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
