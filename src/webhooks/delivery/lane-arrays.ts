import { column, rowList } from '../../platform/database/bulk-statement.ts';
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

/** The columns of a lane's key, of rows that have a lane or are one. */
export const laneColumns = <Row>(laneOfRow: (row: Row) => LaneKey) => ({
  merchant_id: column<Row>('text', (row) => laneOfRow(row).merchantId),
  environment: column<Row>('webhooks.environment', (row) => laneOfRow(row).environment),
  endpoint: column<Row>('text', (row) => laneOfRow(row).endpoint),
});

/** Lanes by their keys alone. */
export const laneList = rowList<LaneKey>(laneColumns<LaneKey>((lane) => lane));

/** A lane as it stands in the log. */
export const laneFields = ({ merchantId, environment, endpoint }: LaneKey) => ({
  merchant_id: merchantId,
  environment: environment.toLowerCase(),
  endpoint,
});

/** A lane as the key of a Map. An endpoint has no spaces, nor has anything before it. */
export const laneText = ({ merchantId, environment, endpoint }: LaneKey): string =>
  `${merchantId} ${environment} ${endpoint}`;
