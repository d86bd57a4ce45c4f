import type { Command } from 'commander';
import { CliError, exitCodes } from './cli-error.ts';

/**
 * Without these options, a command applies to more: to all merchants, orders or days, or it refunds the whole amount. Without `--account`, a new
 * account is added, and not the one that a restore lost.
 */
const neverEmpty = [
  'merchant',
  'order',
  'order-number',
  'webhook-endpoint',
  'amount',
  'refund-number',
  'payee',
  'day',
  'kind',
  'prefix',
  'phone',
  'account',
];

/**
 * An empty value is usually a variable of a script that is not set. It must not count as an option or an argument that is not given.
 * @throws CliError
 */
export function refuseEmptyValues(command: Command): void {
  const option = command.options.find(
    (each) => neverEmpty.includes(each.name()) && command.getOptionValue(each.attributeName()) === '',
  );
  const argument = command.registeredArguments.find((_, index) => command.args[index] === '');
  if (option === undefined && argument === undefined) return;
  throw new CliError(
    exitCodes.invalidInput,
    `the value of ${option === undefined ? `<${argument?.name() ?? ''}>` : (option.long ?? option.flags)} is empty`,
    `Give it a value${argument?.required === true && option === undefined ? '' : ', or leave it out'}. If a script gives it, check that its variable is set.`,
  );
}

/**
 * Refuses an option with two values, in a command and all commands below it. The last value would silently replace the first: only one phone
 * number would be erased, or a merchant would lose a limit. An option that keeps all values, such as `--root`, may be repeated.
 */
export function refuseRepeatedOptions(command: Command): void {
  command.commands.forEach(refuseRepeatedOptions);
  for (const option of command.options) {
    const values = new Set<unknown>();
    let kept: unknown;
    command.on(`option:${option.name()}`, (value: unknown) => {
      const before = kept;
      kept = command.getOptionValue(option.attributeName());
      if (values.add(value).size === 1 || beginsWith(kept, before)) return;
      const name = option.long ?? option.flags;
      throw new CliError(
        exitCodes.invalidInput,
        `${name} is given more than once, with different values`,
        `Give ${name} once. ${option.flags.includes(',…') ? 'Separate several values by commas.' : 'Run the command again for another value.'}`,
      );
    });
  }
}

const beginsWith = (list: unknown, start: unknown): boolean =>
  Array.isArray(list) && Array.isArray(start) && start.every((each, index) => list[index] === each);
