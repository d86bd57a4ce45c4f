import { column, rowList } from '../../platform/database/bulk-statement.ts';
import type { Environment, LaneKey } from '../domain/delivery.ts';

/** The columns of a lane's key. */
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

/** The columns of lane keys, for rows that are or contain a lane. */
export const laneColumns = <Row>(laneOfRow: (row: Row) => LaneKey) => ({
  merchant_id: column<Row>('text', (row) => laneOfRow(row).merchantId),
  environment: column<Row>('webhooks.environment', (row) => laneOfRow(row).environment),
  endpoint: column<Row>('text', (row) => laneOfRow(row).endpoint),
});

/** The parameters of a list of lane keys. */
export const laneList = rowList<LaneKey>(laneColumns<LaneKey>((lane) => lane));

/** The fields of a lane in the log. */
export const laneFields = ({ merchantId, environment, endpoint }: LaneKey) => ({
  merchant_id: merchantId,
  environment: environment.toLowerCase(),
  endpoint,
});

/** The merchant of a lane in its environment, which share a limit of slots. */
export const laneOwner = ({ merchantId, environment }: Pick<LaneKey, 'merchantId' | 'environment'>): string =>
  `${merchantId} ${environment}`;

/** A lane as the key of a Map. It is unambiguous because no part contains a space. */
export const laneText = ({ merchantId, environment, endpoint }: LaneKey): string =>
  `${merchantId} ${environment} ${endpoint}`;
