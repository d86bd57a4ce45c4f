import { InvalidArgumentError, Option } from 'commander';
import type { Argument, Command } from 'commander';
import { noMerchantId } from '../contract/public-id.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { shellWord } from '../contract/shell-word.ts';

/** Finds the merchant of a command. */
export type FindMerchant = (
  named: string | undefined,
  /** The complete command with `<merchant_id>`, for the user to type. */
  howToName: string,
) => Promise<string>;

/** The error lists at most this many merchants. `merchant list` shows the others. */
const maxListed = 20;

/** The command needs a core to find the only merchant, and no core is known for the given reason. */
export const unknownMerchant = (howToName: string, reason: CliError): CliError =>
  new CliError(
    reason.exitCode,
    `the command names no merchant, and ${reason.message}`,
    [`Name it: ${howToName}`, reason.advice].join('\n'),
  );

/**
 * The id of the only merchant there is.
 * @throws CliError when there are several, with their ids and names, or none
 */
export async function findOnlyMerchant(
  merchants: CoreClients['merchants'],
  howToName: string,
): Promise<string> {
  const { merchants: some, nextPageToken } = await merchants.listMerchants({ pageSize: maxListed });
  const [only] = some;
  if (only === undefined)
    throw new CliError(
      exitCodes.notFound,
      'there are no merchants yet',
      'Create one: gatehouse merchant create --name "Shop"',
    );
  if (some.length === 1 && nextPageToken === '') return only.merchantId;
  throw new CliError(
    exitCodes.invalidInput,
    'the command names no merchant, and there are several',
    [
      ...some.map(({ merchantId, name }) => `  ${merchantId}  ${name}`),
      ...(nextPageToken === '' ? [] : ['  and more: gatehouse merchant list']),
      `Name one of them: ${howToName}`,
    ].join('\n'),
  );
}

const looksLikeMerchant = (text: string): boolean => /^mer_/.test(text);

/** `gatehouse order show`, as the program and its commands are called. */
export const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

const description = 'mer_…; default: the only merchant';

/**
 * Notes the options of a command as the user types them. Returns them, for a command that the user can repeat: without its
 * `--environment production`, it would reach the sandbox.
 */
function noteOptions(command: Command): () => string {
  const words: string[] = [];
  for (const option of command.options)
    command.on(`option:${option.name()}`, (value?: string | null) => {
      words.push(option.long ?? option.flags, ...(typeof value === 'string' ? [shellWord(value)] : []));
    });
  return () => words.map((word) => ` ${word}`).join('');
}

/** `--merchant` of a command whose help shows an argument instead. */
export const merchantOption = (): Option => new Option('--merchant <merchant_id>').hideHelp();

interface NamedByOption {
  readonly merchant?: string;
}

/** The merchant that the argument or the option names. @throws CliError if they name two */
export function namedMerchant(argument: string | undefined, option: string | undefined): string | undefined {
  if (argument === undefined || option === undefined || argument === option) return argument ?? option;
  throw new CliError(
    exitCodes.invalidInput,
    'the command names two merchants',
    `Name one of them: ${argument} or ${option}.`,
  );
}

/**
 * Gives a list of all merchants the filter `--merchant`, and the argument `[merchant_id]` that commands about one merchant have. Runs
 * `action` with the options, in which `merchant` is absent without a filter.
 */
export function onAnyMerchant(
  command: Command,
  filterDescription: string,
  action: (options: never) => Promise<void>,
): void {
  command
    .argument('[merchant_id]', 'as --merchant')
    .option('--merchant <merchant_id>', filterDescription)
    .action(async (argument: string | undefined, { merchant: option, ...options }: NamedByOption) => {
      const merchant = namedMerchant(argument, option);
      return action({ ...options, ...(merchant !== undefined && { merchant }) } as never);
    });
}

/**
 * Gives a command the argument `[merchant_id]`, which `--merchant` can name too. Runs `action` with the named merchant, or with the only
 * merchant.
 */
export function onMerchant(
  command: Command,
  find: FindMerchant,
  action: (merchantId: string, options: never) => Promise<void>,
): void {
  const typedOptions = noteOptions(command);
  command
    .argument('[merchant_id]', description)
    .addOption(merchantOption())
    .action(async (argument: string | undefined, { merchant, ...options }: NamedByOption) => {
      const howToName = `${nameOf(command)} <merchant_id>${typedOptions()}`;
      return action(await find(namedMerchant(argument, merchant), howToName), options as never);
    });
}

/**
 * The same for a command with another argument after the merchant, such as `<order>`, or `[delivery_id]` if it is optional.
 * A single argument is the merchant if it begins with `mer_`, and otherwise the other argument. An order number that begins
 * with `mer_` needs the merchant before it, or `--merchant`.
 */
export function onMerchantAnd(
  command: Command,
  subject: Argument,
  find: FindMerchant,
  action: (merchantId: string, value: never, options: never) => Promise<void>,
): void {
  const name = subject.name();
  const shown = subject.required ? `<${name}>` : `[${name}]`;
  const read = (text: string | undefined): unknown => {
    if (text === undefined && subject.required)
      return command.error(`error: missing required argument '${name}'`, invalidArgument);
    if (text === undefined || subject.parseArg === undefined) return text;
    try {
      return subject.parseArg<unknown>(text, undefined);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      return command.error(
        `error: command-argument value '${text}' is invalid for argument '${name}'. ${error.message}`,
        invalidArgument,
      );
    }
  };
  const typedOptions = noteOptions(command);
  // Commander assigns arguments from the left and cannot detect which one is missing. So both are optional here.
  command
    .usage(`[options] [merchant_id] ${shown}`)
    .argument('[merchant_id]', description)
    .argument(`[${name}]`, subject.description)
    .addOption(merchantOption())
    .action(async (first: string | undefined, second: string | undefined, options: NamedByOption) => {
      const { merchant, ...others } = options;
      const isOther =
        first !== undefined && second === undefined && (merchant !== undefined || !looksLikeMerchant(first));
      const [argument, text] = isOther ? [undefined, first] : [first, second];
      const value = read(text) as never;
      const typed = `${text === undefined ? '' : ` ${shellWord(text)}`}${typedOptions()}`;
      const merchantId = await find(
        namedMerchant(argument, merchant),
        `${nameOf(command)} <merchant_id>${typed}`,
      );
      return action(merchantId, value, others as never);
    });
}

const invalidArgument = { code: 'commander.invalidArgument', exitCode: 1 };

/** A merchant's id. The id of no merchant is shown too, because commands accept it. */
export const showMerchant = ({ merchantId }: { readonly merchantId: string }): string =>
  merchantId === noMerchantId ? `${merchantId} (no merchant)` : merchantId;
