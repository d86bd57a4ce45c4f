import type { Schema } from './openapi-types.ts';

/** A field as the page shows it. */
export interface Field {
  /** With the names of the objects around it, such as `data.checkout_url` or `details[].field`. */
  readonly name: string;
  readonly type: string;
  /** The anchor of the object that is the value of the field, if the page describes it elsewhere. */
  readonly object: string | undefined;
  readonly required: boolean;
  readonly description: string;
  readonly limits: readonly string[];
  readonly pattern: string | undefined;
  readonly values: readonly string[];
  readonly example: string | undefined;
}

export type Schemas = Readonly<Record<string, Schema>>;

/** The length of the longest pattern on the page. A longer one explains less than the description does. The document has all patterns. */
const longestPattern = 48;

/** The name of a published schema that a schema refers to. */
export const referencedName = ({ $ref }: Schema): string | undefined => $ref?.split('/').at(-1);

/** The schema itself, or the published one that it refers to. @throws TypeError when the document lacks it */
export function resolve(schema: Schema, schemas: Schemas): Schema {
  const name = referencedName(schema);
  if (name === undefined) return schema;
  const found = schemas[name];
  if (found === undefined) throw new TypeError(`the document has no schema ${name}`);
  return found;
}

/** The fields of an object, with those of the objects inside it. Objects in `elsewhere` are only named. */
export function fieldsOf(
  schema: Schema,
  schemas: Schemas,
  elsewhere: readonly string[],
  prefix = '',
): readonly Field[] {
  const { properties = {}, required = [] } = resolve(schema, schemas);
  return Object.entries(properties).flatMap(([key, value]) => {
    const name = prefix + key;
    const reference = referencedName(value);
    const isElsewhere = reference !== undefined && elsewhere.includes(reference);
    const own = { ...describeField(name, resolve(value, schemas)), required: required.includes(key) };
    if (isElsewhere) return [{ ...own, object: reference }];
    const inner = value.items ?? value;
    const suffix = value.items === undefined ? '.' : '[].';
    const within = fieldsOf(inner, schemas, elsewhere, name + suffix);
    // An object without a description is left out, because its fields explain it.
    return own.description === '' && within.length > 0 ? within : [own, ...within];
  });
}

/** How the page shows one value. */
export function describeField(name: string, schema: Schema): Field {
  const { type = 'object', title, description, pattern, examples = [] } = schema;
  const { enum: choices = examples } = schema;
  // If a field has only one value, its description names that value.
  const values = choices.length > 1 ? choices.map(String) : [];
  return {
    name,
    type,
    object: undefined,
    required: false,
    description: description ?? title ?? '',
    limits: limitsOf(schema),
    pattern: pattern !== undefined && pattern.length <= longestPattern ? pattern : undefined,
    values,
    example: values.length > 0 ? undefined : textOf(examples[0]),
  };
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

function limitsOf({ minLength = 0, maxLength, minimum, format }: Schema): readonly string[] {
  const limits: string[] = [];
  if (maxLength !== undefined && minLength === maxLength) limits.push(`${maxLength} characters`);
  else if (maxLength !== undefined && minLength > 0) limits.push(`${minLength} to ${maxLength} characters`);
  else if (maxLength !== undefined) limits.push(`at most ${maxLength} characters`);
  if (minimum !== undefined) limits.push(`at least ${minimum}`);
  if (format !== undefined) limits.push(`format ${format}`);
  return limits;
}

/**
 * A value that fits the schema: its own example, or one that is made of the examples of its fields.
 * @throws TypeError when a field has no example
 */
export function exampleOf(schema: Schema, schemas: Schemas, onlyRequired = false): unknown {
  const {
    examples = [],
    enum: values = [],
    properties,
    items,
    required = [],
    title,
  } = resolve(schema, schemas);
  if (examples[0] !== undefined) return examples[0];
  if (values[0] !== undefined) return values[0];
  if (items !== undefined) return [exampleOf(items, schemas)];
  if (properties === undefined) throw new TypeError(`a field of the document has no example: ${title ?? ''}`);
  const fields = Object.entries(properties).filter(([name]) => !onlyRequired || required.includes(name));
  return Object.fromEntries(fields.map(([name, value]) => [name, exampleOf(value, schemas)]));
}
