import { DECLARED_PTX } from './shim-ptx.test-support.js';
import { translateAsm } from './translate-asm.test-support.js';

const UNSIZED_SHARED =
  /extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?((?:unsigned\s+)?\w+)\s+(\w+)\[\]/g;
const SHARED = /(?<!\/\/.*|extern\s+)__shared__\s+([^;]*);/g;

/**
 * The text of a kernel as host C++: inline assembly as calls of functions, dynamic shared memory as a
 * pointer, static shared arrays one by one. Lines stay where they are, so that messages can name them.
 */
export function translateSource(source: string): string {
  let count = 0;
  return translateAsm(source, DECLARED_PTX)
    .replaceAll(
      UNSIZED_SHARED,
      (_, type: string, name: string) =>
        `${type}* const ${name} = reinterpret_cast<${type}*>(emu_dynamic_shared)`,
    )
    .replaceAll(SHARED, (_, declaration: string) => {
      const [first = '', ...others] = declaration.split(/,(?![^[(<]*[\])>])/);
      const [, type = '', own = ''] = /^([\s\S]*?)(\w+\s*(?:\[[\s\S]*)?)$/.exec(first) ?? [];
      return [own, ...others]
        .map((one) => {
          const name = /\w+/.exec(one)?.[0] ?? '';
          return `EMU_SHARED ${type} ${one}; EMU_LIST(${count++}, ${name})`;
        })
        .join(' ');
    });
}

/** Threads that the entry's launch bounds allow, undefined where it has none. */
export function launchBound(source: string): number | undefined {
  const bound = /__launch_bounds__\((\d+)/.exec(source)?.[1];
  return bound === undefined ? undefined : Number(bound);
}
