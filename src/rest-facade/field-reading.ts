import type { FastifyRequest, FastifySchemaValidationError } from 'fastify';
import type { ErrorDetail } from '../merchant-api/error-envelope.ts';
import { invalidRequest } from './request-failure.ts';
import type { RequestFailure } from './request-failure.ts';
import { failureOfRpc } from './rpc-failure.ts';

/** The usable fields of a request, and the problems that the facade itself finds. */
export interface FieldReading<F extends string> {
  /** A field's text; '' when it is missing or cannot be sent to core. */
  readonly text: (field: F) => string;
  /** Whether any field has a text that core can check. */
  readonly usable: boolean;
  /** Problems of presence, type and readability. They take precedence over core's issues, because only the facade sees the JSON. */
  readonly problems: readonly ErrorDetail[];
  /** Problems with lengths and patterns of the schema. Core's issues take precedence, because their texts are better. */
  readonly schemaProblems: readonly ErrorDetail[];
}

/** Reads the named fields of a request's body after Fastify has validated it against the route's schema. */
export function readFields<F extends string>(request: FastifyRequest, fields: readonly F[]): FieldReading<F> {
  const reading = request.bodyReading;
  const body = reading === null ? {} : reading.readable ? reading.object : undefined;
  const problems: ErrorDetail[] = [...(reading?.issues ?? [])];
  const schemaProblems: ErrorDetail[] = [];
  for (const error of body === undefined ? [] : schemaErrors(request)) {
    const { detail, definite } = problemOf(error);
    // The intended value of a field that was given twice is unknown, so it gets no further issues.
    if (reading?.issues.some(({ field }) => field === detail.field) === true) continue;
    if (definite) problems.push(detail);
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

/** The errors of ajv about the body. Fastify does not declare their type. */
function schemaErrors(request: FastifyRequest): readonly FastifySchemaValidationError[] {
  const error = request.validationError;
  if (error?.validationContext !== 'body') return [];
  const found: unknown = error.validation;
  if (!Array.isArray(found)) return [];
  // A value that is too long or empty also violates the pattern, and only the length has a text of its own.
  const [lengths, others] = [true, false].map((wanted) =>
    found.filter(isSchemaError).filter(({ keyword }) => /^(min|max)Length$/.test(keyword) === wanted),
  );
  return [...(lengths ?? []), ...(others ?? [])];
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
        detail: { field, issue: `does not have the form that the API reference describes` },
        definite: false,
      };
  }
}

/**
 * Collects all problems of a request, from the facade and from core, and returns the 400 with them. `ask` sends the usable
 * fields to core with `validate_only`. It is not called when no field is usable.
 * @throws RequestFailure with another answer when core refuses the request for another reason than its fields.
 */
export async function mergedRefusal<F extends string>(
  reading: FieldReading<F>,
  order: readonly string[],
  ask: () => Promise<unknown>,
): Promise<RequestFailure> {
  const coreProblems = reading.usable ? await problemsCoreSees(ask) : [];
  return invalidRequest(mergeDetails([reading.problems, coreProblems, reading.schemaProblems], order));
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

/** Keeps the first issue of each field. Fields in `order` come first, then all others. */
function mergeDetails(sources: readonly (readonly ErrorDetail[])[], order: readonly string[]): ErrorDetail[] {
  const byField = new Map<string, readonly ErrorDetail[]>(order.map((field) => [field, []]));
  for (const source of sources) {
    const found = Map.groupBy(source, ({ field }) => field);
    for (const [field, details] of found) {
      if ((byField.get(field) ?? []).length === 0) byField.set(field, details);
    }
  }
  return [...byField.values()].flat();
}
