import { largeSuite } from './large-suite.test-support.js';

largeSuite('with LAPACK', {
  solves: [
    [1024, 'float64'],
    [2048, 'float32'],
  ],
  eigen: [400],
});
