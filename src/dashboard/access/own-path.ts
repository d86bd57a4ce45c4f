import { accessRules } from './access-rules.ts';

/** Stands for wherever the dashboard is reached: only whether a text leaves it matters. */
const ownOrigin = 'http://dashboard.invalid';
const longestPath = 2_000;

type Method = 'GET' | 'POST';

/** The routes that ask who somebody is. Only from those is anybody sent to sign in, and only there do they go on. */
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
 * The path and query of one of our routes, from a text that a browser sent; undefined for every other text. The text is
 * parsed as browsers do it, who read a backslash as a slash and drop tabs and line ends. The result is what was parsed,
 * never the text itself.
 */
export function ownPath(text: unknown, method: Method): string | undefined {
  if (typeof text !== 'string' || !text.startsWith('/') || text.length > longestPath) return undefined;
  const url = URL.parse(text, ownOrigin);
  if (url?.origin !== ownOrigin) return undefined;
  const { pathname, search } = url;
  return guardedRoutes[method].some((route) => route.test(pathname)) ? `${pathname}${search}` : undefined;
}
