import { Command, InvalidArgumentError } from 'commander';

/**
 * The command line of one benchmark. Commander prints the help, and refuses options and arguments that the benchmark
 * does not have. Both end the process before anything starts.
 */
export const benchmark = (name: string, description: string): Command =>
  new Command(`npm run ${name} --`)
    .description(description)
    .showHelpAfterError('Add --help to see all options.')
    .allowExcessArguments(false);

/** @throws {InvalidArgumentError} when the text is no whole number from 1 on */
export function wholeNumber(text: string): number {
  if (!/^[1-9][0-9]*$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 on.');
  return Number(text);
}

/** Reads whole numbers with commas between them. @throws {InvalidArgumentError} when one is none */
export const wholeNumbers = (text: string): readonly number[] => text.split(',').map(wholeNumber);

/** @throws {InvalidArgumentError} when the text is no number above 0 */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}

/** Reads some of a list's names, with commas between them. @throws {InvalidArgumentError} when the list lacks one */
export const namesOf =
  <Name extends string>(all: readonly Name[]) =>
  (text: string): readonly Name[] =>
    text.split(',').map((name) => {
      const found = all.find((each) => each === name);
      if (found === undefined)
        throw new InvalidArgumentError(`There is no ${name}. Choose from ${all.join(', ')}.`);
      return found;
    });
