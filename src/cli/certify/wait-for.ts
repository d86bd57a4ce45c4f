import type { GatewayProxy } from './gateway-proxy.ts';

/** The first value that `find` returns. It is called after every change at the proxy. Undefined after `ms` or an interruption. */
export function waitFor<T>(
  proxy: Pick<GatewayProxy, 'onChange'>,
  find: () => T | undefined,
  ms: number,
  stop: AbortSignal,
): Promise<T | undefined> {
  return new Promise((resolve) => {
    const end = (value: T | undefined): void => {
      forget();
      clearTimeout(timer);
      stop.removeEventListener('abort', abort);
      resolve(value);
    };
    const check = (): void => {
      const value = find();
      if (value !== undefined) end(value);
    };
    const abort = (): void => end(undefined);
    const forget = proxy.onChange(check);
    const timer = setTimeout(() => end(find()), ms);
    stop.addEventListener('abort', abort, { once: true });
    if (stop.aborted) end(undefined);
    else check();
  });
}
