import type pg from 'pg';
import type { OrderEvent } from '../../src/gen/gatehouse/v1/order_pb.js';
import type { GatehouseProcess, LogLine } from '../support/gatehouse-process.ts';
import type { Shop } from './webhook-shops.ts';

/** The events that should have been sent by now, and the process that should have sent them. */
export interface Standstill {
  readonly database: pg.Pool;
  readonly shops: readonly Shop[];
  readonly events: readonly OrderEvent[];
  readonly processes: readonly GatehouseProcess[];
}

const shownRows = 20;
const shownLines = 25;

/** The pending work when not everything is delivered in time, with enough facts to find the reason from a report. */
export async function describeStandstill({
  database,
  shops,
  events,
  processes,
}: Standstill): Promise<string> {
  const merchantIds = shops.map(({ merchantId }) => merchantId);
  const rowsOf = async (select: string): Promise<string[]> => {
    const { rows } = await database.query<{ line: string }>(select, [merchantIds]);
    return rows.map(({ line }) => line);
  };
  const known = new Set(
    await rowsOf(`select event_id as line from webhooks.deliveries where merchant_id = any ($1)`),
  );
  const missing = events.map(({ eventId }) => eventId).filter((eventId) => !known.has(eventId));
  return [
    part('the time', await rowsOf(`select now()::text as line where $1::text[] is not null`)),
    part('events without a delivery', missing),
    part(
      'deliveries that are not delivered',
      await rowsOf(
        `select to_jsonb(d) - '{body,url}'::text[] as line from webhooks.deliveries d
         where merchant_id = any ($1) and state <> 'DELIVERED' order by due_at`,
      ),
    ),
    part(
      'lanes',
      await rowsOf(`select to_jsonb(l) as line from webhooks.lanes l where merchant_id = any ($1)`),
    ),
    part(
      'readers of events',
      await rowsOf(`select to_jsonb(r) as line from webhooks.event_readers r where $1::text[] is not null`),
    ),
    part(
      'sessions',
      await rowsOf(
        `select to_jsonb(a) - '{datid,usesysid,backend_xid,client_hostname}'::text[] as line from pg_stat_activity a
         where $1::text[] is not null and datname = current_database() and state <> 'idle'`,
      ),
    ),
    ...processes.map(({ pid, log }) => part(`last lines of process ${pid}`, lastOf(log), shownLines)),
  ].join('\n');
}

const lastOf = (log: readonly LogLine[]): string[] =>
  log
    .filter(({ msg }) => msg !== 'webhook attempt' && msg !== 'rpc')
    .slice(-shownLines)
    .map((line) => `${String(line['time'])} ${line.msg} ${messageOf(line['err'])}`);

const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : '';

function part(title: string, lines: readonly unknown[], shown = shownRows): string {
  const more = lines.length > shown ? [`… of ${lines.length}`] : [];
  const texts = lines.slice(0, shown).map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  return [`${title}: ${lines.length === 0 ? 'none' : ''}`, ...texts, ...more].join('\n  ');
}
