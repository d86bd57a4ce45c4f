import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readJsonObject, unreadableBody } from './json-body.ts';
import type { BodyReading } from './json-body.ts';
import { invalidRequest } from './request-failure.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null before the body is read, and when none was sent. */
    bodyReading: BodyReading | null;
    /** The size of the body, in bytes. 0 for a body that is not kept, whatever its Content-Length says. */
    bodyBytes: number;
  }
}

/** The largest body, in bytes. The longest valid registration has about a quarter of it. */
const maxBodyBytes = 32 * 1024;

const jsonContentType =
  /^application\/json[ \t]*(?:;[ \t]*(?:charset[ \t]*=[ \t]*(?:utf-?8|"utf-?8")[ \t]*)?)?$/i;
const jsonWithParameters = /^application\/json[ \t]*;/i;

/**
 * Reads every body of the instance's routes as a JSON object. Another body is not an error here. It becomes a `bodyReading`
 * with issues, which the handler reports together with all other problems of the request.
 */
export function addJsonBodyParser(
  app: FastifyInstance,
  fieldsOf: (routeUrl: string) => readonly string[],
): void {
  app.decorateRequest('bodyReading', null);
  app.decorateRequest('bodyBytes', 0);
  app.removeAllContentTypeParsers();
  const parse = (
    request: FastifyRequest,
    payload: IncomingMessage,
    done: (error: Error | null, body?: object) => void,
  ): void => {
    const take = (reading: BodyReading): void => {
      request.bodyReading = reading;
      // The rest of a refused body is read and dropped. Otherwise a connection reset could destroy the answer before a client
      // that is still sending reads it. The request timeout limits the duration.
      payload.resume();
      done(null, reading.readable ? reading.object : {});
    };
    const problem = headerProblem(request.headers);
    if (problem !== undefined) take(problem);
    else
      readBody(payload, {
        whole: (bytes) => {
          request.bodyBytes = bytes.length;
          take(readJsonObject(bytes, fieldsOf(request.routeOptions.url ?? '')));
        },
        tooLarge: () => take(tooLarge()),
        cutOff: () => done(invalidRequest([{ field: 'body', issue: 'must be sent completely' }])),
      });
  };
  // Fastify remembers the parser of a type with a name of its own, and otherwise parses the header of every request.
  for (const type of ['application/json', '*']) app.addContentTypeParser(type, parse);
}

/** The detail for a content type that is missing or not JSON. */
export const contentTypeProblem = unreadableBody('must be application/json', 'Content-Type');

/** JSON in another character set, or with a parameter that JSON does not have (RFC 8259, section 11). */
const parameterProblem = unreadableBody(
  'must have no parameter but charset=utf-8; send the body in UTF-8',
  'Content-Type',
);

function headerProblem(headers: IncomingHttpHeaders): BodyReading | undefined {
  const type = headers['content-type'] ?? '';
  if (!jsonContentType.test(type))
    return jsonWithParameters.test(type) ? parameterProblem : contentTypeProblem;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return unreadableBody('must not be set; send the body uncompressed', 'Content-Encoding');
  }
  return Number(headers['content-length'] ?? 0) > maxBodyBytes ? tooLarge() : undefined;
}

const tooLarge = (): BodyReading => unreadableBody(`must be at most ${maxBodyBytes} bytes`);

interface BodyEnds {
  readonly whole: (bytes: Buffer) => void;
  readonly tooLarge: () => void;
  /** The client disconnected before its body was complete. */
  readonly cutOff: () => void;
}

/** Calls one of the functions, once. */
function readBody(payload: IncomingMessage, ends: BodyEnds): void {
  const chunks: Buffer[] = [];
  let size = 0;
  let isOver = false;
  const end = (notify: () => void): void => {
    if (isOver) return;
    isOver = true;
    notify();
  };
  const onData = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > maxBodyBytes) {
      payload.removeListener('data', onData);
      end(ends.tooLarge);
    } else {
      chunks.push(chunk);
    }
  };
  payload.on('data', onData);
  payload.once('end', () =>
    end(() => {
      const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
      // The listeners live as long as the request, which may wait.
      chunks.length = 0;
      ends.whole(bytes);
    }),
  );
  payload.once('error', () => end(ends.cutOff));
}
