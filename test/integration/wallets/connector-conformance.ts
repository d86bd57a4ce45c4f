import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { failureReasons } from '../../../src/wallets/connector/failure-reason.ts';
import type { FailureReason } from '../../../src/wallets/connector/failure-reason.ts';
import type { RawExchange } from '../../../src/wallets/connector/raw-exchange.ts';
import { StatementError } from '../../../src/wallets/connector/statement-error.ts';
import { sameDecimal } from '../../../src/contract/decimal-text.ts';
import type {
  Acknowledgement,
  NextAction,
  PaymentOutcome,
  ReversalOutcome,
} from '../../../src/wallets/connector/outcomes.ts';
import type {
  PaymentRequest,
  StatementPage,
  StatementPeriod,
  WalletConnector,
} from '../../../src/wallets/connector/wallet-connector.ts';
import { callbackWith, paymentQuery, reversalQuery } from '../../support/wallet-queries.ts';
import { shared } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { faults } from './faults.ts';
import type { FaultySubject, Operation } from './faulty-subject.ts';
import { json } from './scripted-wallet.ts';

/** The result of every call, in one form. */
interface Verdict {
  readonly kind: string;
  readonly why?: string;
  readonly exchanges: readonly RawExchange[];
}

/** Makes one call, and returns its result. */
async function callOperation(
  { connector, payment, references }: Pick<FaultySubject, 'connector' | 'payment' | 'references'>,
  operation: Operation,
  signal: AbortSignal = new AbortController().signal,
): Promise<Verdict> {
  const options = { signal };
  const { attemptId, amount, currency } = payment;
  const reversalId = '018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01';
  const reversal = { reversalId, attemptId, providerTransactionId: references.transaction };
  switch (operation) {
    case 'initiate':
      return verdict(await connector.initiate(payment, options));
    case 'query': {
      const query = paymentQuery({ attemptId, providerReference: references.payment });
      return verdict(await connector.query(query, options));
    }
    case 'recover':
      return verdict(await connector.recover(attemptId, options));
    case 'reverse': {
      const { requestedAt, callbackToken } = payment;
      const more = { amount, currency, description: 'given back', requestedAt, callbackToken };
      return verdict(await connector.reverse({ ...reversal, ...more }, options));
    }
    case 'queryReversal': {
      const query = reversalQuery({ ...reversal, providerReference: references.reversal });
      return verdict(await connector.queryReversal(query, options));
    }
    case 'statement':
      return readWholeStatement(connector, signal);
    case 'health':
      return verdict(await connector.health(options));
  }
}

const verdict = ({
  result: { kind, why },
  exchanges,
}: {
  readonly result: Pick<Verdict, 'kind' | 'why'>;
  readonly exchanges: readonly RawExchange[];
}): Verdict => ({ kind, ...(why === undefined ? {} : { why }), exchanges });

/** All pages of a statement. */
export async function readStatement(
  connector: WalletConnector,
  period: StatementPeriod,
): Promise<readonly StatementPage[]> {
  const pages: StatementPage[] = [];
  const { signal } = new AbortController();
  for await (const page of connector.statement(period, { signal })) pages.push(page);
  return pages;
}

async function readWholeStatement(connector: WalletConnector, signal: AbortSignal): Promise<Verdict> {
  const period = { from: new Date('2026-01-01T00:00:00Z'), to: new Date('2026-01-02T00:00:00Z') };
  const exchanges: RawExchange[] = [];
  try {
    for await (const page of connector.statement(period, { signal })) exchanges.push(...page.exchanges);
    return { kind: 'read', exchanges };
  } catch (error) {
    if (!(error instanceof StatementError)) throw error;
    return { kind: 'unknown', why: error.reason.why, exchanges: [...exchanges, ...error.exchanges] };
  }
}

/** The results that decide nothing. A wallet without a report about its health may not have understood the query. */
const inconclusive = (operation: Operation): readonly string[] =>
  operation === 'health' ? ['unavailable', 'unreported'] : ['unknown'];

/**
 * The promises of every connector, whatever its wallet does. `supported` are the calls of this wallet. `start`
 * returns a new connector and a server, which is scripted to give the good answer everywhere. `emptyAnswers` are the
 * calls whose good answer has no body.
 */
export function describeFaultTolerance(
  name: string,
  supported: readonly Operation[],
  start: () => Promise<FaultySubject>,
  emptyAnswers: readonly Operation[] = [],
): void {
  describe(`${name}, when the wallet misbehaves`, () => {
    let subject: FaultySubject | undefined;
    const begin = async (): Promise<FaultySubject> => (subject = await start());

    afterEach(async () => {
      await subject?.close();
      subject = undefined;
    });

    describe.each(supported)('%s', (operation) => {
      const subjectOfAll = shared(start);

      test('is understood when the wallet answers correctly, and the exchange is kept', async () => {
        const started = await begin();
        const { route, good } = started.routes[operation];

        const { kind, exchanges } = await callOperation(started, operation);

        expect(['unknown', 'unavailable']).not.toContain(kind);
        const kept = exchanges.filter(({ method, url }) => route.test(`${method} ${new URL(url).pathname}`));
        expect(kept).toHaveLength(1);
        expect(kept[0]).toMatchObject({
          status: good.status,
          responseBody: expect.stringMatching(good.body === undefined ? /^$/ : /./),
        });
        expectSafeToKeep(started, exchanges);
      });

      const possible = faults.filter(
        ({ needsBody }) => !(needsBody === true && emptyAnswers.includes(operation)),
      );

      test.each(possible)('decides nothing and is sent once: $name', async ({ behave, endless }) => {
        // A health check may fetch a token, and a later caller would wait for it too.
        const subjectOfOne = operation === 'health' ? await begin() : subjectOfAll;
        const { wallet, routes } = subjectOfOne;
        const { route, good } = routes[operation];
        const before = wallet.requestsTo(route).length;
        wallet.on(route, behave(good));
        const controller = new AbortController();
        if (endless === true) void wallet.nextRequest(route).then(() => controller.abort());

        const { kind, exchanges } = await callOperation(subjectOfOne, operation, controller.signal);
        wallet.on(route, json(good.status, good.body));

        expect(inconclusive(operation)).toContain(kind);
        expect(wallet.requestsTo(route)).toHaveLength(before + 1);
        expect(wallet.requestsTo(/.*\/elsewhere/)).toEqual([]);
        expectSafeToKeep(subjectOfOne, exchanges);
      });

      test('is not sent when the caller has aborted before', async () => {
        const started = await begin();

        const { kind, why } = await callOperation(started, operation, AbortSignal.abort());

        expect([kind, why ?? '']).not.toContain('completed');
        expect(['not_sent', 'unknown', 'unavailable']).toContain(kind);
        expect(started.wallet.requestsTo(started.routes[operation].route)).toEqual([]);
      });

      test('is not sent when nothing listens at the address', async () => {
        const started = await begin();
        await started.wallet.close();

        const { kind } = await callOperation(started, operation);

        expect(
          operation === 'initiate' || operation === 'reverse' ? ['not_sent'] : inconclusive(operation),
        ).toContain(kind);
      });
    });

    test.each(supported.filter((operation) => operation === 'initiate' || operation === 'reverse'))(
      '%s succeeds although the wallet closes each connection at its second request',
      async (operation) => {
        const started = await begin();
        const { route, good } = started.routes[operation];
        const used = new Set<Socket>();
        started.wallet.on(route, (reply) => {
          const isSecond = used.has(reply.socket);
          used.add(reply.socket);
          if (isSecond) reply.socket.destroy();
          else json(good.status, good.body)(reply);
        });

        const kinds: string[] = [];
        // One more than the subjects have connections, so a client that kept them would use one again.
        for (let call = 0; call < 9; call += 1) kinds.push((await callOperation(started, operation)).kind);

        expect(kinds).not.toContain('unknown');
      },
    );

    test('calls in progress end when the connector is closed', async () => {
      const started = await begin();
      const { route } = started.routes.initiate;
      started.wallet.on(route, () => {});
      const arrived = started.wallet.nextRequest(route);
      const call = callOperation(started, 'initiate');
      await arrived;

      await started.connector.close();

      expect((await call).kind).toBe('unknown');
    });

    test.each([
      ['nothing', '', true],
      ['a web page', '<html></html>', true],
      ['half an object', '{"transactionStatus":"compl', true],
      [
        'a forged success',
        '{"status":"completed","transactionStatus":"completed","amount":"1","currency":"ETB"}',
        false,
      ],
      ['null', 'null', false],
      ['brackets without end', '['.repeat(100_000), true],
      ['binary', '\u0000\uFFFF\u0001', true],
    ])('a callback of %s is a reason to query and nothing more', async (_what, body, isBroken) => {
      const { connector } = await begin();

      const { callbackMethod: method } = connector.capabilities;
      const hint = connector.parseCallback(callbackWith(body, { method }));

      const broken = { announced: 'unreadable', exchange: { problem: expect.any(String) } };
      expect(hint).toMatchObject({ queryNow: true, ...(isBroken && broken) });
      expect(hint).not.toHaveProperty('result');
      expect(hint.exchange.purpose).toBe('callback');
    });
  });
}

function expectSafeToKeep({ secrets, payment }: FaultySubject, exchanges: readonly RawExchange[]): void {
  const text = JSON.stringify(exchanges);
  for (const secret of [...secrets, payment.callbackToken]) expect(text).not.toContain(secret);
  expect(text).not.toContain(payment.payerPhone.replace('+', ''));
  for (const { requestBody, responseBody } of exchanges) {
    expect(Math.max(requestBody.length, responseBody.length)).toBeLessThanOrEqual(16 * 1024);
  }
}

/** A callback that a wallet sent to our URL. */
export interface SeenCallback {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly raw: string;
}

/** A connector in front of a wallet that works: a simulator, or a provider's sandbox. */
export interface RealSubject {
  readonly connector: WalletConnector;
  /** Does what the payer must do after the acknowledgement, for wallets with a next action. */
  readonly act?: (payment: PaymentRequest, action: NextAction | undefined) => Promise<void>;
  /** The callbacks about a payment so far. */
  readonly callbacksOf: (payment: PaymentRequest) => readonly SeenCallback[];
  /** Invalidates all access tokens at the wallet. */
  readonly expireTokens: () => Promise<void>;
  /** A new payment of a payer with this outcome. */
  readonly paymentThat: (ends: Ending) => PaymentRequest;
  /** The amounts that the wallet charged for that payment. */
  readonly chargesOf: (payment: PaymentRequest) => Promise<readonly string[]>;
  /** The amounts that the wallet returned of that payment. */
  readonly reversedOf: (payment: PaymentRequest) => Promise<string>;
  /** Whether the wallet has no query for a reversal, so that the same request is sent again instead. */
  readonly repeatsReversals?: true;
  /** The notes of the callbacks about a payment or a reversal, for wallets whose callbacks a query needs. */
  readonly notesOf?: (requestId: string) => readonly string[];
  readonly newId: () => string;
  readonly close: () => Promise<void>;
}

/** The outcomes of a payment, and the last two digits of its payer, which are the same at every simulator. */
export const payerDigits = {
  ...{
    completed: '00',
    sent_twice: '00',
    insufficient_funds: '01',
    wrong_pin: '02',
    declined_by_payer: '03',
  },
  ...{
    expired: '04',
    payer_not_found: '05',
    limit_exceeded: '06',
    account_state: '07',
    rate_limited_once: '08',
  },
  ...{ unrecognised_status: '09', no_callback: '10', callback_thrice: '11', late_success: '13' },
  ...{ lost_acknowledgement: '14', nothing_created: '15', unavailable: '16', error_yet_paid: '17' },
  ...{ forged_callback: '18', another_amount: '19', still_pending: '20', failure_callback: '21' },
  ...{ reversal_refused: '22', reversal_unknown: '23', reversal_unknown_then_not: '28' },
} as const;
export type Ending = keyof typeof payerDigits;
export const endings = Object.keys(payerDigits) as readonly Ending[];
export const endingsExcept = (...others: readonly Ending[]): readonly Ending[] =>
  endings.filter((ending) => !others.includes(ending));

const isEnding = (word: string): word is Ending => endings.some((ending) => ending === word);

type Paid = Extract<PaymentOutcome, { kind: 'completed' }>;

function requirePaid(outcome: PaymentOutcome): Paid {
  if (outcome.kind !== 'completed') throw new Error(`not completed but ${JSON.stringify(outcome)}`);
  return outcome;
}

/**
 * The promises of every connector whose wallet follows its protocol. `supported` are the outcomes that this wallet
 * can produce. Tests of the others are shown as skipped.
 */
export function describeOutcomes(
  name: string,
  supported: readonly Ending[],
  start: (clock?: () => Date) => Promise<RealSubject>,
): void {
  const testOf = (ending: Ending) => (supported.includes(ending) ? test : test.skip);
  describe(`${name}, when the wallet works`, () => {
    let subject: RealSubject | undefined;
    /** A wallet, and a payment whose payer has this outcome. */
    const begin = async (ending: Ending) => {
      const started = (subject = await start());
      return { started, payment: started.paymentThat(ending) };
    };
    const options = { signal: new AbortController().signal };

    afterEach(async () => {
      await subject?.close();
      subject = undefined;
    });

    /**
     * Sends a payment, and returns the reference for queries. After an ambiguous answer it is recovered. A wallet
     * without a query by our id has no reference until its callback.
     */
    async function send({ connector, act }: RealSubject, payment: PaymentRequest) {
      const { result } = await connector.initiate(payment, options);
      if (result.kind === 'accepted') {
        await act?.(payment, result.nextAction);
        return result.providerReference;
      }
      expect(result.kind).toBe('unknown');
      if (!connector.capabilities.recovery) return undefined;
      return waitUntil('the wallet remembers the request', async () => {
        const recovery = await connector.recover(payment.attemptId, options);
        return recovery.result.kind === 'found' ? recovery.result.providerReference : undefined;
      });
    }

    /** The newest reference of an attempt or a reversal, as a query. */
    const by = (reference: string | undefined) =>
      reference === undefined ? {} : { providerReference: reference };

    const queryOf = (started: RealSubject, payment: PaymentRequest, reference: string | undefined) =>
      paymentQuery({
        ...{ attemptId: payment.attemptId, amount: payment.amount, currency: payment.currency },
        callbackToken: payment.callbackToken,
        ...{ callbackNotes: started.notesOf?.(payment.attemptId) ?? [], ...by(reference) },
      });

    /** Queries until the payment is no longer pending, each time with the reference of the last answer. */
    async function settle(
      started: RealSubject,
      payment: PaymentRequest,
      reference: string | undefined,
    ): Promise<PaymentOutcome> {
      let newest = reference;
      return waitUntil('the payment is no longer pending', async () => {
        const { result } = await started.connector.query(queryOf(started, payment, newest), options);
        if (result.kind === 'pending') newest = result.providerReference ?? newest;
        // Nothing is known of a lost request until its callback has come.
        const isOpen = result.kind === 'pending' || (result.kind === 'unknown' && newest === undefined);
        return isOpen ? undefined : result;
      });
    }

    async function pay(started: RealSubject, payment: PaymentRequest): Promise<PaymentOutcome> {
      return settle(started, payment, await send(started, payment));
    }

    test('a payment completes with the requested amount and currency, and is charged once', async () => {
      const { started, payment } = await begin('completed');

      const outcome = await pay(started, payment);

      const paid = requirePaid(outcome);
      expect(sameDecimal(paid.amount, payment.amount)).toBe(true);
      expect(paid.currency).toBe(payment.currency);
      expect(paid.providerTransactionId).not.toBe('');
      expect(await started.chargesOf(payment)).toHaveLength(1);
    });

    for (const reason of failureReasons.filter((word): word is FailureReason & Ending => isEnding(word))) {
      testOf(reason)(`a payment that fails for ${reason} says so`, async () => {
        const { started, payment } = await begin(reason);

        const acknowledgement = (await started.connector.initiate(payment, options)).result;
        if (acknowledgement.kind === 'accepted') await started.act?.(payment, acknowledgement.nextAction);
        const outcome =
          acknowledgement.kind === 'accepted'
            ? await settle(started, payment, acknowledgement.providerReference)
            : acknowledgement;

        expect(outcome).toMatchObject({ kind: expect.stringMatching(/^(declined|refused)$/), reason });
        expect(await started.chargesOf(payment)).toEqual([]);
      });
    }

    testOf('expired')('a prompt that nobody answers expires', async () => {
      const { started, payment } = await begin('expired');

      expect(await pay(started, payment)).toEqual({ kind: 'timed_out' });
    });

    testOf('unrecognised_status')('an undefined status is unknown', async () => {
      const { started, payment } = await begin('unrecognised_status');

      expect(await pay(started, payment)).toMatchObject({ kind: 'unknown', why: 'unrecognised_status' });
    });

    testOf('another_amount')(
      'reports the amount of the wallet when it differs from the requested one',
      async () => {
        const { started, payment } = await begin('another_amount');

        const outcome = await pay(started, payment);

        expect(sameDecimal(requirePaid(outcome).amount, payment.amount)).toBe(false);
      },
    );

    testOf('still_pending')('a payment nobody has answered is pending, and pending again', async () => {
      const { started, payment } = await begin('still_pending');
      const query = queryOf(started, payment, await send(started, payment));

      const first = await started.connector.query(query, options);
      const second = await started.connector.query(query, options);

      expect([first.result.kind, second.result.kind]).toEqual(['pending', 'pending']);
    });

    testOf('sent_twice')('the same request sent twice charges once, and can be found by our id', async () => {
      const { started, payment } = await begin('sent_twice');
      await send(started, payment);

      const again = await started.connector.initiate(payment, options);

      expect(['accepted', 'unknown']).toContain(again.result.kind);
      const recovery = await started.connector.recover(payment.attemptId, options);
      if (recovery.result.kind !== 'found') throw new Error(`not found: ${JSON.stringify(recovery.result)}`);
      const outcome = await settle(started, payment, recovery.result.providerReference);
      expect(outcome.kind).toBe('completed');
      expect(await started.chargesOf(payment)).toHaveLength(1);
    });

    for (const ending of ['lost_acknowledgement', 'error_yet_paid'] as const) {
      testOf(ending)(`a payment that ends in ${ending} is found, charged once`, async () => {
        const { started, payment } = await begin(ending);

        const outcome = await pay(started, payment);

        expect(outcome.kind).toBe('completed');
        expect(await started.chargesOf(payment)).toHaveLength(1);
      });
    }

    testOf('rate_limited_once')(
      'a request that came too fast settles nothing, and may come again',
      async () => {
        const { started, payment } = await begin('rate_limited_once');

        const first = await started.connector.initiate(payment, options);
        expect(first.result).toMatchObject({ kind: 'unknown', why: 'rate_limited' });
        // A request without an id that makes a repeat harmless must not be sent again.
        if (!started.connector.capabilities.idempotentInitiate) return;
        const recovery = await started.connector.recover(payment.attemptId, options);
        const outcome = await pay(started, payment);

        expect(recovery.result).toEqual({ kind: 'not_found' });
        expect(outcome.kind).toBe('completed');
        expect(await started.chargesOf(payment)).toHaveLength(1);
      },
    );

    for (const ending of ['nothing_created', 'unavailable'] as const) {
      testOf(ending)(`a request that ends in ${ending} is not found, and is not called failed`, async () => {
        const { started, payment } = await begin(ending);

        const sent = await started.connector.initiate(payment, options);
        const recovery = await started.connector.recover(payment.attemptId, options);

        expect(sent.result.kind).toBe('unknown');
        expect(recovery.result.kind).toBe(started.connector.capabilities.recovery ? 'not_found' : 'unknown');
        expect(await started.chargesOf(payment)).toEqual([]);
      });
    }

    const reverse = (started: RealSubject, payment: PaymentRequest, reversalId: string, paid: Paid) => {
      const { providerTransactionId, amount, currency } = paid;
      return started.connector.reverse(
        { ...payment, reversalId, providerTransactionId, amount, currency },
        options,
      );
    };

    async function settleReversal(
      started: RealSubject,
      payment: PaymentRequest,
      reversalId: string,
      { providerTransactionId, amount, currency }: Paid,
      reference: string | undefined,
    ): Promise<ReversalOutcome> {
      let newest = reference;
      const { attemptId, callbackToken } = payment;
      return waitUntil('the reversal is no longer pending', async () => {
        const query = reversalQuery({
          ...{ reversalId, attemptId, providerTransactionId, amount, currency, callbackToken },
          ...{ callbackNotes: started.notesOf?.(reversalId) ?? [], ...by(newest) },
        });
        const { result } = await started.connector.queryReversal(query, options);
        if (result.kind === 'pending') newest = result.providerReference ?? newest;
        const isOpen = result.kind === 'pending' || (result.kind === 'unknown' && newest === undefined);
        return isOpen ? undefined : result;
      });
    }

    testOf('reversal_refused')('a reversal the wallet refuses is refused', async () => {
      const { started, payment } = await begin('reversal_refused');
      const paid = requirePaid(await pay(started, payment));

      const reversalId = started.newId();

      const { result } = await reverse(started, payment, reversalId, paid);

      const outcome =
        result.kind === 'accepted'
          ? await settleReversal(started, payment, reversalId, paid, result.providerReference)
          : result;
      expect(outcome.kind).toBe('refused');
    });

    const lostReversals = [
      ['reversal_unknown', 'found', 'completed'],
      ['reversal_unknown_then_not', 'found to be not done', 'refused'],
    ] as const;
    for (const [ending, what, kind] of lostReversals)
      testOf(ending)(`a reversal whose answer was lost is ${what}`, async () => {
        const { started, payment } = await begin(ending);
        const paid = requirePaid(await pay(started, payment));
        const reversalId = started.newId();

        const { result } = await reverse(started, payment, reversalId, paid);
        const { result: recovery } = await started.connector.recover(reversalId, options);

        expect(result.kind).toBe('unknown');
        const { recovery: canRecover } = started.connector.capabilities;
        const found = started.repeatsReversals === true ? 'not_found' : 'found';
        expect(recovery.kind).toBe(canRecover ? found : 'unknown');
        const again =
          recovery.kind === 'not_found'
            ? (await reverse(started, payment, reversalId, paid)).result
            : recovery;
        const reference = 'providerReference' in again ? again.providerReference : undefined;
        const reversed = await settleReversal(started, payment, reversalId, paid, reference);
        expect(reversed.kind).toBe(kind);
        const returned = await started.reversedOf(payment);
        expect(sameDecimal(returned, kind === 'completed' ? paid.amount : '0')).toBe(true);
      });

    test('parts of a payment are returned, never more than was paid, unless the connector cannot return parts', async () => {
      const { started, payment } = await begin('completed');
      const paid = requirePaid(await pay(started, payment));
      const rest = String(Number(paid.amount) - 40);
      const giveBack = async (amount: string): Promise<ReversalOutcome | Acknowledgement> => {
        const reversalId = started.newId();
        const part = { ...paid, amount };
        const { result } = await reverse(started, payment, reversalId, part);
        if (result.kind !== 'accepted') return result;
        return settleReversal(started, payment, reversalId, part, result.providerReference);
      };

      const [first, second, beyond] = [await giveBack('40'), await giveBack(rest), await giveBack('1')];

      if (!started.connector.capabilities.partialReversal) {
        expect([first.kind, second.kind, beyond.kind]).toEqual(['refused', 'refused', 'refused']);
        expect(await started.reversedOf(payment)).toBe('0');
        return;
      }
      expect(first).toMatchObject({ kind: 'completed', money: { amount: '40', currency: paid.currency } });
      expect(second).toMatchObject({ kind: 'completed', money: { amount: rest } });
      expect(['refused', 'unknown']).toContain(beyond.kind);
      expect(await started.reversedOf(payment)).toBe(paid.amount);
    });

    test('a payment is returned, and the statement shows both, if the wallet has one', async () => {
      const { started, payment } = await begin('completed');
      const { connector } = started;
      const paid = requirePaid(await pay(started, payment));
      const { providerTransactionId } = paid;
      const reversalId = started.newId();

      const { result } = await reverse(started, payment, reversalId, paid);

      if (result.kind !== 'accepted') throw new Error(`not accepted but ${JSON.stringify(result)}`);
      const reversed = await settleReversal(started, payment, reversalId, paid, result.providerReference);
      expect(reversed.kind).toBe('completed');
      const at = payment.requestedAt.getTime();
      const period = { from: new Date(at - 60_000), to: new Date(at + 24 * 60 * 60_000) };
      if (!connector.capabilities.statement) {
        await expect(readStatement(connector, period)).rejects.toThrow(/has no statement/);
        return;
      }
      const pages = await readStatement(connector, period);
      expect(pages.flatMap(({ unreadable }) => unreadable)).toEqual([]);
      const entries = pages.flatMap((page) => page.entries);
      for (const field of ['providerTransactionId', 'originalTransactionId'] as const)
        expect(entries.filter((entry) => entry[field] === providerTransactionId)).toHaveLength(1);
    });

    const parse = ({ connector }: RealSubject, { raw, ...own }: SeenCallback) =>
      connector.parseCallback(callbackWith(raw, own));

    const callbackOf = (started: RealSubject, payment: PaymentRequest, count = 1) =>
      waitUntil('the wallet called back', () => {
        const seen = started.callbacksOf(payment);
        return seen.length >= count && seen;
      });

    testOf('no_callback')('a payment without a callback is found by asking', async () => {
      const { started, payment } = await begin('no_callback');

      const outcome = await pay(started, payment);

      expect(outcome.kind).toBe('completed');
      expect(started.callbacksOf(payment)).toEqual([]);
    });

    testOf('callback_thrice')('a callback that comes three times charges once', async () => {
      const { started, payment } = await begin('callback_thrice');

      const outcome = await pay(started, payment);
      const hints = (await callbackOf(started, payment, 3)).map((callback) => parse(started, callback));

      expect(outcome.kind).toBe('completed');
      expect(hints.map(({ queryNow, announced }) => [queryNow, announced])).toEqual(
        Array.from({ length: 3 }, () => [true, 'completed']),
      );
      expect(await started.chargesOf(payment)).toHaveLength(1);
    });

    testOf('forged_callback')('a forged callback of success completes nothing', async () => {
      const { started, payment } = await begin('forged_callback');
      const providerReference = await send(started, payment);
      const [callback] = await callbackOf(started, payment);
      const query = queryOf(started, payment, providerReference);

      const hint = parse(started, callback!);
      const { result } = await started.connector.query(query, options);

      expect(hint.queryNow).toBe(true);
      expect(result.kind).toBe('pending');
      expect(await started.chargesOf(payment)).toEqual([]);
    });

    testOf('failure_callback')('a callback of failure does not fail a payment that was paid', async () => {
      const { started, payment } = await begin('failure_callback');
      const providerReference = await send(started, payment);
      const [callback] = await callbackOf(started, payment);

      const hint = parse(started, callback!);
      const outcome = await settle(started, payment, providerReference);

      expect(hint).toMatchObject({ queryNow: true, announced: 'failed' });
      expect(outcome.kind).toBe('completed');
    });

    testOf('late_success')(
      'money that arrives after the deadline is pending first, then completed',
      async () => {
        const { started, payment } = await begin('late_success');
        const providerReference = await send(started, payment);
        const query = queryOf(started, payment, providerReference);

        const early = await started.connector.query(query, options);
        const outcome = await settle(started, payment, providerReference);

        expect(early.result.kind).toBe('pending');
        expect(outcome.kind).toBe('completed');
        expect(await started.chargesOf(payment)).toHaveLength(1);
      },
    );

    test('an expired access token is replaced without a second charge', async () => {
      const { started, payment } = await begin('completed');
      await started.connector.health(options);
      await started.expireTokens();

      const providerReference = await send(started, payment);
      await started.expireTokens();
      const outcome = await settle(started, payment, providerReference);

      expect(outcome.kind).toBe('completed');
      expect(await started.chargesOf(payment)).toHaveLength(1);
    });

    test.each([-3, 3])('a clock that is wrong by %d hours changes nothing', async (hours) => {
      const started = (subject = await start(() => new Date(Date.now() + hours * 3_600_000)));
      const payment = started.paymentThat('completed');

      const outcome = await pay(started, payment);

      expect(outcome.kind).toBe('completed');
      expect(await started.chargesOf(payment)).toHaveLength(1);
    });

    test('the wallet reports that it is available', async () => {
      subject = await start();

      expect((await subject.connector.health(options)).result).toEqual({ kind: 'available' });
    });
  });
}
