import { create } from '@bufbuild/protobuf';
import type { DescEnum } from '@bufbuild/protobuf';
import { DurationSchema, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';
import { InvalidArgumentError, Option } from 'commander';
import { Environment, EnvironmentSchema, OrderStatusSchema } from '../gen/gatehouse/v1/order_pb.js';
import { DeliveryState, DeliveryStateSchema } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { isWalletId } from '../contract/payment-option.ts';
import { SettingsError } from '../platform/settings/read-settings.ts';
import { readCliSettings } from './settings.ts';
import { valueOf, wordOf, wordsOf } from './plain-json.ts';
import { parseDuration, parseTime } from './time.ts';

/** The names of an environment's keys are synonyms of its name. */
const environmentSynonyms: Readonly<Record<string, Environment>> = {
  test: Environment.SANDBOX,
  live: Environment.PRODUCTION,
};

function readEnum(description: DescEnum, word: string): number {
  const value = valueOf(description, word);
  if (value === undefined) throw new InvalidArgumentError(`Use one of: ${wordsOf(description).join(', ')}.`);
  return value;
}

const readEnvironment = (word: string): Environment =>
  environmentSynonyms[word.toLowerCase()] ?? readEnum(EnvironmentSchema, word);

/** The glossary's terms for enum values whose names differ from them. */
const deliveryStateTerms: Readonly<Partial<Record<DeliveryState, string>>> = {
  [DeliveryState.GIVEN_UP]: 'abandoned',
};

/** A state of deliveries in the glossary's term, in output and in `--state`. */
export const deliveryStateTerm = (state: DeliveryState): string =>
  deliveryStateTerms[state] ?? wordOf(DeliveryStateSchema, state) ?? '';

const deliveryStateChoices = DeliveryStateSchema.values
  .filter(({ number }) => number !== 0)
  .map(({ number }) => deliveryStateTerm(number))
  .join(', ');

/** Also accepts the name of the value: `given_up`. */
function readDeliveryStates(text: string, earlier: readonly DeliveryState[] = []): readonly DeliveryState[] {
  const states = text.split(',').map((part): DeliveryState => {
    const word = part.trim();
    const termed = DeliveryStateSchema.values.find(
      ({ number }) => number !== 0 && deliveryStateTerm(number) === word.toLowerCase(),
    );
    const state = termed?.number ?? valueOf(DeliveryStateSchema, word);
    if (state === undefined) throw new InvalidArgumentError(`Use one of: ${deliveryStateChoices}.`);
    return state;
  });
  return [...earlier, ...states];
}

const readEnums =
  (description: DescEnum) =>
  (words: string, earlier: readonly number[] = []): readonly number[] => [
    ...earlier,
    ...words.split(',').map((word) => readEnum(description, word.trim())),
  ];

/** Parses the value of a duration option. */
export function readDuration(text: string): Duration {
  const seconds = parseDuration(text);
  if (seconds === undefined) throw new InvalidArgumentError('Write it as 90s, 30m, 24h, 7d or 1h30m.');
  return create(DurationSchema, { seconds });
}

function readTime(text: string): Timestamp {
  const time = parseTime(text);
  if (time === undefined)
    throw new InvalidArgumentError('Write it as 2026-01-31 (UTC) or 2026-01-31T08:30:00Z (or +03:00).');
  return timestampFromDate(time);
}

function readLimit(text: string): number {
  if (!/^[1-9][0-9]{0,5}$/.test(text)) throw new InvalidArgumentError('Use a whole number from 1 to 999999.');
  return Number(text);
}

/** The value of `--address`. */
export function readAddresses(text: string): readonly string[] {
  const addresses = addressesIn(text);
  if (addresses.length > 0) return addresses;
  throw new InvalidArgumentError('Write it as host:port. Separate several by commas.');
}

/** None if the text is empty or has another form. */
function addressesIn(text: string): readonly string[] {
  try {
    return readCliSettings({ GATEHOUSE_CORE_ADDRESSES: text }).GATEHOUSE_CORE_ADDRESSES ?? [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return [];
  }
}

/** The value of an option that names one URL. */
export function readUrl(text: string): URL {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return new URL(text);
  throw new InvalidArgumentError('Write it as http://localhost:3000/hook.');
}

/** The value of `--rest`. */
export function readHttpUrls(text: string, earlier: readonly string[] = []): readonly string[] {
  const urls = text.split(',').map((url) => url.trim().replace(/\/+$/, ''));
  if (!urls.every((url) => /^https?:\/\//.test(url) && URL.canParse(url)))
    throw new InvalidArgumentError(
      'Write it as a URL such as http://127.0.0.1:8080. Separate several by commas.',
    );
  return [...earlier, ...urls];
}

/** `note`: an addition to the help, such as the default. */
export const environmentOption = (note = ''): Option =>
  new Option('-e, --environment <name>', `sandbox (test) or production (live)${note}`).argParser(
    readEnvironment,
  );

/** `--environment` of a list that shows both environments by default. */
export const environmentFilter = (): Option => environmentOption('; default: both');

/** `--status`, with the states of an enum. */
export const statusesOption = (things: string, states: DescEnum): Option =>
  new Option(
    '--status <status,…>',
    `only ${things} in these states: ${wordsOf(states).join(', ')}`,
  ).argParser(readEnums(states));

/** `--state` of deliveries. */
export const deliveryStatesOption = (description: string): Option =>
  new Option('--state <state,…>', `${description}: ${deliveryStateChoices}`).argParser(readDeliveryStates);

export const statusOption = (): Option => statusesOption('orders', OrderStatusSchema);

export const walletOption = (description = 'a configured wallet, such as walleta'): Option =>
  new Option('--wallet <id>', description).argParser((word): string => {
    if (!isWalletId(word))
      throw new InvalidArgumentError('Use one of the ids shown by: gatehouse wallet list');
    return word;
  });

function readDay(text: string): string {
  if (text.length !== 10 || parseTime(text) === undefined)
    throw new InvalidArgumentError('Write it as 2026-01-31 (UTC).');
  return text;
}

/** `--day`: a day in UTC, in the form of the contract. */
export const dayOption = (): Option =>
  new Option('--day <day>', 'the day (UTC), such as 2026-01-31; default: yesterday').argParser(readDay);

/** The former name of `--day`. */
export const formerDayOption = (): Option => new Option('--date <day>').argParser(readDay).hideHelp();

export const durationOption = (flags: string, description: string): Option =>
  new Option(flags, description).argParser(readDuration);

export const timeOption = (flags: string, description: string): Option =>
  new Option(flags, description).argParser(readTime);

export const limitOption = (): Option =>
  new Option('--limit <number>', 'list at most this many').default(50).argParser(readLimit);

export const pageTokenOption = (): Option =>
  new Option('--page-token <token>', 'continue an earlier list, with the same filters');

/** The name of both environments in a message about an empty list: "no keys in either environment". */
const either = 'either environment';

/** The name of an environment in commands: sandbox, production. */
export const environmentWord = (environment: Environment): string =>
  wordOf(EnvironmentSchema, environment) ?? either;

/** The environment of a command that follows an empty list: that of the list's filter, and the sandbox without one. */
export const environmentOrSandbox = (filter: Environment): string =>
  environmentWord(filter === Environment.UNSPECIFIED ? Environment.SANDBOX : filter);

/** The name of an environment in output, in capitals so that readers notice it: SANDBOX, PRODUCTION. */
export const showEnvironment = (environment: Environment): string =>
  wordOf(EnvironmentSchema, environment)?.toUpperCase() ?? either;
