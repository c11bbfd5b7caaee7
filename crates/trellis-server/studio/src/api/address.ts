/** Addresses of routes, below whatever prefix the page has. */

export type Query = Record<string, string | number | boolean | undefined>;

/** The address of a route. */
export function address(path: string, query: Query = {}): string {
  const url = new URL(path, new URL("./", document.baseURI));
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(key, String(value));
  }
  return url.href;
}
