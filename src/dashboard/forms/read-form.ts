import { Value } from '@sinclair/typebox/value';
import { ValueErrorType } from '@sinclair/typebox/errors';
import type { ValueError } from '@sinclair/typebox/errors';
import type { Static, TObject } from '@sinclair/typebox';
import type { shell } from '../language/english/shell.ts';

type FormWords = (typeof shell)['forms'];

/** A submitted form: the values to show again, and the problems by field. */
export interface FormState {
  /** Never passwords. */
  readonly values: Readonly<Record<string, string>>;
  readonly errors: Readonly<Record<string, string>>;
}

export type FormReading<T> =
  | ({ readonly ok: true; readonly value: T } & FormState)
  | ({ readonly ok: false } & FormState);

export const emptyForm = (values: FormState['values'] = {}): FormState => ({ values, errors: {} });

const isSecret = (name: string): boolean => /password|secret/i.test(name);

/**
 * Reads a form by its schema, whose properties are strings, or arrays of strings for repeated names. Values are trimmed,
 * except passwords. An empty field counts as absent. Other fields are ignored. `own` contains the messages for a field's
 * invalid form.
 */
export function readForm<S extends TObject>(
  schema: S,
  body: unknown,
  words: FormWords,
  own: Readonly<Record<string, string>> = {},
): FormReading<Static<S>> {
  const sent = fieldsOf(body);
  const candidate: Record<string, string | string[]> = {};
  const values: Record<string, string> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const given = sent
      .filter(([key]) => key === name)
      .map(([, value]) => (isSecret(name) ? value : value.trim()));
    if (property['type'] === 'array') candidate[name] = given.filter((value) => value !== '');
    else if (given[0] !== undefined && given[0] !== '') candidate[name] = given[0];
    if (!isSecret(name)) values[name] = given[0] ?? '';
  }
  if (Value.Check(schema, candidate)) return { ok: true, value: candidate, values, errors: {} };
  const errors: Record<string, string> = {};
  for (const error of Value.Errors(schema, candidate)) {
    const name = error.path.split('/')[1] ?? '';
    errors[name] ??= wordsOf(error, words, own[name]);
  }
  return { ok: false, values, errors };
}

function wordsOf({ type, schema }: ValueError, words: FormWords, own: string | undefined): string {
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return schema['anyOf'] === undefined ? words.missing : words.chooseOne;
    case ValueErrorType.ArrayMinItems:
    case ValueErrorType.Union:
      return own ?? words.chooseOne;
    case ValueErrorType.StringMinLength:
      return words.tooShort(Number(schema['minLength']));
    case ValueErrorType.StringMaxLength:
      return words.tooLong(Number(schema['maxLength']));
    default:
      return own ?? words.malformed;
  }
}

/** The fields of a form, unchanged and in order. */
export function fieldsOf(body: unknown): readonly (readonly [string, string])[] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([name, value]) =>
    [value].flat().flatMap((each) => (typeof each === 'string' ? [[name, each] as const] : [])),
  );
}

/** One field, unchanged; '' when absent. */
export const fieldOf = (body: unknown, name: string): string =>
  fieldsOf(body).find(([key]) => key === name)?.[1] ?? '';
