import { accessRules } from './access-rules.ts';

/** A placeholder for the dashboard's origin. It only serves to detect another origin. */
const ownOrigin = 'http://dashboard.invalid';
const longestPath = 2_000;

type Method = 'GET' | 'POST';

/** The routes that require a signed-in user. Only these redirect to the sign-in page, which leads back only to these. */
const guardedRoutes: Readonly<Record<Method, readonly RegExp[]>> = {
  GET: guardedBy('GET'),
  POST: guardedBy('POST'),
};

function guardedBy(method: Method): RegExp[] {
  return Object.entries(accessRules).flatMap(([name, { who }]) => {
    const [of, route = ''] = name.split(' ');
    if (of !== method || who === 'everyone') return [];
    const pattern = route.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+');
    return [new RegExp(`^${pattern}/?$`)];
  });
}

/**
 * The path and query of a guarded route, from a text that a browser sent; undefined for every other text. The text is parsed as browsers
 * do, which read a backslash as a slash and drop tabs and line ends. The result is built from the parsed URL, never from the text itself.
 */
export function guardedPath(text: unknown, method: Method): string | undefined {
  if (typeof text !== 'string' || !text.startsWith('/') || text.length > longestPath) return undefined;
  const url = URL.parse(text, ownOrigin);
  if (url?.origin !== ownOrigin) return undefined;
  const { pathname, search } = url;
  return guardedRoutes[method].some((route) => route.test(pathname)) ? `${pathname}${search}` : undefined;
}
