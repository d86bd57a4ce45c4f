import { describeFaultTolerance, operations } from './connector-conformance.ts';
import { startGsma } from './gsma-subject.ts';

describeFaultTolerance('the GSMA connector', operations, () => startGsma());
