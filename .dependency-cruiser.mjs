import { readdirSync } from 'node:fs';
import { layers } from './scripts/lint/layers.mjs';

const tests = '\\.(test|test-d|test-support)\\.ts$|/test(ing|-support)?/';

/** One rule per package: of the others it may reach only those below it. */
const directions = readdirSync(new URL('./packages', import.meta.url)).map((folder) => {
  const below = layers[folder] ?? [];
  return {
    name: `${folder}-looks-down-only`,
    comment: `${folder} may import ${below.join(', ') || 'no other package'} (scripts/lint/layers.mjs)`,
    severity: /** @type {const} */ ('error'),
    from: { path: `^packages/${folder}/`, pathNot: tests },
    to: { path: '^packages/', pathNot: `^packages/(${[folder, ...below].join('|')})/` },
  };
});

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...directions,
    {
      name: 'tests-look-down-only',
      comment:
        'a test may use the runtimes too (to compile what its package emits), but nothing above its package',
      severity: 'error',
      from: { path: `^packages/([^/]+)/.*(${tests})` },
      to: {
        path: '^packages/(tensor|autodiff|pairwise|linalg|lazy|solvers|optim|core|cli)/',
        pathNot: '^packages/$1/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'no-circular',
      comment: 'a circle hides which of two files is the foundation',
      severity: 'error',
      from: {},
      to: { circular: true },
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
