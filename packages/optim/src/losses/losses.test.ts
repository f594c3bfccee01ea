import { device } from '@mercer/tensor';
import { lossesSuite } from '../testing/losses-suite.test-support.js';

lossesSuite('the CPU', () => device('cpu'));
