import { device } from '@mercer/tensor';
import { soapSuite } from './soap-suite.test-support.js';

soapSuite('the CPU', () => device('cpu'));
