import { device } from '@mercer/tensor';
import { inGroupsSuite } from './in-groups-suite.test-support.js';

inGroupsSuite('the CPU', () => device('cpu'));
