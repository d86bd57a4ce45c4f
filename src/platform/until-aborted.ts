/** Yields the items of the source until it ends or `stop` aborts. Later items of the source are lost. */
export async function* untilAborted<T>(source: AsyncIterable<T>, stop: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const next = (): Promise<IteratorResult<T, unknown>> =>
    new Promise((resolve, reject) => {
      const end = (): void => resolve({ done: true, value: undefined });
      if (stop.aborted) {
        end();
        return;
      }
      stop.addEventListener('abort', end, { once: true });
      iterator
        .next()
        .then(resolve, reject)
        .finally(() => stop.removeEventListener('abort', end));
    });
  for (let result = await next(); result.done !== true; result = await next()) yield result.value;
}
