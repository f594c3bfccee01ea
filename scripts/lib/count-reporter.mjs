// A vitest reporter that prints one plain closing line and lists skipped tests with their file: none is skipped unseen.
// Every test with its outcome is appended to the file named in MERCER_TEST_RESULTS (test-results.mjs).
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { closingLine, writeResults } from './test-results.mjs';

export default class CountReporter {
  #leftOut;

  /** @param {{ leftOut?: string }} [options] what the configuration leaves out */
  constructor({ leftOut } = {}) {
    this.#leftOut = leftOut;
  }

  /** @param {readonly any[]} modules @param {readonly unknown[]} errors */
  onTestRunEnd(modules, errors) {
    /** @type {Map<string, number>} */
    const skippedIn = new Map();
    const outcomes = errors.map(() => ({ file: 'vitest', name: 'an error', state: 'failed' }));
    for (const module of modules) {
      const file = path.relative(process.cwd(), module.moduleId);
      if (module.errors().length > 0) outcomes.push({ file, name: 'the file', state: 'failed' });
      for (const test of module.children.allTests()) {
        const { state } = /** @type {{ state: string }} */ (test.result());
        outcomes.push({ file, name: test.fullName, state });
        if (state !== 'passed' && state !== 'failed')
          skippedIn.set(file, (skippedIn.get(file) ?? 0) + 1);
      }
    }
    for (const [file, count] of skippedIn) console.log(`skipped: ${count} in ${file}`);
    if (this.#leftOut !== undefined) console.log(`left out: ${this.#leftOut}`);
    console.log(closingLine(outcomes));
    const results = process.env.MERCER_TEST_RESULTS;
    if (results) appendFileSync(results, writeResults(outcomes));
  }
}
