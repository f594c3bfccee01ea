import { expect, it } from 'vitest';
import { platformPackage } from './load-addon.js';

it('looks for the package that a release publishes for this platform', () => {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const libc = header.glibcVersionRuntime === undefined ? 'musl' : 'gnu';
  expect(platformPackage()).toBe(
    `@mercer/cuda-runtime-${process.platform}-${process.arch}-${libc}`,
  );
});
