import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type MerchantStanding,
  activateProduction,
  admitMerchant,
  beginStanding,
  resumeMerchant,
  suspendMerchant,
  updateMerchant,
} from '../../../src/core/domain/merchant-life-cycle.ts';

const start = Date.UTC(2026, 0, 31);
const at = (ms: number) => new Date(start + ms);
interface Fixture extends MerchantStanding {
  readonly name: string;
  readonly currencies: readonly string[];
  readonly largestAmounts: Readonly<Record<string, string>> | undefined;
  readonly updatedAt: Date;
}

const merchant: Fixture = Object.freeze({
  ...beginStanding(false),
  name: 'Suq',
  currencies: ['ETB', 'USD'],
  largestAmounts: { ETB: '10', USD: '5' },
  updatedAt: at(0),
});
const inProduction = { ...merchant, productionActivated: true };
const suspended = { ...merchant, status: 'SUSPENDED' as const };
const suspendedInProduction = { ...inProduction, status: 'SUSPENDED' as const };

describe('each state answers each command', () => {
  test.each([
    // standing, suspended, resumed, activated (- changes nothing), sandbox, production
    [merchant, suspended, '-', inProduction, 'ok', 'production_not_activated'],
    [inProduction, suspendedInProduction, '-', '-', 'ok', 'ok'],
    [suspended, '-', merchant, suspendedInProduction, 'suspended', 'suspended'],
    [suspendedInProduction, '-', inProduction, '-', 'suspended', 'suspended'],
  ])('%#', (given, afterSuspend, afterResume, afterActivate, sandbox, production) => {
    const commands = [suspendMerchant, resumeMerchant, activateProduction] as const;
    const expected = [afterSuspend, afterResume, afterActivate];
    for (const [index, command] of commands.entries()) {
      const next = command(given, at(9));
      const wanted = expected[index];
      if (typeof wanted === 'string') expect(next).toBe(given);
      else expect(next).toEqual({ ...wanted, updatedAt: at(9) });
    }
    const admitted = (['SANDBOX', 'PRODUCTION'] as const).map((environment) => {
      const result = admitMerchant(given, environment);
      return result.ok ? 'ok' : result.error;
    });
    expect(admitted).toEqual([sandbox, production]);
  });
});

describe('an update', () => {
  test.each([
    ['the same name', { name: 'Suq' }],
    ['an equal list', { currencies: ['ETB', 'USD'] }],
    ['an equal record in another order', { largestAmounts: { USD: '5', ETB: '10' } }],
  ])('that sets %s changes nothing', (_name, fields) => {
    const result = updateMerchant(merchant, fields, undefined, at(9));

    expect(result.ok && result.value).toBe(merchant);
  });

  test.each([
    ['another name', { name: 'Gebeya' }],
    ['a list in another order', { currencies: ['USD', 'ETB'] }],
    ['a shorter list', { currencies: ['ETB'] }],
    ['another amount', { largestAmounts: { ETB: '11', USD: '5' } }],
    ['another currency of an amount', { largestAmounts: { ETB: '10', EUR: '5' } }],
    ['no amounts', { largestAmounts: {} }],
    ['no record', { largestAmounts: undefined }],
  ])('that sets %s creates a new version, and so does the way back', (_name, fields) => {
    const value = { ...merchant, ...fields, updatedAt: at(9) };
    const { name, currencies, largestAmounts } = merchant;

    expect(updateMerchant(merchant, fields, undefined, at(9))).toEqual({ ok: true, value });
    expect(updateMerchant<Fixture>(value, { name, currencies, largestAmounts }, undefined, at(10))).toEqual({
      ok: true,
      value: { ...merchant, updatedAt: at(10) },
    });
  });

  test('of another version than the merchant’s is rejected, even when it would change nothing', () => {
    const expecting = (expected: Date) => updateMerchant(merchant, { name: 'Suq' }, expected, at(9));

    expect(expecting(at(1))).toEqual({ ok: false, error: 'changed_meanwhile' });
    expect(expecting(at(0))).toEqual({ ok: true, value: merchant });
  });
});

test('each change creates a later version, whatever the clock says, and production is never revoked', () => {
  const commands = fc.array(
    fc.record({
      now: fc.integer({ min: 0, max: 3 }),
      command: fc.constantFrom(suspendMerchant, resumeMerchant, activateProduction),
    }),
  );
  fc.assert(
    fc.property(commands, (sequence) => {
      let current = merchant;
      for (const { now, command } of sequence) {
        const next = Object.freeze(command(current, at(now)));
        if (next !== current && next.updatedAt <= current.updatedAt) throw new Error('no later version');
        if (current.productionActivated && !next.productionActivated) throw new Error('taken back');
        current = next;
      }
    }),
    { numRuns: 200 },
  );
});
