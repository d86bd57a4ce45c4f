import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readJsonObject, unreadableBody } from './json-body.ts';
import type { BodyReading } from './json-body.ts';
import { invalidRequest } from './request-failure.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the body has been looked at; null while it has not, or when none was sent. */
    bodyReading: BodyReading | null;
  }
}

/** Bytes a body may have; the longest legal registration needs about a quarter of it. */
export const maxBodyBytes = 32 * 1024;

const jsonContentType =
  /^application\/json[ \t]*(?:;[ \t]*(?:charset[ \t]*=[ \t]*(?:utf-?8|"utf-?8")[ \t]*)?)?$/i;

/**
 * Makes every body of the instance's routes a JSON object. A body that cannot be one is no error here: it becomes a
 * `bodyReading` with issues, for the handler to report together with everything else that is wrong with the request.
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
    // What is left of a refused body is read and dropped: a client that is still sending would otherwise lose the
    // answer to a connection reset. The request timeout bounds how long that can go on.
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

/** @throws RequestFailure when the client goes away before its body is complete. */
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
