// Pictures of the page for the documentation, from the mock: docs/pictures/*.png.
import { mkdir, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { openBrowser, openPage } from './browser.mjs';
import { startMock } from './mock.mjs';

const PLACE = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const BYTES_MAX = 300_000;
const LADDER = '/calls/T7002?m=2&view=changes';
const PHONE = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, isMobile: true };
const TALL = { viewport: { width: 1280, height: 1080 } };
const DARK = { colorScheme: 'dark' };

const PICTURES = [
  ['call', LADDER, {}],
  ['call-dark', LADDER, DARK],
  ['overview', '/', {}],
  ['overview-dark', '/', DARK],
  ['calls', '/calls', {}],
  ['metrics', '/metrics', DARK],
  ['phone', '/calls/T7002', PHONE],
  ['routes', '/routes?within=10.1.0.0/16&route=10.1.3.0/24', {}, ['rr']],
  ['trace', '/edge?view=trace', {}, ['pe']],
  ['network', '/network?from=1921.6800.0001&to=1921.6800.0010', TALL, ['pe']],
  ['ss7', '/ss7', DARK, ['sgc']],
  ['messages', '/messages?to=447700900107', {}, ['ipsmgw']],
];

const SITES = new Map();
/** The stand-in of a site with these functions. */
async function siteOf(kinds = ['ssc', 'sas']) {
  const key = kinds.join();
  if (!SITES.has(key)) SITES.set(key, await startMock(0, { kinds }));
  const site = SITES.get(key);
  site.mock.traced = true;
  return site;
}
const browser = await openBrowser();
await mkdir(PLACE, { recursive: true });
// `node test/screenshots.mjs NAME …`: these alone.
const wanted = process.argv.slice(2);
for (const [name, path, options, kinds] of PICTURES) {
  if (wanted.length && !wanted.includes(name)) continue;
  const site = await siteOf(kinds);
  const { page, context, faults } = await openPage(browser, site.url, {
    reducedMotion: 'reduce',
    deviceScaleFactor: 1.25,
    viewport: { width: 1280, height: 780 },
    ...options,
  });
  await page.goto(`${site.url}/#token=${site.token}&${path}`);
  await page.waitForTimeout(3_500);
  const file = `${PLACE}${name}.png`;
  await page.screenshot({ path: file });
  await context.close();
  const { size } = await stat(file);
  console.log(`${name}.png ${Math.round(size / 1000)} kB`);
  if (faults.length || size > BYTES_MAX) {
    console.error(faults.length ? faults : `${name}.png is larger than ${BYTES_MAX} octets`);
    process.exitCode = 1;
  }
}
await browser.close();
for (const site of SITES.values()) await site.stop();
