// A trail as plain text: the messages one below the other, each with time, way and transport.
import type { TrailDetail } from './api';
import { clock, date, offset } from './format';

export function asText(detail: TrailDetail): string {
  const start = detail.messages[0]?.at_us ?? 0;
  const host = (index: number) => detail.hosts[index]?.address ?? '?';
  const parts = detail.messages.map(
    (m) =>
      `--- ${m.n}  ${date(m.at_us)} ${clock(m.at_us)}  ${offset(m.at_us - start)} s  ` +
      `${host(m.from)} -> ${host(m.to)}  ${m.transport}${m.tags ? `, ${m.tags}` : ''}\n${m.text.replace(/\r\n/g, '\n')}`,
  );
  return parts.join('\n');
}
