import { storedId } from '../../test/support/ids.ts';
import type { Stack } from '../../test/support/stack.ts';
import { publishedIn } from './event-streams.ts';
import { orderOf } from './load.ts';
import { steps } from './move-merchant.ts';
import type { Step } from './move-merchant.ts';
import { runMover } from './mover-process.ts';
import type { Gate } from './router.ts';
import type { Shards } from './shards.ts';
import { untilSettled } from './until-settled.ts';
import { checkEvents, checkOrders, checkWebhooks, checkWork } from './verdict.ts';
import type { Check } from './verdict.ts';

/** No request of these merchants runs during their move. */
const open: Gate = { hold: () => Promise.resolve(), release: () => undefined };
const ordersOfEach = 4;
/** After this step, a mover with the databases swapped is started too. It must refuse. */
const swapped: Step = 'copied';

interface Receiver {
  readonly url: string;
  readonly arrived: () => readonly string[];
  readonly repeats: () => readonly string[];
}

const post = async (stack: Stack, path: string, apiKey: string, body: object): Promise<number> => {
  const response = await fetch(`${stack.facades[0]?.sandbox}/api/v1/${path}`, {
    method: 'POST',
    headers: { apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
};

/** Moves a merchant for each step with a mover that is killed after it, and a second one that goes on. */
export async function checkCrashes(shards: Shards, receiver: Receiver): Promise<Check[]> {
  const moved: { readonly merchantId: string; readonly numbers: readonly string[] }[] = [];
  const checks: Check[] = [];
  for (const step of steps) {
    const { id, testKey } = await shards.source.createMerchant({ signsWebhooks: true });
    const numbers = Array.from(
      { length: ordersOfEach },
      (_, index) => `K-${step.replace(' ', '-')}-${index}`,
    );
    const pay = async (stack: Stack, number: string): Promise<number> => {
      const { amount, currency } = orderOf(number, receiver.url);
      const phone = `2519${String(20_000_000 + moved.length * 10 + numbers.indexOf(number))}`;
      return post(stack, 'direct?payment_option=walleta_ussd', testKey, {
        order_number: number,
        ...{ amount, currency, phone },
      });
    };
    for (const number of numbers)
      await post(shards.source, 'register', testKey, orderOf(number, receiver.url));
    await pay(shards.source, numbers[0] ?? '');
    const merchantId = storedId('mer', id);
    const ends = await killAndRepeat(shards, merchantId, step);
    const paid = await pay(shards.target, numbers[1] ?? '');
    const late = await post(shards.source, 'register', testKey, orderOf('K-LATE', receiver.url));
    moved.push({ merchantId, numbers });
    checks.push({
      name: `a mover that is killed after '${step}', and a second one`,
      found: `ended with ${ends.join(' and ')}; a payment in the target got ${paid}, an order in the source ${late}`,
      isGood: ends.join() === (step === swapped ? 'SIGKILL,1,0' : 'SIGKILL,0') && paid === 201 && late >= 500,
    });
  }
  await Promise.all([shards.source, shards.target].map(untilSettled));
  const published = await publishedIn(shards);
  for (const { merchantId, numbers } of moved)
    checks.push(
      ...[
        ...(await checkEvents(shards, merchantId, published)),
        ...(await checkWebhooks(shards, merchantId, receiver.arrived(), receiver.repeats())),
        await checkOrders(shards, merchantId, numbers),
        await checkWork(shards, merchantId),
      ].filter(({ isGood }) => !isGood),
    );
  return checks;
}

async function killAndRepeat(
  { source, target }: Shards,
  merchantId: string,
  step: Step,
): Promise<(number | string)[]> {
  const options = {
    sourceUrl: source.databaseUrl,
    targetUrl: target.databaseUrl,
    merchantId,
    masterKey: source.ground.masterKey,
  };
  const ignore = (): void => undefined;
  const back = { ...options, sourceUrl: options.targetUrl, targetUrl: options.sourceUrl };
  return [
    await runMover({ ...options, endAfter: step }, open, ignore),
    ...(step === swapped ? [await runMover(back, open, ignore)] : []),
    await runMover(options, open, ignore),
  ];
}
