import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { deskOfEachTest, numbered } from './intake-under-test.ts';
import type { IntakeDesk, RunningIntake } from './intake-under-test.ts';

// Orders end while the broker is killed, loses its store or is unavailable, and while sessions are ended and intakes
// start and stop. The seed decides the steps. Their sequence depends on the machine.

const seed = Number(process.env['GATEHOUSE_TEST_SEED'] ?? randomInt(2 ** 31));
const steps = 25;
const ordersAStep = 8;

const open = deskOfEachTest();

const faults = [
  'kill the broker',
  'lose its store',
  'end the session',
  'replace an intake',
  'nothing',
] as const;
type Fault = (typeof faults)[number];

async function strike(fault: Fault, desk: IntakeDesk, intakes: RunningIntake[]): Promise<void> {
  if (fault === 'kill the broker') desk.broker.kill();
  if (fault === 'lose its store') {
    await desk.broker.stop();
    await desk.broker.wipe();
    await desk.broker.start();
  }
  if (fault === 'end the session') await desk.endIntakeSession();
  if (fault === 'replace an intake') {
    await intakes.shift()?.stop();
    intakes.push(desk.startIntake());
  }
}

test(`each event gets one delivery, whatever happens in between (GATEHOUSE_TEST_SEED=${seed})`, async () => {
  const desk = await open({ cores: 2 });
  const intakes = [desk.startIntake(), desk.startIntake()];
  const [plan = []] = fc.sample(
    fc.array(fc.constantFrom(...faults), { minLength: steps, maxLength: steps }),
    { seed, numRuns: 1 },
  );

  for (const [step, fault] of plan.entries()) {
    await Promise.all([desk.expireOrders(numbered(`S-${step}`, ordersAStep)), strike(fault, desk, intakes)]);
  }

  const rows = await desk.expectEachTakenInOnce(steps * ordersAStep);
  expect(rows).toHaveLength(steps * ordersAStep);
});
