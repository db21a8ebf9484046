// Debian's Chromium through playwright-core, with ears for everything that must not happen:
// console errors, uncaught errors, requests to other hosts, offences against the content policy.
import { chromium } from 'playwright-core';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: FLAGS,
  });
}

/** A page of its own session; `faults` fills with what went wrong. */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1360, height: 860 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => {
    // Being asked to sign in is told by a 401, which the browser logs by itself.
    if (message.type() === 'error' && !/status of 401/.test(message.text())) {
      faults.push(`console: ${message.text()}`);
    }
  });
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const target = new URL(request.url());
    if (/^https?:$/.test(target.protocol) && target.origin !== new URL(url).origin) {
      faults.push(`external request: ${request.url()}`);
    }
  });
  return { page, context, faults };
}

/** Relative luminance contrast of every visible text against what is behind it (WCAG 2). */
export function contrasts() {
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) known.set(colour, painted(colour));
    return known.get(colour);
  };
  const painted = (colour) => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d');
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((v, i) => (i < 3 ? v : v / 255));
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) =>
      v / 255 <= 0.04045 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] + under[i] * (1 - top[3]));
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement)
      layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const weak = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (
      !own ||
      !element.checkVisibility({ opacityProperty: true }) ||
      element.closest('.unseen, :disabled, option, [aria-hidden=true]')
    )
      continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const ink = over(rgba(element instanceof SVGElement ? style.fill : style.color), back);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5)
      weak.push(
        `${ratio.toFixed(2)} ${element.tagName}.${element.className?.baseVal ?? element.className} ${element.textContent.trim().slice(0, 30)}`,
      );
  }
  return [...new Set(weak)];
}
