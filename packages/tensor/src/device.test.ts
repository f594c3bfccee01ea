import { device } from './devices.js';
import { deviceSuite } from './test-support/device-suite.js';

deviceSuite('the CPU', () => device('cpu'));
