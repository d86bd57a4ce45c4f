import type { CallOwner } from '../../platform/fair-calls.ts';
import type { Environment } from '../domain/delivery.ts';

/** The calls of a merchant in an environment share their turns. So do those of operators that name no merchant. */
export const callOwner = ({ merchantId, environment }: ReadScope): CallOwner => ({
  owner: `${environment ?? ''} ${merchantId ?? ''}`,
});

interface ReadScope {
  readonly merchantId: string | undefined;
  readonly environment: Environment | undefined;
}
