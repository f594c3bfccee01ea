import { restartRandom } from './pairwise-check.test-support.js';

// Files share processes: each has the same numbers, whatever ran before it.
restartRandom();
