const P = 'src/promises';

/** @type {readonly import('../../../scripts/mutants/run.mjs').Mutant[]} */
export const keysAndBytesMutants = [
  {
    promise: 1,
    name: 'callers get the kept bytes themselves, not a copy',
    file: 'cache.ts',
    find: 'binary: binary.slice(),',
    replace: 'binary,',
    test: `${P}/01-identical-hit.test.ts`,
    pattern: 'what a caller does',
  },
  {
    promise: 1,
    name: "the compiler's buffer is kept, not a copy",
    file: 'resolver.ts',
    find: 'binary: binary.slice()',
    replace: 'binary',
    test: `${P}/01-identical-hit.test.ts`,
    pattern: 'goes on writing into its buffer',
  },
  {
    promise: 1,
    name: 'lowered names are not stored',
    file: 'store/entries.ts',
    find: 'JSON.stringify(record.loweredNames)',
    replace: "'{}'",
    test: `${P}/01-identical-hit.test.ts`,
    pattern: 'in another process',
  },
  ...[
    ['lengths are left out', 'hash.update(length).update(bytes);', 'hash.update(bytes);'],
    ['counts of lists are left out', 'addText(hash, String(items.length));', ''],
    ['the generator is left out', 'addText(hash, fields.generator);', ''],
    ['the language is left out', 'addText(hash, fields.language);', ''],
    ['the target is left out', 'addText(hash, fields.target);', ''],
    [
      'the suffix of the architecture is left out',
      'target: unit.target,',
      "target: unit.target.replace(/a$/, ''),",
    ],
    ['the toolchain is left out', 'addText(hash, fields.toolchain);', ''],
    [
      'the driver is left out for PTX',
      'toolchain.identityFor?.(unit.target) ?? toolchain.identity',
      'toolchain.identity',
    ],
    ['the options are left out', 'addList(hash, fields.options);', ''],
    [
      'the order of options is left out',
      'addList(hash, fields.options);',
      'addList(hash, [...fields.options].sort());',
    ],
    [
      'the kind of a value is left out',
      '${name}=${typeof value}:${value}',
      '${name}=${String(Number(value))}',
    ],
    ['the names are left out', 'addList(hash, fields.names);', ''],
    ['the order of names counts', '[...new Set(unit.names)].sort()', '[...unit.names]'],
    ['the source is left out', 'addText(hash, source);', ''],
    [
      'the environment is put in',
      'addText(hash, source);',
      "addText(hash, source + (process.env['CUDA_VISIBLE_DEVICES'] ?? ''));",
    ],
  ].map(([name = '', find = '', replace = '']) => ({
    promise: 2,
    name,
    file: 'key.ts',
    find,
    replace,
    test: `${P}/02-key-completeness.test.ts`,
    pattern: 'equal exactly|another key|borders|PTX gets|nothing else|from release',
  })),
  {
    promise: 3,
    name: 'an entry is written in two transactions',
    file: 'store/entries.ts',
    find: "  database\n    .prepare('INSERT OR REPLACE INTO entry",
    replace:
      "  database\n    .prepare('INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')\n    .run(key, keyJson, target, toolchain, 0, sha, names, log, compileMs, now, now, new Uint8Array(1));\n  database.connection.exec('COMMIT');\n  database.connection.exec('BEGIN IMMEDIATE');\n  database\n    .prepare('INSERT OR REPLACE INTO entry",
    test: `${P}/03-no-torn-entry.test.ts`,
    pattern: 'every read is whole',
  },
];
