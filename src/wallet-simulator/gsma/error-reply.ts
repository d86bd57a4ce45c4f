import type { FastifyError, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify';
import { RefusedError, errorObject, refusal, statusByCategory } from './refusal.ts';
import type { ErrorCode, Refusal } from './refusal.ts';

const lengthKeywords = new Set(['minLength', 'maxLength', 'minItems', 'maxItems']);

function codeOf(error: FastifySchemaValidationError & { readonly data?: unknown }): ErrorCode {
  if (error.keyword === 'required') return 'mandatoryValueNotSupplied';
  if (lengthKeywords.has(error.keyword)) return 'lengthError';
  if (/\/offset$/.test(error.instancePath)) return 'invalidOffset';
  const negative = typeof error.data === 'string' && /^-[0-9]/.test(error.data);
  return negative && /amount$/i.test(error.instancePath) ? 'negativeValue' : 'formatError';
}

/** The path of the problem in the client's terms: `debitParty.0.key`. */
function fieldOf({ instancePath, keyword, params }: FastifySchemaValidationError, context: string): string {
  const path = instancePath.split('/').slice(1);
  const missing = keyword === 'required' ? params['missingProperty'] : undefined;
  const field = [...path, ...(typeof missing === 'string' ? [missing] : [])].join('.');
  return field === '' ? context : field;
}

/** All problems found by a schema, in one validation error with the code of the first. */
function invalidRequest(problems: readonly FastifySchemaValidationError[], context: string): Refusal {
  const [first] = problems;
  const named = problems.map((problem): [string, string] => [
    fieldOf(problem, context).slice(0, 256),
    (problem.message ?? 'is not valid').slice(0, 256),
  ]);
  const description = named.map(([field, problem]) => `${field} ${problem}`).join('; ');
  return refusal('validation', first ? codeOf(first) : 'formatError', description, Object.fromEntries(named));
}

/** The refusal to send to the client; undefined for an error of the simulator itself. */
function refusalOf(error: FastifyError): Refusal | undefined {
  if (error instanceof RefusedError) return error.refusal;
  if (error.validation !== undefined)
    return invalidRequest(error.validation, error.validationContext ?? 'request');
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return refusal('validation', 'lengthError', error.message);
  if (error.code === 'FST_ERR_CTP_EMPTY_JSON_BODY') {
    return refusal('validation', 'mandatoryValueNotSupplied', error.message);
  }
  const clientsFault = error.statusCode !== undefined && error.statusCode < 500;
  return clientsFault ? refusal('validation', 'formatError', error.message) : undefined;
}

/** Answers with the contract's error object and the status of its category. Logs unexpected errors. */
export function replyWithErrorObject(now: () => Date) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const known = refusalOf(error);
    if (known === undefined) request.log.error({ err: error }, 'the simulator could not answer a request');
    const told = known ?? refusal('internal', 'genericError', 'The request could not be completed');
    return reply.code(statusByCategory[told.category]).send(errorObject(told, now()));
  };
}
