import { mock } from 'node:test';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import { createUnknownSecretLimits } from '../../../src/dashboard/session/limit-unknown-secrets.ts';

beforeEach(() => mock.timers.enable({ apis: ['Date'] }));
afterEach(() => mock.timers.reset());

test('a site that is above its limit waits for a minute at most, even after the clock was set back', async () => {
  const limits = createUnknownSecretLimits();
  const request = { ip: '192.0.2.1' } as FastifyRequest;
  const session = { kind: 'session', secret: 'made up' } as const;
  mock.timers.setTime(86_400_000);
  for (let count = 0; count < 121; count += 1) await limits.record(request, session, false);

  mock.timers.setTime(0);

  const refusals = [];
  for (let asked = 0; asked < 11; asked += 1) refusals.push(await limits.refusalOf(request, session));
  expect(refusals.slice(0, 10)).not.toContainEqual(expect.anything());
  expect(refusals[10]?.retryAfterSeconds).toBe(60);
});
