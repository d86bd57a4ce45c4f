import { describe, expect, test } from '@jest/globals';
import { scaleDelays, standardDelaysMs } from '../../../src/wallet-simulator/delays.ts';
import { outcomeOfNumber } from '../../../src/wallet-simulator/gsma/outcomes.ts';

const lastDigits = Array.from({ length: 29 }, (_, number) => String(number).padStart(2, '0'));

describe('the numbers that choose an outcome', () => {
  test('are 00 to 28 in both wallets, each with its own outcome', () => {
    const summaries = (prefix: string, wallet: 'walleta' | 'walletb') =>
      lastDigits.map((digits) => outcomeOfNumber(wallet, `${prefix}${digits}`)?.summary);

    expect(new Set(summaries('2519000000', 'walleta')).size).toBe(29);
    expect(summaries('2517000000', 'walletb')).toEqual(summaries('2519000000', 'walleta'));
  });

  test.each(['251900000029', '251900000099', '25190000000', '2519000000000', '251700000000', '251900000100'])(
    '%s has no outcome at walleta',
    (msisdn) => {
      expect(outcomeOfNumber('walleta', msisdn)).toBeUndefined();
    },
  );
});

test('the payer answers before the prompt expires, and a late success comes after the platform stopped waiting', () => {
  const platformPromptMs = 180_000;

  expect(standardDelaysMs.payerAnswer).toBeLessThan(standardDelaysMs.promptExpiry);
  expect(standardDelaysMs.promptExpiry).toBeLessThan(platformPromptMs);
  expect(standardDelaysMs.lateSuccess).toBeGreaterThan(platformPromptMs);
});

test('all delays are scaled by the same factor', () => {
  expect(scaleDelays(standardDelaysMs, 0.5)).toEqual({
    payerAnswer: 500,
    promptExpiry: 60_000,
    lateSuccess: 120_000,
    slowAnswer: 15_000,
    reversal: 500,
    hang: 60_000,
  });
});
