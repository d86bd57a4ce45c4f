import { describeFaultTolerance } from './connector-conformance.ts';
import { startGsma } from './gsma-subject.ts';

describeFaultTolerance('the GSMA connector', () => startGsma());
