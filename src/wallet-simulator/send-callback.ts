/** A callback to a client. */
export interface OutgoingCallback {
  readonly url: string;
  readonly method: 'PUT' | 'POST';
  readonly contentType: string;
  readonly body: string;
}

/** Sends one callback. Resolves with the status of the answer, or the reason of a failure. */
export async function sendCallback(
  { closing, callbackTimeoutMs }: { readonly closing: AbortSignal; readonly callbackTimeoutMs: number },
  { url, method, contentType, body }: OutgoingCallback,
): Promise<number | string> {
  try {
    const response = await fetch(url, {
      method,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([closing, AbortSignal.timeout(callbackTimeoutMs)]),
      headers: { 'content-type': contentType },
    });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    if (!(error instanceof Error)) return String(error);
    return error.cause instanceof Error ? error.cause.message : error.message;
  }
}
