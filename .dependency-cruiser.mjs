import { readdirSync } from 'node:fs';
import { layers } from './scripts/lint/layers.mjs';

const tests = '\\.(test|test-d|test-support)\\.|^packages/[^/]+/test/';

/** Per package: of the others it may reach only those below it; its tests may also use the runtimes, to run what it emits. */
const directions = readdirSync(new URL('./packages', import.meta.url)).flatMap((folder) => {
  const below = [folder, ...(layers[folder] ?? [])];
  const inTests = [...below, 'cuda-runtime', 'cpu-runtime'];
  return [
    {
      name: `${folder}-looks-down-only`,
      comment: `${folder} may import ${below.slice(1).join(', ') || 'no other package'} (scripts/lint/layers.mjs)`,
      severity: /** @type {const} */ ('error'),
      from: { path: `^packages/${folder}/`, pathNot: tests },
      to: { path: '^packages/', pathNot: `^packages/(${below.join('|')})/` },
    },
    {
      name: `${folder}-tests-look-down-only`,
      comment: `tests of ${folder} may import ${inTests.slice(1).join(', ')}`,
      severity: /** @type {const} */ ('error'),
      from: { path: `^packages/${folder}/.*(${tests})` },
      to: { path: '^packages/', pathNot: `^packages/(${inTests.join('|')})/` },
    },
  ];
});

/**
 * The one exception to `no-circular`: a device makes streams, buffers, events and modules, each of them knows its device, and a
 * stream takes and makes the others. Their circle is one of types: `import type` on the way back.
 */
const cudaClasses =
  '^packages/cuda-runtime/src/(cuda-function|device|device-buffer|event|graph|module|pinned-buffer|stream)\\.ts$';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...directions,
    {
      name: 'published-code-imports-no-tests',
      comment: 'helpers of tests are left out of the published package',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: tests },
      to: { path: tests },
    },
    {
      name: 'no-circular',
      comment:
        'a circle hides which of two files is the foundation, also one of types: move the types that both need to a file of ' +
        'their own below both',
      severity: 'error',
      from: { pathNot: cudaClasses },
      to: { circular: true },
    },
    {
      name: 'cuda-classes-are-circular-as-types-only',
      comment:
        "cuda-runtime's classes of owned objects may name each other as types: an `import type` in the circle breaks it",
      severity: 'error',
      from: { path: cudaClasses },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'not-to-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'published-code-declares-what-it-imports',
      comment: 'code outside tests may import only dependencies and peers of its own package.json',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: tests },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['npm-peer', 'type-only'],
      },
    },
    {
      name: 'no-deep-imports',
      comment: "only '.' and declared subpaths of another package",
      severity: 'error',
      from: { path: '^packages/([^/]+)/' },
      to: { path: '^packages/[^/]+/src/', pathNot: '^packages/$1/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules|^packages/[^/]+/dist/' },
    exclude: { path: '^packages/[^/]+/(build|test)/' },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'default'],
    },
  },
};
