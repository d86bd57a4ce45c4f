import type { FastifyRequest, FastifySchemaValidationError } from 'fastify';
import type { ErrorDetail } from '../merchant-api/error-envelope.ts';
import { invalidRequest } from './request-failure.ts';
import type { RequestFailure } from './request-failure.ts';
import { failureOfRpc } from './rpc-failure.ts';

/** A request's fields as far as they can be used, and what the facade itself finds wrong with them. */
export interface FieldReading<F extends string> {
  /** A field's text; '' when it was not sent, or is no text that could be sent on. */
  readonly text: (field: F) => string;
  /** Whether any field has a text that core could look at. */
  readonly usable: boolean;
  /** Presence, type and readability: nobody knows better, so these stand whatever core says of the same field. */
  readonly problems: readonly ErrorDetail[];
  /** Lengths and patterns of the published schema: core says the same in better words, and its word is preferred. */
  readonly schemaProblems: readonly ErrorDetail[];
}

/** Reads the named fields of a request's body after Fastify has validated it against the route's schema. */
export function readFields<F extends string>(request: FastifyRequest, fields: readonly F[]): FieldReading<F> {
  const reading = request.bodyReading;
  const body = reading === null ? {} : reading.readable ? reading.object : undefined;
  const problems: ErrorDetail[] = [...(reading?.issues ?? [])];
  const schemaProblems: ErrorDetail[] = [];
  // Of a field that was given twice, nobody can say which value is meant: there is nothing more to say about it.
  const ambiguous = new Set(problems.map(({ field }) => field));
  for (const error of body === undefined ? [] : schemaErrors(request)) {
    const { detail, definite } = problemOf(error);
    if (ambiguous.has(detail.field)) continue;
    if (definite) problems.push(detail);
    // What is too long or empty has not the right form either, which would not help anybody to know.
    else if (!schemaProblems.some(({ field }) => field === detail.field)) schemaProblems.push(detail);
  }
  const texts = new Map<F, string>();
  for (const field of fields) {
    const value: unknown =
      body !== undefined && Object.hasOwn(body, field) ? Reflect.get(body, field) : undefined;
    if (typeof value !== 'string') continue;
    if (value.isWellFormed()) texts.set(field, value);
    else problems.push({ field, issue: 'must be well-formed Unicode, without lone surrogates' });
  }
  return { text: (field) => texts.get(field) ?? '', usable: texts.size > 0, problems, schemaProblems };
}

/** What ajv found wrong with the body. Fastify does not say what type that has. */
function schemaErrors(request: FastifyRequest): readonly FastifySchemaValidationError[] {
  const error = request.validationError;
  if (error?.validationContext !== 'body') return [];
  const found: unknown = error.validation;
  return Array.isArray(found) ? found.filter(isSchemaError) : [];
}

function isSchemaError(value: unknown): value is FastifySchemaValidationError {
  return typeof value === 'object' && value !== null && 'keyword' in value && 'instancePath' in value;
}

function problemOf(error: FastifySchemaValidationError): { detail: ErrorDetail; definite: boolean } {
  const field = error.instancePath.slice(1);
  switch (error.keyword) {
    case 'required':
      return {
        detail: { field: String(error.params['missingProperty']), issue: 'is required' },
        definite: true,
      };
    case 'type':
      return { detail: { field, issue: `must be a ${String(error.params['type'])}` }, definite: true };
    case 'minLength': {
      const limit: unknown = error.params['limit'];
      const issue =
        limit === 1
          ? 'must not be empty; leave it out when there is none'
          : `must be at least ${String(limit)} characters`;
      return { detail: { field, issue }, definite: false };
    }
    case 'maxLength':
      return {
        detail: { field, issue: `must be at most ${String(error.params['limit'])} characters` },
        definite: false,
      };
    default:
      return {
        detail: { field, issue: `does not have the form that the API reference asks for` },
        definite: false,
      };
  }
}

/**
 * Finds out everything that is wrong with a request, not just what the facade sees, and gives the 400 that says so.
 * `ask` puts what is usable to core without changing anything there; it is not called when nothing is usable.
 * @throws RequestFailure with another answer when core refuses the request for something other than its fields.
 */
export async function refusal<F extends string>(
  reading: FieldReading<F>,
  order: readonly string[],
  ask: () => Promise<unknown>,
): Promise<RequestFailure> {
  const coreProblems = reading.usable ? await problemsCoreSees(ask) : [];
  return invalidRequest(merge([reading.problems, coreProblems, reading.schemaProblems], order));
}

async function problemsCoreSees(ask: () => Promise<unknown>): Promise<readonly ErrorDetail[]> {
  try {
    await ask();
    return [];
  } catch (error) {
    const known = failureOfRpc(error);
    if (known.failure.kind === 'invalid') return known.failure.details;
    if (known.failure.kind === 'not_found') return [];
    throw known;
  }
}

/** Each field keeps what the first source that knows of it says; `order` first, then whatever else there is. */
function merge(sources: readonly (readonly ErrorDetail[])[], order: readonly string[]): ErrorDetail[] {
  const byField = new Map<string, readonly ErrorDetail[]>(order.map((field) => [field, []]));
  for (const source of sources) {
    const news = Map.groupBy(source, ({ field }) => field);
    for (const [field, details] of news) {
      if ((byField.get(field) ?? []).length === 0) byField.set(field, details);
    }
  }
  return [...byField.values()].flat();
}
