import { device } from '@mercer/tensor';
import { byHandSuite } from './by-hand-suite.test-support.js';

byHandSuite('the CPU', () => device('cpu'));
