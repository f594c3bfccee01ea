// What the part of a package that an import evaluates takes from other packages. Node looks for each package anew for every file that imports it, which takes
// an eighth of a millisecond each time, so there are few imports:
// - a name that several entries export comes from one that is imported anyway;
// - an entry of which only functions are needed, which the import does not call, is for later: the functions have stubs;
// - an entry that is imported for its effects alone stays only if it has some which the others do not have.
import path from 'node:path';

/**
 * @typedef {import('./later.mjs').Split} Split
 * @typedef {import('./later.mjs').Origin} Origin
 * @typedef {import('./read-module.mjs').Passed} Passed
 * @typedef {import('./read-module.mjs').Statement} Statement
 * @typedef {{ from: Passed, statement: Statement | undefined, sources: string[], isCalled: boolean }} Need what an early statement names; `sources`: entries that
 *   export it; `isCalled`: whether an import calls it
 */

/** Of an entry with more functions than this, the imports take less time than stubs. */
const MOST_STUBS = 40;

/**
 * @param {Split} split @param {string} folder of the package
 * @returns {{ placeOf: (passed: Passed) => Passed, stubs: readonly (Passed & { statement: Statement })[], withoutEffects: readonly string[] }}
 *   `placeOf`: where an early statement imports a name from, `?stubs` at its end if it has a stub; `withoutEffects`: entries that are imported for their names alone
 */
export function importsOf({ entries, modules, early, called, folders, pure, originOf }, folder) {
  const isOwn = (/** @type {string} */ file) => file.startsWith(folder + path.sep);
  const own = [...modules.values()].filter(({ file }) => isOwn(file));
  /** Entries of other packages that this one imports, with their sources. */
  const others = new Map(
    own.flatMap(({ sources }) =>
      sources.flatMap(({ source, file }) =>
        file !== undefined && !isOwn(file) && entries.has(source)
          ? [/** @type {const} */ ([source, file])]
          : [],
      ),
    ),
  );
  const sourceOf = (/** @type {string} */ source) => others.get(source) ?? '';
  const statementOf = (/** @type {Origin | undefined} */ origin) =>
    origin && modules.get(origin.file)?.declared.get(origin.name);

  /** Where a value was made: constants that are another by its name are that one. @param {string} file @param {string} name @returns {Origin | undefined} */
  function maker(file, name) {
    const origin = originOf(file, name);
    const alias = statementOf(origin)?.alias;
    const imported = origin && alias ? modules.get(origin.file)?.imports.get(alias) : undefined;
    return (imported?.file && maker(imported.file, imported.name)) || origin;
  }
  const keyOf = (/** @type {string} */ file, /** @type {string} */ name) => {
    const origin = maker(file, name);
    return origin && `${origin.file} ${origin.name}`;
  };

  /** What a name of this package is outside of it. @param {Passed | undefined} passed @returns {Passed | undefined} */
  function outside(passed) {
    if (passed?.file === undefined) return undefined;
    if (!isOwn(passed.file)) return passed;
    const { exports, all } = modules.get(passed.file) ?? { exports: new Map(), all: [] };
    const found = exports.get(passed.name);
    if (found) return 'local' in found ? undefined : outside(found);
    return all
      .map((one) => outside({ ...one, name: passed.name }))
      .find((one) => one?.file && originOf(one.file, one.name));
  }

  /** @type {Map<string, Need>} */
  const needs = new Map();
  for (const { file, imports, statements } of own) {
    for (const name of statements.flatMap((one) => (early.has(one) ? [...one.refers] : []))) {
      const from = outside(imports.get(name));
      const key = from?.file && keyOf(from.file, from.name);
      if (!from?.file || !key) continue;
      const need = needs.get(key) ?? {
        from,
        statement: statementOf(maker(from.file, from.name)),
        sources: [...others.keys()].filter((source) => keyOf(sourceOf(source), from.name) === key),
        isCalled: false,
      };
      need.isCalled ||= called.has(`${file} ${name}`);
      needs.set(key, need);
    }
  }

  const all = [...needs.values()];
  const isForNow = (/** @type {Need} */ { statement, isCalled }) =>
    statement?.kind !== 'function' || isCalled;
  /** @type {Set<string>} */
  const imported = new Set();
  const isImported = (/** @type {Need} */ { sources }) => sources.some((one) => imported.has(one));
  const wanted = (/** @type {string} */ source, /** @type {readonly Need[]} */ of) =>
    of.filter((need) => !isImported(need) && need.sources.includes(source)).length;
  const now = all.filter(isForNow);
  while (!now.every(isImported)) {
    const [first] = [...others.keys()].sort(
      (a, b) => wanted(b, now) - wanted(a, now) || wanted(b, all) - wanted(a, all),
    );
    imported.add(String(first));
  }
  for (const source of others.keys()) if (wanted(source, all) > MOST_STUBS) imported.add(source);

  /** What evaluating an entry does: packages that do something, which it imports. @param {string} entry */
  function effectsOf(entry) {
    const seen = new Set([entry]);
    for (const file of seen)
      for (const one of modules.get(file)?.sources ?? []) if (one.file) seen.add(one.file);
    const doing = [...seen].filter((file) =>
      modules.get(file)?.statements.some(({ kind }) => kind === 'effect'),
    );
    return folders.filter(
      (one) => !pure.includes(one) && doing.some((file) => file.startsWith(one)),
    );
  }
  const done = new Set([...imported].flatMap((source) => effectsOf(sourceOf(source))));
  /** @type {Set<string>} */
  const forEffects = new Set();
  const bySize = [...others]
    .map(([source, file]) => ({ source, effects: effectsOf(file) }))
    .sort((a, b) => b.effects.length - a.effects.length);
  for (const { source, effects } of bySize) {
    if (effects.some((one) => !done.has(one))) forEffects.add(source);
    for (const one of effects) done.add(one);
  }

  const stubs = all.flatMap(({ from, statement, sources }) =>
    statement && !sources.some((one) => imported.has(one)) ? [{ ...from, statement }] : [],
  );
  return {
    placeOf(passed) {
      const from = outside(passed);
      const key = from?.file && keyOf(from.file, from.name);
      const need = key ? needs.get(key) : undefined;
      if (!from || !need) return passed;
      const source = [from.source, ...need.sources].find((one) => imported.has(one));
      return {
        ...from,
        source: source ?? `${need.from.source}?stubs`,
        name: source ? from.name : need.from.name,
      };
    },
    stubs,
    withoutEffects: [...others.keys()].filter((source) => !forEffects.has(source)),
  };
}
