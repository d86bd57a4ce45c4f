import { create } from '@bufbuild/protobuf';
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import { MemberRole, MemberRoleSchema } from '../gen/gatehouse/v1/account_service_pb.js';
import { MerchantTermsSchema } from '../gen/gatehouse/v1/merchant_service_pb.js';
import type {
  ApprovalLimit,
  LargestAmount,
  Merchant,
  MerchantTerms,
} from '../gen/gatehouse/v1/merchant_service_pb.js';
import { isPaymentOption } from '../contract/payment-option.ts';
import type { PaymentOption } from '../contract/payment-option.ts';
import { CliError, exitCodes } from './cli-error.ts';
import { durationOption } from './options.ts';
import { requireField } from './output.ts';
import { wordOf } from './plain-json.ts';
import type { Output, Runner } from './output.ts';
import { onMerchant } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';

interface UpdateOptions {
  readonly name?: string;
  readonly sessionLifetime?: Duration;
  readonly sandboxOptions?: PaymentOption[];
  readonly productionOptions?: PaymentOption[];
  readonly currencies?: string[];
  readonly largestAmounts?: Pick<LargestAmount, 'currency' | 'amount'>[];
  readonly requestsPerSecond?: number;
  readonly refundApprovalAbove?: Pick<ApprovalLimit, 'currency' | 'amount' | 'role'>[];
  readonly contactPhone?: string;
  readonly contactEmail?: string;
  readonly personalDataDays?: number;
}

type TermOption =
  | 'sandboxOptions'
  | 'productionOptions'
  | 'currencies'
  | 'largestAmounts'
  | 'requestsPerSecond';

/** The entries of a list. `unlimited` is the word for no limit: the word of another option would remove a limit by mistake. */
const entriesOf = (text: string, unlimited: 'all' | 'none'): string[] =>
  text === unlimited ? [] : text.split(',');

function readOptions(text: string): PaymentOption[] {
  return entriesOf(text, 'all').map((word) => {
    const option = word.trim().toLowerCase();
    if (!isPaymentOption(option))
      throw new InvalidArgumentError('Use all, or some of the options shown by: gatehouse wallet list');
    return option;
  });
}

const readCurrencies = (text: string): string[] =>
  entriesOf(text, 'all').map((entry) => {
    const code = entry.trim().toUpperCase();
    if (!/^[A-Z]{3}$/.test(code)) throw new InvalidArgumentError('Use all, or codes such as ETB,USD.');
    return code;
  });

function readAmounts(text: string): Pick<LargestAmount, 'currency' | 'amount'>[] {
  return entriesOf(text, 'none').map((entry) => {
    const [, currency, amount] = /^\s*([A-Za-z]{3})=([0-9.]+)\s*$/.exec(entry) ?? [];
    if (currency === undefined || amount === undefined)
      throw new InvalidArgumentError('Write it as ETB=50000, or none. Separate several by commas.');
    return { currency: currency.toUpperCase(), amount };
  });
}

const limitRoles = { owner: MemberRole.OWNER, developer: MemberRole.DEVELOPER } as const;

function readLimits(text: string): Pick<ApprovalLimit, 'currency' | 'amount' | 'role'>[] {
  return entriesOf(text, 'none').map((entry) => {
    const [, role, limit = entry] = /^\s*(owner|developer):(.*)$/.exec(entry) ?? [];
    const [, currency, amount] = /^\s*([A-Za-z]{3})=([0-9.]+)\s*$/.exec(limit) ?? [];
    if (currency === undefined || amount === undefined)
      throw new InvalidArgumentError(
        'Write it as ETB=1000, or for a role as developer:ETB=200 or owner:ETB=5000, or none. Separate several by commas.',
      );
    return {
      currency: currency.toUpperCase(),
      amount,
      role: role === undefined ? MemberRole.UNSPECIFIED : limitRoles[role as keyof typeof limitRoles],
    };
  });
}

function readRate(text: string): number {
  if (text === 'standard') return 0;
  if (!/^[1-9][0-9]{0,5}$/.test(text))
    throw new InvalidArgumentError('Use a whole number from 1 to 100000, or standard.');
  return Number(text);
}

function readDays(text: string): number {
  if (text === 'standard') return 0;
  if (!/^[1-9][0-9]{1,4}$/.test(text))
    throw new InvalidArgumentError('Use a whole number of days from 30 to 36500, or standard.');
  return Number(text);
}

function readContact(text: string): string {
  if (text === '') throw new InvalidArgumentError('Use none to remove it.');
  return text === 'none' ? '' : text;
}

/** `merchant update`: changes only the given values, and fails if another user changed the merchant meanwhile. */
export function addMerchantUpdateCommand(
  merchant: Command,
  run: Runner,
  find: FindMerchant,
  describe: (merchant: Merchant, note: string) => Output,
): void {
  onMerchant(
    merchant
      .command('update')
      .description(
        'change the name, time to pay, contact, terms, approval limits and erasure period of a merchant',
      )
      .option('--name <name>', 'shown to customers at checkout')
      .addOption(durationOption('--session-lifetime <time>', 'how long customers have to pay, such as 30m'))
      .addOption(
        new Option('--sandbox-options <option,…>', 'payment options in the sandbox, or all').argParser(
          readOptions,
        ),
      )
      .addOption(
        new Option('--production-options <option,…>', 'payment options in production, or all').argParser(
          readOptions,
        ),
      )
      .addOption(
        new Option('--currencies <code,…>', 'allowed currencies of its orders, or all').argParser(
          readCurrencies,
        ),
      )
      .addOption(
        new Option(
          '--largest-amounts <code=amount,…>',
          'the largest amount of an order, such as ETB=50000, or none',
        ).argParser(readAmounts),
      )
      .addOption(
        new Option('--requests-per-second <number>', 'the limit for each of its keys, or standard').argParser(
          readRate,
        ),
      )
      .addOption(
        new Option(
          '--refund-approval-above <limit,…>',
          "the total of an order's refunds above which a second person must approve: ETB=1000, or developer:ETB=200 for a dashboard role, or none",
        ).argParser(readLimits),
      )
      .addOption(
        new Option(
          '--contact-phone <number>',
          'phone number for customers, shown on checkout pages and receipts, or none',
        ).argParser(readContact),
      )
      .addOption(
        new Option(
          '--contact-email <address>',
          'e-mail address for customers, shown on checkout pages and receipts, or none',
        ).argParser(readContact),
      )
      .addOption(
        new Option(
          '--personal-data-days <days>',
          'the number of days after which the personal data of its orders is erased, or standard for the period of all merchants',
        ).argParser(readDays),
      ),
    find,
    (merchantId: string, options: UpdateOptions) =>
      run(async ({ merchants }) => {
        if (Object.keys(options).length === 0)
          throw new CliError(
            exitCodes.invalidInput,
            'nothing would change',
            'Add at least one option with a new value. --help lists the options.',
          );
        const before = requireField((await merchants.getMerchant({ merchantId })).merchant);
        const { name, sessionLifetime, contactPhone, contactEmail, refundApprovalAbove, personalDataDays } =
          options;
        const reply = await merchants.updateMerchant({
          merchantId,
          // Values that are not given keep their present state. If the merchant has changed since it was read, the call fails.
          ...(before.updateTime === undefined ? {} : { expectedUpdateTime: before.updateTime }),
          ...(name === undefined ? {} : { name }),
          ...(sessionLifetime === undefined ? {} : { sessionLifetime }),
          ...(personalDataDays === undefined ? {} : { personalDataDays }),
          ...(refundApprovalAbove === undefined
            ? {}
            : { refundPolicy: { approvalLimits: refundApprovalAbove } }),
          ...(contactPhone === undefined && contactEmail === undefined
            ? {}
            : {
                contact: {
                  phone: contactPhone ?? before.contact?.phone ?? '',
                  email: contactEmail ?? before.contact?.email ?? '',
                },
              }),
          ...changedTerms(before.terms ?? create(MerchantTermsSchema), options),
        });
        return describe(requireField(reply.merchant), effectsOf(options).join('\n'));
      }),
  );
}

/** All terms when one of them changes. Terms that are sent are checked, and an old one may name a wallet that was removed since. */
function changedTerms(
  before: MerchantTerms,
  {
    sandboxOptions,
    productionOptions,
    currencies,
    largestAmounts,
    requestsPerSecond,
  }: Pick<UpdateOptions, TermOption>,
): { readonly terms?: MerchantTerms } {
  const asked = [sandboxOptions, productionOptions, currencies, largestAmounts, requestsPerSecond];
  if (asked.every((value) => value === undefined)) return {};
  return {
    terms: create(MerchantTermsSchema, {
      sandboxPaymentOptions: sandboxOptions ?? before.sandboxPaymentOptions,
      productionPaymentOptions: productionOptions ?? before.productionPaymentOptions,
      currencies: currencies ?? before.currencies,
      largestAmounts: largestAmounts ?? before.largestAmounts,
      requestsPerSecond: requestsPerSecond ?? before.requestsPerSecond,
    }),
  };
}

/** What the changed values apply to, a sentence each. */
function effectsOf(options: UpdateOptions): readonly string[] {
  const { sandboxOptions, productionOptions, currencies, largestAmounts } = options;
  const isGiven = (...values: readonly unknown[]): boolean => values.some((value) => value !== undefined);
  return [
    'All processes apply the change within 5 seconds.',
    ...(isGiven(currencies, largestAmounts) ? ['New orders get the new currencies and amounts.'] : []),
    ...(isGiven(options.sessionLifetime)
      ? ['New orders get the new time to pay. Existing orders keep theirs.']
      : []),
    ...(isGiven(sandboxOptions, productionOptions)
      ? ['Payment options apply to every new payment, including those of existing orders.']
      : []),
    ...(isGiven(options.refundApprovalAbove) ? ['New refunds get the new approval limits.'] : []),
  ];
}

const limitText = ({ amount, currency, role }: ApprovalLimit): string =>
  `above ${amount} ${currency}${role === MemberRole.UNSPECIFIED ? '' : ` for role ${wordOf(MemberRoleSchema, role)}`}`;

/** A merchant's terms, rules for refunds and contact, line by line. Empty values are left out. */
export function termsFields({
  terms,
  contact,
  refundPolicy,
  personalDataDays,
}: Merchant): [string, string][] {
  if (terms === undefined) return [];
  const approval = refundPolicy?.approvalLimits ?? [];
  const ways = [contact?.phone ?? '', contact?.email ?? ''].filter((way) => way !== '');
  return [
    ['Sandbox options', terms.sandboxPaymentOptions.join(', ')],
    ['Production options', terms.productionPaymentOptions.join(', ')],
    ['Currencies', terms.currencies.join(', ')],
    [
      'Largest amounts',
      terms.largestAmounts.map(({ amount, currency }) => `${amount} ${currency}`).join(', '),
    ],
    ['Refund approval', approval.map(limitText).join(', ')],
    ['Contact', ways.join(', ')],
    ['Erasure', personalDataDays === 0 ? '' : `personal data after ${personalDataDays} days`],
    ['Requests', terms.requestsPerSecond === 0 ? '' : `${terms.requestsPerSecond} a second for each key`],
  ];
}
