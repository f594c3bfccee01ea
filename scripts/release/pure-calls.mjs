// Tells bundlers which calls of a bundle only make a value: those in the initial values of its top-level constants. What nobody names is then left out of
// a program, with all that it names. Statements that do something are left as they are, and are a package's effects (later.mjs takes the same for granted).
import { parseSync } from 'rolldown/utils';
import { children, isFunction } from './read-module.mjs';

const PURE = '/* @__PURE__ */ ';

/** Where the calls begin that evaluating a node makes. */
function collectCalls(/** @type {any} */ node, /** @type {Set<number>} */ into) {
  if (isFunction(node) || /^Class/.test(node.type)) return;
  if (/^(CallExpression|NewExpression)$/.test(node.type)) into.add(node.start);
  for (const child of children(node)) collectCalls(child, into);
}

/** @param {string} code of an ES module @returns {string} */
export function withPureCalls(code) {
  /** @type {Set<number>} */
  const starts = new Set();
  for (const node of /** @type {any[]} */ (parseSync('bundle.js', code).program.body)) {
    if (node.type !== 'VariableDeclaration') continue;
    for (const { init } of node.declarations) if (init) collectCalls(init, starts);
  }
  let marked = '';
  let end = 0;
  for (const start of [...starts].sort((a, b) => a - b)) {
    marked += code.slice(end, start) + PURE;
    end = start;
  }
  return marked + code.slice(end);
}
