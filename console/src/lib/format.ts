// Figures and times as people read them. Everything takes microseconds, milliseconds or seconds
// as its name says and gives text; nothing gives NaN.

const NONE = '–';

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** Local wall clock with milliseconds, `14:03:09.120`. */
export function clock(at_us: number): string {
  const at = new Date(at_us / 1000);
  const ms = String(at.getMilliseconds()).padStart(3, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${ms}`;
}

/** Local date, `2026-11-21`. */
export function date(at_us: number): string {
  const at = new Date(at_us / 1000);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** Clock for today, else date and clock. */
export function moment(at_us: number, now_ms: number): string {
  const time = clock(at_us).slice(0, 8);
  return date(at_us) === date(now_ms * 1000) ? time : `${date(at_us).slice(5)} ${time}`;
}

/** Offset from the first message in seconds, `+0.120`. */
export function offset(us: number): string {
  const s = us / 1e6;
  const digits = s >= 1000 ? 1 : 3;
  return `${s < 0 ? '−' : '+'}${Math.abs(s).toFixed(digits)}`;
}

/** A length of time, from milliseconds to days. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE;
  if (ms < 1) return '<1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const s = Math.floor(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)}:${two(s % 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)} h`;
  return `${Math.floor(s / 86_400)} d ${Math.floor(s / 3600) % 24} h`;
}

/** A short time within a machine: `410 µs`, `2.3 ms`. */
export function brief(us: number): string {
  if (us < 1_000) return `${us} µs`;
  return us < 100_000 ? `${(us / 1000).toFixed(1)} ms` : duration(us / 1000);
}

/** Time until or since, in one unit: `in 28 s`, `3 min ago`. */
export function relative(at_us: number, now_ms: number): string {
  const s = Math.round(at_us / 1e6 - now_ms / 1000);
  const a = Math.abs(s);
  if (a < 2) return 'now';
  const [value, unit] =
    a < 60
      ? [a, 's']
      : a < 3600
        ? [Math.floor(a / 60), 'min']
        : a < 86_400
          ? [Math.floor(a / 3600), 'h']
          : [Math.floor(a / 86_400), 'd'];
  return s > 0 ? `in ${value} ${unit}` : `${value} ${unit} ago`;
}

/** A count with thin spaces, or with a prefix when it is long: `1 234`, `1.25 M`. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const a = Math.abs(value);
  if (a >= 1e9) return `${(value / 1e9).toFixed(2)} G`;
  if (a >= 1e6) return `${(value / 1e6).toFixed(2)} M`;
  if (a >= 1e5) return `${(value / 1e3).toFixed(0)} k`;
  if (a < 100 && !Number.isInteger(value)) return value.toFixed(a < 10 ? 2 : 1);
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** Octets with a binary prefix. */
export function octets(value: number): string {
  if (value < 1024) return `${value} B`;
  if (value < 1 << 20) return `${(value / 1024).toFixed(1)} KiB`;
  if (value < 1 << 30) return `${(value / (1 << 20)).toFixed(1)} MiB`;
  return `${(value / (1 << 30)).toFixed(1)} GiB`;
}

/** A metric's value in the unit that its name ends with. */
export function measure(name: string, value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  if (name.endsWith('_us')) return value < 1 ? '0' : brief(Math.round(value));
  if (name.endsWith('_ms')) return value < 1 ? '0' : duration(value);
  if (name.endsWith('_s')) return value < 1 ? '0' : duration(value * 1000);
  return /_(bytes|octets)$/.test(name) ? octets(value) : count(value);
}

/** What people call a party: the user of a URI, else its host, without scheme and brackets. */
export function party(uri: string): string {
  const inner = /<([^>]*)>/.exec(uri)?.[1] ?? uri;
  const bare = inner.replace(/^(sips?|tel):/i, '').replace(/[;?].*$/, '');
  return bare.split('@')[0] || NONE;
}

/** The domain of a URI, if it has one. */
export function domain(uri: string): string {
  const inner = /<([^>]*)>/.exec(uri)?.[1] ?? uri;
  return inner.replace(/[;?].*$/, '').split('@')[1] ?? '';
}

/** A sentence's beginning. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Words of metrics that their field writes in capitals. */
const ACRONYMS = new Map(
  'AS ASP BGP BMP DNS HEP HTTP MAC MRT MSU NG RPKI RTCP RTP RTR SCTP SIP SRTP SSNM TCP TLS UDP'
    .split(' ')
    .flatMap((word) => [
      [word.toLowerCase(), word],
      [`${word.toLowerCase()}s`, `${word}s`],
    ]),
);

/** A metric's name as a title: `sgc_msus_received_total` → `MSUs received`. */
export function title(name: string): string {
  const words = name
    .replace(/^[a-z0-9]+_/, '')
    .replace(/_total$/, '')
    .replace(/_(us|ms|s|bytes|octets)$/, '')
    .split('_')
    .map((word) => (word === 'as' ? 'AS' : (ACRONYMS.get(word) ?? word)));
  return capital(words.join(' '));
}
