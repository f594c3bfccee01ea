const TEST = 'src/promises/16-bundles.test.ts';

/** @type {readonly import('../../../scripts/mutants/run.mjs').Mutant[]} */
export const bundlesMutants = [
  {
    promise: 16,
    name: 'kernels of bundles are not checked',
    file: 'bundle/bundle-file.ts',
    find: "if (sumOf(key, entry) !== place.sum) throw new Error('its checksum does not match');",
    replace: '',
    test: TEST,
    pattern: 'no changed byte of a file',
  },
  {
    promise: 16,
    name: 'the list of kernels of a bundle is not checked',
    file: 'bundle/bundle-file.ts',
    find: 'if (!sum.equals(head.subarray(MAGIC.length + 4)))',
    replace: 'if (sum.length === 0)',
    test: TEST,
    pattern: 'no changed byte of a file',
  },
  {
    promise: 16,
    name: 'a bundle for another target is used',
    file: 'bundle/kernel-bundles.ts',
    find: 'if (index.target === target) bundles.push({ path, index });',
    replace: 'if (index.target !== "") bundles.push({ path, index });',
    test: TEST,
    pattern: 'for another target is refused',
  },
  {
    promise: 16,
    name: 'the form of a kernel out of a bundle is not looked at',
    file: 'bundle/kernel-bundles.ts',
    find: 'const trouble = artifactTrouble(target, entry.binary);',
    replace: 'const trouble = undefined as string | undefined;',
    test: TEST,
    pattern: 'whose form is not that of its target',
  },
  {
    promise: 16,
    name: 'callers get the kept bytes of a bundle',
    file: 'cache.ts',
    find: 'binary: binary.slice(),',
    replace: 'binary,',
    test: TEST,
    pattern: 'has the bytes and the names',
  },
  {
    promise: 16,
    name: 'the key of a bundle leaves out the options',
    file: 'key.ts',
    find: 'addList(hash, fields.options);',
    replace: '',
    test: TEST,
    pattern: 'says nothing of the compiler',
  },
];
