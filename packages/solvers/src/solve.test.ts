import { device } from '@mercer/tensor';
import { solveSuite } from './testing/solve-suite.test-support.js';

solveSuite('the CPU', () => device('cpu'));
