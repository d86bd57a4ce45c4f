/**
 * Loaded into a facade before its own code. Requests with the header `x-traced: 0` are then handled as if tracing were off, so that one
 * process handles both kinds by turns. Two processes with the same settings differ by several percent for as long as they run.
 */
import { registerHooks } from 'node:module';

const switched = new URL('switched-requests.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    specifier === './trace-requests.ts' && context.parentURL?.endsWith('/edge-server.ts') === true
      ? { url: switched, shortCircuit: true }
      : nextResolve(specifier, context),
});
