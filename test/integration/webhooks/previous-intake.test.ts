import { expect, test } from '@jest/globals';
import type { Database } from '../../../src/webhooks/database/database.ts';
import type { DeliveryWriter } from '../../../src/webhooks/intake/write-deliveries.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { deskOfEachTest, eventIdsOf, numbered } from './intake-under-test.ts';

const open = deskOfEachTest();

/** How the version before webhook endpoints wrote deliveries: one for each event, by an index that it no longer finds. */
const writeAsBefore =
  ({ pool }: Database): DeliveryWriter['write'] =>
  async (owed, move, client) => {
    await (client ?? pool).query(
      `with inserted as (
         insert into webhooks.deliveries (
           merchant_id, id, environment, endpoint, event_id, event_type, order_id, order_number, sequence, url, body,
           state, due_at, round_started_at, created_at
         )
         select merchant_id, event_id, 'SANDBOX', 'https://shop.example', event_id, 'order.expired', '', '', 1, '', '',
           'PENDING', now(), now(), now()
         from unnest($1::text[], $2::text[]) as input (merchant_id, event_id)
         on conflict (merchant_id, event_id) do nothing
         returning event_id
       ), moved as (
         insert into webhooks.event_readers (reader, cursor, read_at)
         select $3::text, $4::text, now() where $3::text is not null
         on conflict (reader) do update set cursor = excluded.cursor, read_at = excluded.read_at
       )
       select event_id from inserted`,
      [
        owed.map(({ event }) => event.order?.merchantId),
        owed.map(({ eventId }) => eventId),
        move?.reader ?? null,
        move?.cursor ?? null,
      ],
    );
    return { created: owed, unclaimed: owed.length, claimed: { lanes: [], now: undefined } };
  };

test('an intake of the version before webhook endpoints writes nothing after the migration, and one of this version takes over', async () => {
  const { stack, expireOrders, startIntake, deliveries, toldEvents, untilAllTakenIn } = await open();
  const { id: merchantId } = await stack.createMerchant();
  const failuresOf = ({ log }: typeof previous) =>
    log.filter(({ msg }) => String(msg).startsWith('ingesting events failed'));
  const previous = startIntake({ write: writeAsBefore });
  await expireOrders(merchantId, numbered('A', 10));
  await waitUntil('the previous version fails', () => failuresOf(previous).length > 0);
  expect(JSON.stringify(failuresOf(previous)[0])).toContain('ON CONFLICT');
  expect(await deliveries()).toEqual([]);

  const current = startIntake();
  await expireOrders(merchantId, numbered('B', 10));
  const rows = await untilAllTakenIn(20);

  expect(current.isIngesting()).toBe(true);
  expect(eventIdsOf(rows)).toEqual([...(await toldEvents())].sort());
});
