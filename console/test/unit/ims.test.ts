import { expect, test } from 'vitest';
import type { Explanation, RegEvent, SecurityAgreement } from '../../src/lib/api';
import {
  failures,
  keyOf,
  type Of,
  phoneCount,
  phones,
  ports,
  unique,
  watched,
} from '../../src/lib/ims';

function row(impi: string, state: string, more: Partial<SecurityAgreement> = {}) {
  const agreement: Of<SecurityAgreement> = {
    function: 'ssc1',
    impi,
    realm: 'access',
    state,
    ue: '10.0.0.7:6100',
    outside: null,
    algorithms: 'null/aes-gcm',
    ue_ports: [6200, 6100],
    own_ports: null,
    spi_in: [1, 2],
    spi_out: [3, 4],
    packets_in: 0,
    packets_out: 0,
    replayed: 0,
    forged: 0,
    expires_at_us: 5,
    ...more,
  };
  return agreement;
}

test('the agreements of a phone stand together, the one that serves first', () => {
  const rows = [row('b@x', 'old'), row('a@x', 'challenged'), row('b@x', 'current')];
  expect(phones(rows, '').map((it) => [it.impi, it.state])).toEqual([
    ['a@x', 'challenged'],
    ['b@x', 'current'],
    ['b@x', 'old'],
  ]);
  expect(phoneCount(rows)).toBe(2);
});

test('a phone is found by identity, address, NAT, algorithm and state', () => {
  const rows = [row('a@x', 'current', { outside: '203.0.113.9:61022' }), row('b@y', 'old')];
  expect(phones(rows, ' A@X ').length).toBe(1);
  expect(phones(rows, '203.0.113').length).toBe(1);
  expect(phones(rows, 'aes-gcm').length).toBe(2);
  expect(phones(rows, 'old').map((it) => it.impi)).toEqual(['b@y']);
  expect(phones(rows, '10.0.0.8')).toEqual([]);
});

test('what was asked for twice is shown once', () => {
  const [one, two] = [row('a@x', 'current'), row('a@x', 'old', { spi_in: [9, 10] })];
  expect(unique([one, two, { ...one }]).map(keyOf)).toEqual([keyOf(one), keyOf(two)]);
});

test('failures are the newest first, and found by their words', () => {
  const failure = (impi: string, ago_s: number, why: string): Of<Explanation> => ({
    function: 'ssc1',
    impi,
    source: '10.0.0.7:5060',
    ago_s,
    why,
  });
  const rows = [failure('a@x', 9, 'no answer'), failure('b@x', 3, 'the core answered 403')];
  expect(failures(rows, '').map((it) => it.impi)).toEqual(['b@x', 'a@x']);
  expect(failures(rows, '403').map((it) => it.impi)).toEqual(['b@x']);
  expect([ports([6200, 6100]), ports(null)]).toEqual(['6200/6100', '']);
});

test('what the core refuses to tell comes first, and is found by its status', () => {
  const row = (identity: string, refused: number | null): Of<RegEvent> => ({
    function: 'ssc1',
    identity,
    realm: 'access',
    state: refused ? 'waiting' : 'standing',
    core: '10.1.0.2:5060',
    version: refused ? null : 3,
    refused,
    failures: refused ? 1 : 0,
    expires_at_us: null,
    due_at_us: 5,
  });
  const rows = [row('sip:b@x', null), row('sip:c@x', 489), row('sip:a@x', null)];
  expect(watched(rows, '').map((it) => it.identity)).toEqual(['sip:c@x', 'sip:a@x', 'sip:b@x']);
  expect(watched(rows, '489').map((it) => it.identity)).toEqual(['sip:c@x']);
  expect(watched(rows, 'standing').length).toBe(2);
});
