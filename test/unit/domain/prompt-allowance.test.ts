import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type {
  PastPrompt,
  PromptRequester,
  PromptDecision,
  PromptKind,
} from '../../../src/core/domain/prompt-allowance.ts';
import {
  decidePrompt,
  maxPrompts,
  maxUnconfirmedPrompts,
  promptLimits,
  promptWindowMs,
  statedWaitMs,
} from '../../../src/core/domain/prompt-allowance.ts';
import { forAll } from '../../support/for-all.ts';

const share = 5;
const promptMs = 180_000;
const direct = (merchantId: string, hasPaid = false): PromptRequester => ({
  merchantId,
  network: null,
  hasPaid,
});
const page = (network: string, merchantId = 'shop', hasPaid = false): PromptRequester => ({
  ...{ merchantId, network, hasPaid },
});
const prompt = (
  { merchantId, network }: PromptRequester,
  kind: PromptKind,
  agoSeconds: number,
  openSeconds = 0,
): PastPrompt => ({
  ...{ merchantId, network, kind, wasConfirmed: false },
  ...{ agoMs: agoSeconds * 1000, openMs: openSeconds * 1000 },
});
/** The prompt of a stranger that is still open. */
const open = (agoSeconds: number) => prompt(bad, 'COMMON', agoSeconds, promptMs / 1000 - agoSeconds);
const times = (count: number, one: PastPrompt): PastPrompt[] => Array.from({ length: count }, () => one);
const allowed = (kind: PromptKind): PromptDecision => ({ type: 'allowed', kind });
const refused = (reason: 'PHONE_BUSY' | 'PHONE_LIMIT', seconds: number): PromptDecision => ({
  ...{ type: 'refused', reason, waitMs: seconds * 1000 },
});
const busy = (seconds: number) => refused('PHONE_BUSY', seconds);
const limit = (seconds: number) => refused('PHONE_LIMIT', seconds);

const [bad, other, known, stranger] = [direct('bad'), direct('other'), direct('mine', true), direct('mine')];
const knownPage = page('home', 'mine', true);
const full = times(share, prompt(bad, 'COMMON', 400));
const newMerchants = ['a', 'b', 'c'].map((id) => prompt(direct(id), 'NEW_MERCHANT', 300));
const newNetworks = ['n1', 'n2'].map((id) => prompt(page(id), 'NEW_NETWORK', 300));
const ofHome = prompt(page('home', 'x'), 'COMMON', 300);
const confirmed = { ...prompt(bad, 'COMMON', 300), wasConfirmed: true };

describe('a phone', () => {
  test.each<[string, PromptRequester, readonly PastPrompt[], PromptDecision]>([
    ['allows the prompt of a stranger if it had none', stranger, [], allowed('COMMON')],
    [
      'allows a prompt although it had many under a clock that was a day ahead',
      stranger,
      times(maxPrompts(share), prompt(stranger, 'COMMON', -86_400, 86_500)),
      allowed('COMMON'),
    ],
    ['allows the prompt of a page if it had none', page('n1'), [], allowed('COMMON')],
    ['allows a prompt of the kind OWN to a merchant that it has paid', known, [], allowed('OWN')],
    ['allows a prompt of the kind OWN_PAGE to a page of such a merchant', knownPage, [], allowed('OWN_PAGE')],
    ['has one prompt of a merchant at a time', stranger, [prompt(stranger, 'COMMON', 30, 150)], busy(150)],
    ['has one prompt of its own merchant at a time', known, [prompt(known, 'OWN', 30, 150)], busy(150)],
    ['allows the next prompt of a merchant', stranger, [prompt(stranger, 'COMMON', 1)], allowed('COMMON')],
    ['blocks a new merchant for 25 s after the prompt of a stranger', stranger, [open(5)], busy(20)],
    ['blocks a new network for 25 s after the prompt of a stranger', page('n1'), [open(5)], busy(20)],
    ['blocks its own merchant for 15 s after the prompt of a stranger', known, [open(5)], busy(10)],
    ['allows its own merchant after 15 s, while that prompt is open', known, [open(15)], allowed('OWN')],
    [
      'allows a new merchant when that prompt has ended',
      stranger,
      [prompt(bad, 'COMMON', 1)],
      allowed('NEW_MERCHANT'),
    ],
    [
      'blocks a stranger after another',
      bad,
      [prompt(bad, 'COMMON', 90), prompt(other, 'COMMON', 1)],
      limit(59),
    ],
    [
      'names the open prompt of a stranger, although it waits for another one longer',
      bad,
      [prompt(bad, 'COMMON', 90, 30), prompt(other, 'COMMON', 1)],
      busy(59),
    ],
    ['blocks a merchant that has reached the limit of the kind COMMON', bad, full, limit(200)],
    ['allows a new merchant at the limit of the kind COMMON', other, full, allowed('NEW_MERCHANT')],
    [
      'allows a new merchant of which a page has prompted',
      other,
      [...full, prompt(page('n1', 'other'), 'NEW_NETWORK', 300)],
      allowed('NEW_MERCHANT'),
    ],
    ['allows a new network at the limit of the kind COMMON', page('n1'), full, allowed('NEW_NETWORK')],
    ['allows at most three prompts of new merchants', other, [...full, ...newMerchants], limit(200)],
    ['allows at most two prompts of new networks', page('n9'), [...full, ...newNetworks], limit(200)],
    ['allows no prompt of its own to a network that has prompted', knownPage, [ofHome], allowed('COMMON')],
    [
      'blocks a network that has prompted',
      page('n1'),
      [...full, prompt(page('n1', 'x'), 'NEW_NETWORK', 300)],
      limit(200),
    ],
    [
      'allows its own merchants at all limits of strangers',
      known,
      [...full, ...newMerchants],
      allowed('OWN'),
    ],
    [
      'does not count confirmed prompts toward the limit of a kind',
      bad,
      times(15, confirmed),
      allowed('COMMON'),
    ],
    [
      'does not wait after a prompt of a stranger that the payer confirmed',
      stranger,
      [{ ...prompt(bad, 'COMMON', 10), wasConfirmed: true }],
      allowed('COMMON'),
    ],
    ['limits all prompts together, including confirmed ones', bad, times(34, confirmed), limit(300)],
    [
      'blocks a page for a minute after another network’s page of the same merchant',
      page('n1'),
      [prompt(page('n2'), 'COMMON', 10)],
      limit(50),
    ],
    [
      'allows the page of a new network when the direct prompt of a stranger has ended',
      page('n1'),
      [prompt(bad, 'COMMON', 10)],
      allowed('NEW_NETWORK'),
    ],
    [
      'names the limit, not the open prompt, to a merchant that has reached its limit',
      bad,
      [...full.slice(1), prompt(bad, 'COMMON', 100, 80)],
      limit(200),
    ],
  ])('%s', (_name, requester, past, decision) => {
    expect(decidePrompt(requester, past, share)).toEqual(decision);
  });
});

forAll([fc.integer({ min: 1, max: promptWindowMs }), fc.double({ min: 0, max: 0.999, noNaN: true })])(
  'the stated wait is never too short, at most one step too long, and reveals no exact time',
  (waitMs, chance) => {
    const step = waitMs <= 60_000 ? 5_000 : 60_000;
    const told = statedWaitMs(waitMs, chance);
    expect(told).toBeGreaterThanOrEqual(waitMs);
    expect(told).toBeLessThan(waitMs + 2 * step);
    expect(statedWaitMs(waitMs, 0) % step).toBe(0);
    expect(statedWaitMs(waitMs, 0.5) - statedWaitMs(waitMs, 0)).toBe(step / 2);
  },
);

/** One phone under prompts at any time, with a clock of its own. */
class Phone {
  nowMs = 0;
  readonly prompts: {
    requester: PromptRequester;
    kind: PromptKind;
    atMs: number;
    endMs: number;
    wasConfirmed: boolean;
  }[] = [];

  ask(requester: PromptRequester, answer: 'ignored' | 'declined' | 'confirmed'): PromptDecision {
    const recent = this.prompts.filter(({ atMs }) => atMs > this.nowMs - promptWindowMs);
    const decision = decidePrompt(
      requester,
      recent.map(({ requester: { merchantId, network }, kind, atMs, endMs, wasConfirmed }) => ({
        merchantId,
        network,
        kind,
        agoMs: this.nowMs - atMs,
        openMs: Math.max(0, endMs - this.nowMs),
        wasConfirmed,
      })),
      share,
    );
    if (decision.type === 'allowed')
      this.prompts.push({
        requester,
        kind: decision.kind,
        atMs: this.nowMs,
        endMs: this.nowMs + (answer === 'ignored' ? promptMs : 0),
        wasConfirmed: answer === 'confirmed',
      });
    return decision;
  }
}

describe('whatever requesters do', () => {
  const requesters = fc.record<PromptRequester>({
    merchantId: fc.constantFrom('m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7'),
    network: fc.constantFrom(null, null, 'n1', 'n2', 'n3', 'n4'),
    hasPaid: fc.boolean(),
  });
  const asks = fc.array(
    fc.record({
      requester: requesters,
      afterMs: fc.constantFrom(0, 1_000, 5_000, 15_000, 25_000, 60_000),
      answer: fc.constantFrom('ignored' as const, 'declined' as const, 'confirmed' as const),
    }),
    { minLength: 100, maxLength: 400, size: 'max' },
  );

  test('a phone gets at most 17 unconfirmed prompts in ten minutes, 10 of them from strangers, and 34 in all', () => {
    expect([maxUnconfirmedPrompts(share), maxPrompts(share)]).toEqual([17, 34]);
    fc.assert(
      fc.property(asks, (sequence) => {
        const phone = new Phone();
        for (const { requester, afterMs, answer } of sequence) {
          phone.nowMs += afterMs;
          phone.ask(requester, answer);
        }
        for (const { atMs: from } of phone.prompts) {
          const inWindow = phone.prompts.filter(({ atMs }) => atMs >= from && atMs < from + promptWindowMs);
          const unconfirmed = inWindow.filter(({ wasConfirmed }) => !wasConfirmed);
          expect(inWindow.length).toBeLessThanOrEqual(34);
          expect(unconfirmed.length).toBeLessThanOrEqual(17);
          expect(unconfirmed.filter(({ kind }) => !kind.startsWith('OWN')).length).toBeLessThanOrEqual(10);
          for (const [kind, limit] of Object.entries(promptLimits(share)))
            expect(unconfirmed.filter((one) => one.kind === kind).length).toBeLessThanOrEqual(limit);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('a phone can reach each of these limits', () => {
    const phone = new Phone();
    for (; phone.nowMs < promptWindowMs; phone.nowMs += 1_000)
      for (const requester of [
        known,
        page('n1', 'mine', true),
        page('n2', 'mine', true),
        bad,
        other,
        ...['c', 'd', 'e'].map((id) => direct(id)),
        page('n3'),
        page('n4'),
      ])
        phone.ask(requester, 'declined');

    expect(phone.prompts.filter(({ atMs }) => atMs < promptWindowMs)).toHaveLength(17);
  });
});

describe('in a contest, an attacker requests a prompt every second, and always before the victim', () => {
  /** The seconds until the victim's merchant gets its prompt, when it repeats its request after each stated wait. */
  function secondsUntilThrough(
    attackers: readonly PromptRequester[],
    answer: 'ignored' | 'declined',
    victim: PromptRequester,
    startsAtMs: number,
    chance: number,
  ): number {
    const phone = new Phone();
    let nextTryMs = startsAtMs;
    for (; phone.nowMs < startsAtMs + promptWindowMs; phone.nowMs += 1_000) {
      for (const attacker of attackers) phone.ask(attacker, answer);
      if (phone.nowMs < nextTryMs) continue;
      const decision = phone.ask(victim, 'confirmed');
      if (decision.type === 'allowed') return (phone.nowMs - startsAtMs) / 1000;
      nextTryMs = phone.nowMs + statedWaitMs(decision.waitMs, chance);
    }
    return Infinity;
  }
  const pages = (count: number) =>
    Array.from({ length: count }, (_, index) => page(`n${index}`, `shop${index}`));
  const merchants = (count: number) => Array.from({ length: count }, (_, index) => direct(`bad${index}`));
  const worst = (attackers: readonly PromptRequester[], victim: PromptRequester): number =>
    Math.max(
      ...(['ignored', 'declined'] as const).flatMap((answer) =>
        [0, 7, 31, 64, 125].flatMap((seconds) =>
          [0, 0.5, 0.999].map((chance) =>
            secondsUntilThrough(attackers, answer, victim, seconds * 1000, chance),
          ),
        ),
      ),
    );

  test.each([
    ['a merchant that it has paid', known, 60, 'any number of merchants and pages', pages(9), merchants(9)],
    ['a page of such a merchant', knownPage, 60, 'any number at other merchants', pages(9), merchants(9)],
    ['a merchant that it has never paid', stranger, 60, 'one merchant and any pages', pages(9), merchants(1)],
    [
      'a page of such a merchant',
      page('home', 'mine'),
      180,
      'one merchant and one page',
      pages(1),
      merchants(1),
    ],
  ])(
    'a phone is prompted by %s (%j) within %i s, against %s',
    (_victim, victim, seconds, _against, ...attackers) => {
      expect(worst(attackers.flat(), victim)).toBeLessThanOrEqual(seconds);
    },
  );

  test('four merchants of the attacker block only merchants that the phone has never paid', () => {
    expect(worst(merchants(9), stranger)).toBeGreaterThan(60);
    expect(worst(merchants(9), known)).toBeLessThanOrEqual(60);
  });
});
