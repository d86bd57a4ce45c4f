import { describeFaultTolerance } from './connector-conformance.ts';
import { operations } from './faulty-subject.ts';
import { startGsma } from './gsma-subject.ts';

describeFaultTolerance('the GSMA connector', operations, () => startGsma());
