import { device } from '@mercer/tensor';
import { sizesSuite } from './testing/sizes-suite.test-support.js';

sizesSuite('the CPU', () => device('cpu'), {
  full: process.env['MERCER_TEST_FULL'] === '1',
});
