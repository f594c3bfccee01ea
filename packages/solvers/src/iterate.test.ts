import { device } from '@mercer/tensor';
import { iterateSuite } from './testing/iterate-suite.test-support.js';

iterateSuite('the CPU', () => device('cpu'));
