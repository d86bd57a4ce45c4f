/**
 * The path and query of a request's target, safe for use in our links. Accepts any text, because clients may send anything.
 * A browser reads a target with two leading slashes or backslashes as another host, so only one slash is kept.
 */
export function ownPath(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '', ...rest] = target.split('?');
  return {
    path: /^[/\\]/.test(path) ? path.replace(/^[/\\]+/, '/') : '/',
    query: new URLSearchParams(rest.join('?')),
  };
}
