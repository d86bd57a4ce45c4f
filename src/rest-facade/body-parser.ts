import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readJsonObject, unreadableBody } from './json-body.ts';
import type { BodyReading } from './json-body.ts';
import { invalidRequest } from './request-failure.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null before the body is read, and when none was sent. */
    bodyReading: BodyReading | null;
  }
}

/** The largest body, in bytes. The longest valid registration has about a quarter of it. */
export const maxBodyBytes = 32 * 1024;

const jsonContentType =
  /^application\/json[ \t]*(?:;[ \t]*(?:charset[ \t]*=[ \t]*(?:utf-?8|"utf-?8")[ \t]*)?)?$/i;

/**
 * Reads every body of the instance's routes as a JSON object. Another body is not an error here. It becomes a `bodyReading`
 * with issues, which the handler reports together with all other problems of the request.
 */
export function addJsonBodyParser(
  app: FastifyInstance,
  fieldsOf: (routeUrl: string) => readonly string[],
): void {
  app.decorateRequest('bodyReading', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const reading =
      headerProblem(request.headers) ??
      (await readBody(payload, (bytes) => readJsonObject(bytes, fieldsOf(request.routeOptions.url ?? ''))));
    request.bodyReading = reading;
    // The rest of a refused body is read and dropped. Otherwise a connection reset could destroy the answer before a client
    // that is still sending reads it. The request timeout limits the duration.
    payload.resume();
    return reading.readable ? reading.object : {};
  });
}

/** The detail for a content type that is missing or not JSON. */
export const contentTypeProblem = unreadableBody('must be application/json', 'Content-Type');

function headerProblem(headers: IncomingHttpHeaders): BodyReading | undefined {
  if (!jsonContentType.test(headers['content-type'] ?? '')) return contentTypeProblem;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return unreadableBody('must not be set; send the body uncompressed', 'Content-Encoding');
  }
  return Number(headers['content-length'] ?? 0) > maxBodyBytes ? tooLarge() : undefined;
}

const tooLarge = (): BodyReading => unreadableBody(`must be at most ${maxBodyBytes} bytes`);

/** @throws RequestFailure when the client disconnects before its body is complete. */
function readBody(payload: IncomingMessage, read: (bytes: Buffer) => BodyReading): Promise<BodyReading> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxBodyBytes) {
        payload.removeListener('data', onData);
        resolve(tooLarge());
      } else {
        chunks.push(chunk);
      }
    };
    payload.on('data', onData);
    payload.once('end', () => {
      if (size <= maxBodyBytes)
        resolve(read(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    });
    payload.once('error', () =>
      reject(invalidRequest([{ field: 'body', issue: 'must be sent completely' }])),
    );
  });
}
