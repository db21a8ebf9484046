// Who is who on a ladder: the site knows its own addresses better than the messages tell.
import { api, type FunctionRow, type Host, type NextHop, type TrailDetail } from './api';

/** The next hops of all controllers; none of those that do not answer. */
export async function nextHops(functions: FunctionRow[]): Promise<NextHop[]> {
  const controllers = functions.filter((row) => row.kind === 'ssc');
  const lists = controllers.map((row) => api.nextHops(row.name).catch(() => []));
  return (await Promise.all(lists)).flat();
}

/**
 * The trail with its hosts named: addresses of the site's ports by function and port, next hops by
 * their name. What stands between the legs without being ours keeps its address, for the name it
 * gives is its peer's.
 */
export function named(
  detail: TrailDetail,
  functions: FunctionRow[],
  hops: NextHop[] = [],
): TrailDetail {
  const own = new Map<string, string>();
  for (const { name, ports } of functions) {
    for (const port of ports) {
      const bare = port.name.replace(new RegExp(`\\W*${port.transport}$`, 'i'), '');
      own.set(port.address, bare ? `${name} ${bare}` : name);
    }
  }
  const hosts = detail.hosts.map((host): Host => {
    const label = own.get(host.address);
    if (label !== undefined) return { ...host, label, self: true };
    if (host.self) return { ...host, label: host.address };
    const hop = hops.find((row) => row.target === host.address);
    return hop ? { ...host, label: hop.name } : host;
  });
  return { ...detail, hosts };
}
