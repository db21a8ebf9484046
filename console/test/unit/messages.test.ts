import { expect, test } from 'vitest';
import type { Counter, PendingMessage, SmsRegistration } from '../../src/lib/api';
import {
  contact,
  digits,
  type Of,
  percent,
  reasons,
  receivers,
  registered,
  results,
  share,
} from '../../src/lib/messages';

function message(id: number, to: string, more: Partial<Of<PendingMessage>> = {}) {
  const row: Of<PendingMessage> = {
    function: 'sms1',
    id,
    to,
    from: 'Tandem',
    kind: 'message',
    octets: 30,
    received_at_us: id,
    expires_at_us: 900,
    failures: 1,
    due_at_us: 500,
    why: 'the receiver is not registered',
    trail: '0a',
    ...more,
  };
  return row;
}

test('messages stand with their receiver, who has waited longest first', () => {
  const rows = [
    message(5, '441'),
    message(6, '441', { why: 'others are before it' }),
    message(2, '442', { why: 'the receiver is busy' }),
  ];
  const all = receivers(rows);
  expect(all.map((it) => [it.number, it.messages.length, it.since_us])).toEqual([
    ['442', 1, 2],
    ['441', 2, 5],
  ]);
  expect(all[1]?.why).toBe('the receiver is not registered');
  expect(receivers(rows, 'busy').map((it) => it.number)).toEqual(['442']);
  expect(receivers(rows, '+44 1').map((it) => it.messages.length)).toEqual([2]);
});

test('a number is one at each gateway', () => {
  expect(receivers([message(1, '44'), message(2, '44', { function: 'sms2' })]).length).toBe(2);
});

test('reasons count messages and receivers, those of most messages first', () => {
  const rows = [
    message(1, '441', { why: 'the receiver is busy' }),
    message(2, '442'),
    message(3, '442', { why: 'others are before it' }),
  ];
  expect(reasons(receivers(rows))).toEqual([
    { why: 'the receiver is not registered', receivers: 1, messages: 2 },
    { why: 'the receiver is busy', receivers: 1, messages: 1 },
  ]);
});

test('subscribers are found by number as it is typed, identity, contact and what they take', () => {
  const row = (number: string, takes: 'sms' | 'text'): Of<SmsRegistration> => ({
    function: 'sms1',
    number,
    identity: `sip:+${number}@ims.example.org`,
    s_cscf: 'sip:scscf:6060',
    takes,
    contacts: ['<sip:ue@10.0.0.7:5060>;+g.3gpp.smsip'],
    expires_at_us: 9,
  });
  const rows = [row('447700900124', 'text'), row('447700900123', 'sms')];
  expect(registered(rows, '').map((it) => it.number)).toEqual(['447700900123', '447700900124']);
  expect(registered(rows, '+44 7700 900 124').length).toBe(1);
  expect(registered(rows, '10.0.0.7').length).toBe(2);
  expect(registered(rows, 'text').map((it) => it.takes)).toEqual(['text']);
  expect(contact(rows[0]?.contacts[0] ?? '')).toBe('sip:ue@10.0.0.7:5060');
  expect([digits('+44 (77) 00-9'), digits('Tandem'), digits('')]).toEqual(['447700' + '9', '', '']);
});

test('what became of messages is the sum over shards of one gateway, each message once', () => {
  const counter = (name: string, value: number, of = 'sms1', shard = 0): Counter => ({
    function: of,
    shard,
    name: `ipsmgw_${name}_total`,
    kind: 'counter',
    help: '',
    value,
  });
  const counters = [
    counter('deliveries_ps', 90),
    counter('deliveries_ps', 6, 'sms1', 1),
    counter('deliveries_ps', 1_000, 'sms2'),
    counter('deliveries_failed', 4),
    counter('expired', 3),
    counter('duplicates', 2),
  ];
  const [to, from, , core] = results(counters, 'sms1');
  expect(to?.ends.map((it) => it.value)).toEqual([96, 0, 3, 1]);
  expect(to && share(to)).toEqual({ all: 100, good: 0.96 });
  expect(from && share(from)).toEqual({ all: 0, good: null });
  expect(from?.beside.map((it) => it.what)).toEqual(['Came again, answered again']);
  expect(core?.beside).toEqual([]);
});

test('a share is a hundred of all alone', () => {
  expect([null, 0, 0.5, 0.999_999, 1].map(percent)).toEqual([
    '–',
    '0.0 %',
    '50.0 %',
    '99.99 %',
    '100 %',
  ]);
});
