import type { Environment, LaneKey } from '../domain/delivery.ts';

/** A lane's key as the columns of a row have it. */
export interface LaneRow {
  readonly merchant_id: string;
  readonly environment: Environment;
  readonly endpoint: string;
}

export const laneOf = ({ merchant_id: merchantId, environment, endpoint }: LaneRow): LaneKey => ({
  merchantId,
  environment,
  endpoint,
});

/** Lanes as the first three arrays of a statement: `unnest($1::text[], $2::webhooks.environment[], $3::text[], …)`. */
export const laneArrays = (lanes: readonly LaneKey[]): [string[], string[], string[]] => [
  lanes.map(({ merchantId }) => merchantId),
  lanes.map(({ environment }) => environment),
  lanes.map(({ endpoint }) => endpoint),
];

/** A lane as it stands in the log. */
export const laneFields = ({ merchantId, environment, endpoint }: LaneKey) => ({
  merchant_id: merchantId,
  environment: environment.toLowerCase(),
  endpoint,
});

/** A lane as the key of a Map. An endpoint has no spaces, nor has anything before it. */
export const laneText = ({ merchantId, environment, endpoint }: LaneKey): string =>
  `${merchantId} ${environment} ${endpoint}`;
