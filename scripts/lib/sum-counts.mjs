// Prints one closing line for all test runs whose counts the count reporter appended to a file.
import { readFileSync } from 'node:fs';

const total = { passed: 0, failed: 0, skipped: 0 };
for (const line of readFileSync(String(process.argv[2]), 'utf8').split('\n').filter(Boolean)) {
  const counts = JSON.parse(line);
  for (const key of /** @type {const} */ (['passed', 'failed', 'skipped']))
    total[key] += counts[key];
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
