import { device } from '@mercer/tensor';
import { badSystemsSuite } from './testing/bad-systems-suite.test-support.js';

badSystemsSuite('the CPU', () => device('cpu'));
