// FEATURES.md promises: every link of its tables to a test must lead to tests that exist and, where the results of a test run
// are given, that ran and passed. That a test asserts something is demanded by the test runner (requireAssertions).
//   node scripts/checks/features.mjs [results.jsonl]
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readResults } from '../lib/test-results.mjs';
import { linkedTests, missingTests } from './linked-tests.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const links = linkedTests(readFileSync(path.join(root, 'FEATURES.md'), 'utf8'));
const resultsFile = process.argv[2];
const results =
  resultsFile === undefined ? undefined : readResults(readFileSync(resultsFile, 'utf8'));
const problems = missingTests(links, {
  exists: (file) => existsSync(path.join(root, file)),
  results,
});
for (const problem of problems) console.error(`FEATURES.md: ${problem}`);
if (problems.length > 0) {
  console.error('Link each feature to a test that runs without a GPU, by its exact title.');
  process.exit(1);
}
const how = results === undefined ? 'exist (no test results given)' : 'ran and passed';
console.log(`FEATURES.md: ${links.length} linked tests ${how}`);
if (links.length === 0) process.exit(1);
