// A vitest reporter that prints one plain closing line, and appends the same counts to the file named in
// MERCER_TEST_COUNTS so that several runs can be summed. A skipped test is listed with its file: none is skipped unseen.
// Every test with its outcome goes to the file named in MERCER_TEST_RESULTS, one JSON object a line.
import { appendFileSync } from 'node:fs';
import path from 'node:path';

export default class CountReporter {
  /** @param {readonly any[]} modules @param {readonly unknown[]} errors */
  onTestRunEnd(modules, errors) {
    const counts = { passed: 0, failed: errors.length, skipped: 0 };
    /** @type {Map<string, number>} */
    const skippedIn = new Map();
    const outcomes = [];
    for (const module of modules) {
      if (module.errors().length > 0) counts.failed += 1;
      const file = path.relative(process.cwd(), module.moduleId);
      for (const test of module.children.allTests()) {
        const { state } = /** @type {{ state: string }} */ (test.result());
        outcomes.push(JSON.stringify({ file, name: test.fullName, state }));
        counts[state === 'passed' || state === 'failed' ? state : 'skipped'] += 1;
        if (state !== 'passed' && state !== 'failed') {
          skippedIn.set(file, (skippedIn.get(file) ?? 0) + 1);
        }
      }
    }
    for (const [file, count] of skippedIn) console.log(`skipped: ${count} in ${file}`);
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    const target = process.env.MERCER_TEST_COUNTS;
    if (target) appendFileSync(target, `${JSON.stringify(counts)}\n`);
    const results = process.env.MERCER_TEST_RESULTS;
    if (results) appendFileSync(results, `${outcomes.join('\n')}\n`);
  }
}
