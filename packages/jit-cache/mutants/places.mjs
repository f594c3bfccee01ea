const P = 'src/promises';

/** @type {readonly import('../../../scripts/mutants/run.mjs').Mutant[]} */
export const placesMutants = [
  {
    promise: 14,
    name: 'a version drops what others have stored',
    file: 'store/entries.ts',
    find: "  database\n    .prepare('INSERT OR REPLACE INTO entry",
    replace:
      "  database.prepare('DELETE FROM entry WHERE toolchain <> ?').run(toolchain);\n  database\n    .prepare('INSERT OR REPLACE INTO entry",
    test: `${P}/14-version-peace.test.ts`,
    pattern: 'without a rebuild',
  },
  {
    promise: 14,
    name: 'toolchains share entries',
    file: 'key.ts',
    find: 'addText(hash, fields.toolchain);',
    replace: '',
    test: `${P}/14-version-peace.test.ts`,
    pattern: 'without a rebuild',
  },
  {
    promise: 14,
    name: 'the schema is not in the name of the file',
    file: 'store/schema.ts',
    find: '`kernels-v${SCHEMA_VERSION}.sqlite`',
    replace: "'kernels-v2.sqlite'",
    test: `${P}/14-version-peace.test.ts`,
    pattern: 'other schema versions',
  },
  {
    promise: 15,
    name: 'network file systems are used',
    file: 'store/directory.ts',
    find: 'if (kind === undefined) return { path: choice.path };',
    replace: 'if (kind !== choice.path) return { path: choice.path };',
    test: `${P}/15-file-systems.test.ts`,
    pattern: 'is avoided',
  },
  {
    promise: 15,
    name: "SQLite's answer is believed without a write",
    file: 'store/schema.ts',
    find: "  connection.exec(\"INSERT INTO meta VALUES ('probe', 'written')\");",
    replace: '  if (logBytes() >= 0) return connection.exec("COMMIT");',
    test: `${P}/15-file-systems.test.ts`,
    pattern: 'fails the first write|keeps no log',
  },
  {
    promise: 15,
    name: 'nobody looks whether there is a log',
    file: 'store/schema.ts',
    find: 'if (logBytes() === 0)',
    replace: 'if (logBytes() < 0)',
    test: `${P}/15-file-systems.test.ts`,
    pattern: 'keeps no log',
  },
  {
    promise: 15,
    name: 'no other folder is tried',
    file: 'store/store-session.ts',
    find: 'if (stays || readOnly || !cannotLog(error)) throw error;',
    replace: 'if (!stays || readOnly || !cannotLog(error)) throw error;',
    test: `${P}/15-file-systems.test.ts`,
    pattern: 'fails the first write',
  },
];
