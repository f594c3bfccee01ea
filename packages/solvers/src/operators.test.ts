import { device } from '@mercer/tensor';
import { operatorsSuite } from './testing/operators-suite.test-support.js';

operatorsSuite('the CPU', () => device('cpu'));
