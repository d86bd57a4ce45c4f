import { ValueErrorType } from '@sinclair/typebox/value';
import type { ValueError } from '@sinclair/typebox/value';

/**
 * What is wrong with a value in the configuration of the wallets, as what it must be. It never contains the value, which may be a secret.
 * The description of a setting follows where the rule alone does not tell what to write.
 */
export function mistakeText({ type, schema, message }: ValueError): string {
  switch (type) {
    case ValueErrorType.ObjectAdditionalProperties:
      return `is not a setting; the settings here are ${namesIn(schema)}`;
    case ValueErrorType.ObjectRequiredProperty:
      return described('is required', schema);
    case ValueErrorType.ObjectMinProperties:
      return `must have at least one of ${namesIn(schema)}`;
    case ValueErrorType.Object:
      return namesIn(schema) === 'secret'
        ? 'must name the environment variable that contains the secret: {"secret": "NAME"}'
        : described('must be an object', schema);
    case ValueErrorType.Array:
      return described('must be a list', schema);
    case ValueErrorType.ArrayMinItems:
      return described('must not be empty', schema);
    case ValueErrorType.ArrayUniqueItems:
      return 'must not contain the same value twice';
    case ValueErrorType.Union:
      return choiceOf(schema['anyOf']) ?? described('has none of the possible forms', schema);
    case ValueErrorType.String:
      return described('must be text', schema);
    case ValueErrorType.StringMinLength:
    case ValueErrorType.StringMaxLength:
      return described(lengthOf(schema), schema);
    case ValueErrorType.StringPattern:
      return described(`must match ${String(schema['pattern'])}`, schema);
    case ValueErrorType.Boolean:
      return 'must be true or false';
    case ValueErrorType.Integer:
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.IntegerMaximum:
      return rangeOf(schema);
    default:
      return message;
  }
}

const described = (rule: string, { description }: ValueError['schema']): string =>
  description === undefined ? rule : `${rule}. ${description}`;

/** The settings that an object may have. The file itself may name its schema, which is no setting. */
function namesIn(schema: ValueError['schema']): string {
  const properties: unknown = schema['properties'];
  const names = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  return names.filter((name) => name !== '$schema').join(', ');
}

/** Undefined unless each choice is one word. */
function choiceOf(choices: unknown): string | undefined {
  const words = Array.isArray(choices) ? choices.map((each: { readonly const?: unknown }) => each.const) : [];
  return words.length > 0 && words.every((word) => typeof word === 'string')
    ? `must be one of ${words.join(', ')}`
    : undefined;
}

function lengthOf({ minLength = 0, maxLength }: ValueError['schema']): string {
  if (maxLength !== undefined) return `must have ${Number(minLength)} to ${Number(maxLength)} characters`;
  return minLength === 1 ? 'must not be empty' : `must have at least ${Number(minLength)} characters`;
}

const rangeOf = ({ minimum, maximum }: ValueError['schema']): string =>
  minimum === undefined || maximum === undefined
    ? 'must be a whole number'
    : `must be a whole number from ${Number(minimum)} to ${Number(maximum)}`;
