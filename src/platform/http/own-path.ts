/**
 * The path and query of a request's target, as they can stand in a link of ours. Total: a client sends what it likes.
 * A target that begins with two slashes or backslashes names another host to a browser, so one slash is left of them.
 */
export function ownPath(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '', ...rest] = target.split('?');
  return {
    path: /^[/\\]/.test(path) ? path.replace(/^[/\\]+/, '/') : '/',
    query: new URLSearchParams(rest.join('?')),
  };
}
