import { Value } from '@sinclair/typebox/value';
import type { TSchema } from '@sinclair/typebox';
import { headerPattern, isSecret } from './connector/connector-kind.ts';
import type { ConnectorKind } from './connector/connector-kind.ts';

/** One value of a merchant's own account. The parts of an object have fields of their own, such as `payee.id`. */
export interface MerchantField {
  readonly name: string;
  readonly isSecret: boolean;
  readonly description: string;
  /** The accepted values; any when empty. */
  readonly choices: readonly string[];
}

export interface MerchantFieldIssue {
  readonly field: string;
  /** It never contains the value, which may be a secret. */
  readonly issue: string;
}

interface Leaf {
  readonly name: string;
  readonly schema: TSchema;
}

const propertiesOf = (schema: TSchema): Readonly<Record<string, TSchema>> =>
  schema['type'] === 'object' ? (schema['properties'] as Readonly<Record<string, TSchema>>) : {};

/** The leaves of the settings that a merchant may have. A merchant's account has a text for each. */
function leavesOf({ settings, merchantSettings }: ConnectorKind): Leaf[] {
  return merchantSettings.flatMap((setting): Leaf[] => {
    const schema = propertiesOf(settings)[setting];
    if (schema === undefined) return [];
    const parts = Object.entries(propertiesOf(schema));
    if (parts.length === 0) return [{ name: setting, schema }];
    return parts.map(([part, each]) => ({ name: `${setting}.${part}`, schema: each }));
  });
}

/** The fields of a merchant's own account at a wallet with this protocol. */
export const merchantFields = (kind: ConnectorKind): readonly MerchantField[] =>
  leavesOf(kind).map(({ name, schema }) => ({
    name,
    isSecret: schema[isSecret] === true,
    description: schema.description ?? '',
    choices: choicesOf(schema),
  }));

function choicesOf(schema: TSchema): readonly string[] {
  if (schema['type'] === 'boolean') return ['true', 'false'];
  const options: unknown = schema['anyOf'];
  return Array.isArray(options) ? options.map((each: { const?: unknown }) => String(each.const)) : [];
}

/** The problems of a merchant's values: each by itself, and objects that are not complete. */
export function merchantFieldIssues(
  kind: ConnectorKind,
  values: Readonly<Record<string, string>>,
): readonly MerchantFieldIssue[] {
  return leavesOf(kind).flatMap(({ name, schema }): MerchantFieldIssue[] => {
    const field = `values.${name}`;
    const text = values[name];
    if (text === undefined) {
      const [setting = ''] = name.split('.');
      const hasOther = name !== setting && Object.keys(values).some((key) => key.startsWith(`${setting}.`));
      return hasOther ? [{ field, issue: `is required with the other parts of ${setting}` }] : [];
    }
    if (Value.Check(schema, valueOf(schema, text))) return [];
    const choices = choicesOf(schema);
    if (choices.length > 0) return [{ field, issue: `must be ${choices.join(' or ')}` }];
    return [{ field, issue: `${formOf(schema)}. ${schema.description ?? ''}`.trim() }];
  });
}

function formOf(schema: TSchema): string {
  const pattern: unknown = schema['pattern'];
  if (pattern === headerPattern) return 'must be printable ASCII characters in one line';
  return typeof pattern === 'string' ? `must match ${pattern}` : 'is not valid';
}

/**
 * The operator's settings of a wallet, of which a merchant's own replace some. An object is replaced as a whole. The operator's
 * settings that are bound to an account do not apply to the account of the merchant.
 */
export function withMerchantValues(
  kind: ConnectorKind,
  settings: Readonly<Record<string, unknown>>,
  values: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const merchantSettings: Record<string, unknown> = {};
  for (const { name, schema } of leavesOf(kind)) {
    const text = values[name];
    if (text === undefined) continue;
    const [setting = '', part] = name.split('.');
    const value = valueOf(schema, text);
    merchantSettings[setting] =
      part === undefined ? value : { ...(merchantSettings[setting] as object | undefined), [part]: value };
  }
  const foreign = (kind.boundSettings ?? [])
    .filter(({ account }) => account.some((setting) => merchantSettings[setting] !== undefined))
    .flatMap(({ bound }) => bound);
  const operatorSettings = Object.entries(settings).filter(([setting]) => !foreign.includes(setting));
  return { ...Object.fromEntries(operatorSettings), ...merchantSettings };
}

/**
 * The name of the account that gets the money of payments with these values of a merchant, such as `accountid 3001`. Empty for the
 * operator's account, which a merchant with credentials of its own may use too.
 */
export function payeeOf(
  kind: ConnectorKind,
  settings: Readonly<Record<string, unknown>>,
  values: Readonly<Record<string, string>>,
): string {
  const nameOf = (all: Readonly<Record<string, unknown>>): string =>
    kind.payeeSettings.flatMap((setting) => textsIn(all[setting])).join(' ');
  const payee = nameOf(withMerchantValues(kind, settings, values));
  return payee === nameOf(settings) ? '' : payee;
}

const textsIn = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(textsIn)
    : typeof value === 'string'
      ? [value]
      : [];

/** The texts of the secrets among a merchant's values. */
export const secretsAmong = (
  kind: ConnectorKind,
  values: Readonly<Record<string, string>>,
): readonly string[] =>
  leavesOf(kind).flatMap(({ name, schema }) =>
    schema[isSecret] === true && values[name] !== undefined ? [values[name]] : [],
  );

function valueOf(schema: TSchema, text: string): unknown {
  if (schema['type'] === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return schema['type'] === 'integer' || schema['type'] === 'number' ? Number(text) : text;
}
