// Prints the test files of which a run skipped a test, but for those that wait for a GPU, and runs nothing.
//   node scripts/lib/skipped-files.mjs results.jsonl
import { readFileSync } from 'node:fs';
import { readResults } from './test-results.mjs';

const results = readResults(readFileSync(String(process.argv[2]), 'utf8'));
const files = results
  .filter(
    ({ file, state }) => state !== 'passed' && state !== 'failed' && !file.endsWith('.gpu.test.ts'),
  )
  .map(({ file }) => file);
for (const file of new Set(files)) console.log(file);
