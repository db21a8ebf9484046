import { expect, test } from 'vitest';
import { above, prefixOf } from '../../src/lib/prefix';

test('prefixes and addresses are read, and cut to their length', () => {
  expect(prefixOf('10.1.2.3/8')?.text).toBe('10.0.0.0/8');
  expect(prefixOf('10.1.2.3')).toEqual({ text: '10.1.2.3/32', length: 32, width: 32 });
  expect(prefixOf('2001:db8:0:1::5/64')?.text).toBe('2001:db8:0:1::/64');
  expect(prefixOf('::/0')?.text).toBe('::/0');
  expect(prefixOf('::1')?.text).toBe('::1/128');
  expect(prefixOf('fe80:0:0:1:2:3:4:5')?.text).toBe('fe80::1:2:3:4:5/128');
  for (const wrong of [
    '',
    '10',
    '10.1.2.256',
    '10.0.0.0/33',
    '1::2::3',
    'g::',
    '10.0.0.0/8/9',
    '::/x',
  ])
    expect(prefixOf(wrong)).toBeNull();
});

test('the way to a prefix has the lengths at which people divide', () => {
  const way = (text: string) => above(prefixOf(text)!);
  expect(way('10.1.3.0/24')).toEqual(['10.0.0.0/8', '10.1.0.0/16']);
  expect(way('10.0.0.0/8')).toEqual([]);
  expect(way('2001:db8:1:2::/64')).toEqual(['2001::/16', '2001:db8::/32', '2001:db8:1::/48']);
});
