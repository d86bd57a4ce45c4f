/** An answer that ends a call. */
export class FabricError extends Error {
  override readonly name = 'FabricError';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const unavailable = new FabricError(500, '49401024991', 'southbound service unavailable');

/** The answer to a request that could not be read. */
export function badRequest(error: unknown): FabricError {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  return status >= 400 && status < 500
    ? new FabricError(status, '49401024995', 'parameter type mismatch [the body must be JSON]')
    : new FabricError(500, '49401024991', 'southbound service unavailable');
}
