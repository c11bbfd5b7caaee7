/** Where a server that runs for a graph is, and the address of a view of its studio. */

/** What `trellis serve` writes into its file. */
export interface Announcement {
  address: string;
  token: string | null;
  pid: number;
  /** The names of its graphs. */
  graphs?: string[];
}

/** Returns the address of the studio; of a node of its first graph, the one that it runs for. */
export function studioAddress({ address, token, graphs }: Announcement, node: string | undefined): string {
  const part = encodeURIComponent;
  const graph = graphs?.length === 1 ? graphs[0] : undefined;
  const view = graph === undefined || node === undefined ? undefined : `/g/${part(graph)}?node=${part(node)}`;
  if (view === undefined) return token === null ? `${address}/` : `${address}/#${part(token)}`;
  return token === null ? `${address}/#${view}` : `${address}/#token=${part(token)}&${view}`;
}
