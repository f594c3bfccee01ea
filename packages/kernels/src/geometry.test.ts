import { expect, it } from 'vitest';
import { defaultKernels } from './default-kernels.test-support.js';
import { CPU } from './testing/emitted-text.test-support.js';
import { H200 } from './testing/h200.test-support.js';

/** The names of the scalars that something asks for. */
function namesRead(work: (scalars: Readonly<Record<string, number>>) => unknown): Set<string> {
  const names = new Set<string>();
  const get = (_: object, name: string | symbol): number => {
    names.add(String(name));
    return 1;
  };
  work(new Proxy({}, { get }));
  return names;
}

// Launches that come again pack other floating numbers without it.
it.each([
  ['a CPU', CPU],
  ['a GPU', H200],
])('the geometry of launches on %s is of whole numbers', (_, limits) => {
  const found = defaultKernels(limits).flatMap(({ kernel }) => {
    const names = namesRead((scalars) => kernel.geometry(scalars));
    return kernel.params.flatMap((one) =>
      one.kind === 'scalar' && names.has(one.name) ? [one.type] : [],
    );
  });
  expect(found.length).toBeGreaterThan(100);
  expect([...new Set(found)].sort()).toEqual(['int64']);
});
