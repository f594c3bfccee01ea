import { device } from '@mercer/tensor';
import { prepareSuite } from './testing/prepare-suite.test-support.js';

prepareSuite('the CPU', () => device('cpu'));
