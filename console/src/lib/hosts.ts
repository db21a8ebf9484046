// Who is who on a ladder: the site knows its own addresses better than the messages tell.
import type { FunctionRow, Host, TrailDetail } from './api';

/**
 * The trail with its hosts named: addresses of the site's ports by function and port. What stands
 * between the legs without being ours keeps its address, for the name it gives is its peer's.
 */
export function named(detail: TrailDetail, functions: FunctionRow[]): TrailDetail {
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
    return host.self ? { ...host, label: host.address } : host;
  });
  return { ...detail, hosts };
}
