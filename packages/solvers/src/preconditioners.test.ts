import { device } from '@mercer/tensor';
import { preconditionersSuite } from './testing/preconditioners-suite.test-support.js';

preconditionersSuite('the CPU', () => device('cpu'));
