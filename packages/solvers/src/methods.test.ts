import { device } from '@mercer/tensor';
import { methodsSuite } from './testing/methods-suite.test-support.js';

methodsSuite('the CPU', () => device('cpu'));
