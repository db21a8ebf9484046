// Figures, colours and searches as people see them.
import { expect, it } from 'vitest';
import type { Trail } from '../../src/lib/api';
import { belongs, parameters } from '../../src/lib/find';
import { count, domain, duration, offset, party, relative, title } from '../../src/lib/format';
import { highlight } from '../../src/lib/highlight';
import { tokens } from '../../src/lib/toml';

it('lengths of time choose their unit', () => {
  expect([0.2, 86, 2_940, 42_500, 125_000, 7_265_000, 190_000_000].map(duration)).toEqual([
    '<1 ms',
    '86 ms',
    '2.94 s',
    '42.5 s',
    '2:05 min',
    '2:01 h',
    '2 d 4 h',
  ]);
  expect([null, undefined, NaN].map((value) => duration(value))).toEqual(['–', '–', '–']);
});

it('counts stay readable', () => {
  expect([0, 7.25, 42.25, 4120, 123_456, 12_500_000].map(count)).toEqual([
    '0',
    '7.25',
    '42.3',
    '4\u202f120',
    '123 k',
    '12.50 M',
  ]);
});

it('offsets carry their sign', () => {
  expect([offset(0), offset(586_000), offset(-1_500_000)]).toEqual(['+0.000', '+0.586', '−1.500']);
});

it('times are told from now', () => {
  expect(relative(130e6, 100_000)).toBe('in 30 s');
  expect(relative(0, 7_300_000)).toBe('2 h ago');
});

it('parties lose their dress', () => {
  expect(party('"A" <sip:+4930@x.net;user=phone>;tag=1')).toBe('+4930');
  expect(party('tel:+49-30-55')).toBe('+49-30-55');
  expect(domain('sip:a@x.net:5060;lr')).toBe('x.net:5060');
  expect(title('ssc_calls_started_total')).toBe('Calls started');
  expect(title('ssc_post_dial_delay_us')).toBe('Post dial delay');
});

it('the pieces of a highlighted message are the message', () => {
  const text =
    'INVITE sip:+4940@x;user=phone SIP/2.0\nFrom: "A \\"B\\"" <sip:a@x>;tag=9\n folded\n' +
    'odd line\nContent-Length: 12\n\nv=0\nm=audio 1 RTP/AVP 8\n\nrest';
  const lines = highlight(text);
  expect(lines.map((line) => line.map((piece) => piece.text).join('')).join('\n')).toBe(text);
  expect(lines[0]?.[0]).toEqual({ text: 'INVITE', shade: 'method' });
  expect(lines[1]?.[0]).toEqual({ text: 'From', shade: 'name' });
});

it('a search becomes the parameters of the API', () => {
  expect(parameters({ q: ' 4940 ', in: 'number', status: '486', live: '1' }, 0)).toEqual({
    kind: 'call',
    number: '4940',
    status: '486',
  });
  expect(parameters({ range: '15m' }, 1_000_000)).toEqual({ kind: 'call', from_us: 100_000_000 });
  expect(parameters({ range: 'between', from: 'never', kind: 'any' }, 0)).toEqual({
    without: 'options',
  });
  expect(parameters({ kind: 'any', q: '10.0.0.9' }, 0)).toEqual({ q: '10.0.0.9' });
});

it('the live tail keeps to the search', () => {
  const trail = {
    kind: 'call',
    outcome: 'busy',
    method: 'INVITE',
    status: 486,
    from: 'sip:+4930@x',
    to: 'sip:+4940@x',
    call_ids: ['abc'],
    hosts: ['10.0.0.1:5060'],
  } as unknown as Trail;
  expect(belongs(trail, {})).toBe(true);
  const probe = { ...trail, kind: 'options' };
  expect(belongs(probe, { kind: 'any' })).toBe(false);
  expect(belongs(probe, { kind: 'any', q: '4940' })).toBe(true);
  expect(belongs(trail, { q: '4940', outcome: 'busy', status: '4xx' })).toBe(true);
  expect(belongs(trail, { q: '0030', in: 'number' })).toBe(true);
  expect(belongs(trail, { q: '30*' })).toBe(true);
  expect(belongs(trail, { q: 'abc', in: 'number' })).toBe(false);
  expect(belongs(trail, { status: '200' })).toBe(false);
});

it('the pieces of a coloured site file are the site file', () => {
  const text =
    '# top\n[[ssc.realm]]\nname = "a # b"\nlisten = ["udp:1", \'x\']\nshards = 2 # two\nbad line';
  const pieces = tokens(text);
  expect(pieces.map((piece) => piece.text).join('')).toBe(text);
  expect(pieces.filter((piece) => piece.shade === 'comment').map((piece) => piece.text)).toEqual([
    '# top',
    '# two',
  ]);
  expect(pieces.find((piece) => piece.shade === 'table')?.text).toBe('[[ssc.realm]]');
});
