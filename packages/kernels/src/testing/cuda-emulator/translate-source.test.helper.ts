import { DECLARED_PTX } from './shim-ptx.test.helper.js';
import { translateAsm } from './translate-asm.test.helper.js';

const UNSIZED_SHARED =
  /extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?((?:unsigned\s+)?\w+)\s+(\w+)\[\]/g;

/**
 * The text of a kernel as host C++: inline assembly as calls of functions, and the dynamic shared memory
 * as a pointer. Lines stay where they are, so that messages can name them.
 */
export function translateSource(source: string): string {
  return translateAsm(source, DECLARED_PTX).replaceAll(
    UNSIZED_SHARED,
    (_, type: string, name: string) =>
      `${type}* const ${name} = reinterpret_cast<${type}*>(emu_dynamic_shared)`,
  );
}

/** Threads that the entry's launch bounds allow, undefined where it has none. */
export function launchBound(source: string): number | undefined {
  const bound = /__launch_bounds__\((\d+)/.exec(source)?.[1];
  return bound === undefined ? undefined : Number(bound);
}
