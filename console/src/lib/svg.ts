// The ladder as an SVG file that stands alone: own colours, own fonts, no style sheet.
import { brief, offset } from './format';
import {
  headPath,
  labelX,
  LANE_PX,
  linePath,
  type Arrow,
  type Class,
  type Lane,
  type Scene,
} from './ladder';
import { codecName, laneTitle, digitText, type Grade } from './media';

export interface Palette {
  paper: string;
  ink: string;
  faint: string;
  line: string;
  band: string;
  accent: string;
  classes: Record<Class, string>;
  grades: Record<Grade, string>;
}

export const LIGHT: Palette = {
  paper: '#ffffff',
  ink: '#15191c',
  faint: '#66717a',
  line: '#d3d9dd',
  band: '#eaf3f6',
  accent: '#0d6479',
  classes: {
    request: '#2457b8',
    provisional: '#5b6670',
    success: '#17744a',
    redirect: '#855c05',
    failure: '#bf3127',
  },
  grades: { good: '#17744a', fair: '#855c05', bad: '#bf3127', unknown: '#5b6670' },
};

const AXIS = 88;
const HEAD = 92;

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** Draws the scene with a title; the text is UTF-8. */
export function draw(scene: Scene, heading: string, palette: Palette = LIGHT): string {
  const media = scene.lanes.length ? scene.lanes.length * LANE_PX + 24 : 0;
  const width = scene.width + AXIS + media;
  const height = scene.height + HEAD;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="Geist, system-ui, sans-serif" font-size="12">`,
    `<title>${escape(heading)}</title>`,
    `<rect width="100%" height="100%" fill="${palette.paper}"/>`,
    `<text x="16" y="26" font-size="14" font-weight="600" fill="${palette.ink}">` +
      `${escape(heading)}</text>`,
    `<g transform="translate(${AXIS} ${HEAD})">`,
    ...frame(scene, palette),
    ...scene.links.map(
      (link) =>
        `<path d="${link.path}" fill="none" stroke="${palette.classes[link.class]}" ` +
        `stroke-opacity=".4" stroke-dasharray="2 3"/>` +
        (link.took_us > 0
          ? `<text x="${link.x}" y="${link.y + 4}" font-size="10.5" text-anchor="middle" ` +
            `fill="${palette.faint}" stroke="${palette.band}" stroke-width="5" ` +
            `paint-order="stroke">${brief(link.took_us)}</text>`
          : ''),
    ),
    ...scene.arrows.map((arrow) => arrowPart(arrow, palette)),
    ...scene.lanes.map((lane) => lanePart(lane, scene.width + 8, palette)),
    ...scene.pills.map((pill) => {
      const wide = pill.event.name.length * 6.4 + 16;
      return (
        `<rect x="${pill.x - wide / 2}" y="${pill.y - 9}" width="${wide}" height="18" rx="9" ` +
        `fill="${palette.paper}" stroke="${palette.accent}"/>` +
        `<text x="${pill.x}" y="${pill.y + 4}" font-size="11" text-anchor="middle" ` +
        `fill="${palette.accent}">${escape(pill.event.name)}</text>`
      );
    }),
    '</g></svg>',
  ];
  return parts.join('\n');
}

function frame(scene: Scene, palette: Palette): string[] {
  const parts: string[] = [];
  if (scene.band) {
    const { x1, x2 } = scene.band;
    parts.push(
      `<rect x="${x1}" y="-46" width="${x2 - x1}" height="${scene.height + 38}" rx="8" ` +
        `fill="${palette.band}"/>`,
    );
  }
  for (const column of scene.columns) {
    const weight = column.host.self ? palette.accent : palette.ink;
    const name = column.host.label || column.host.address;
    const address = name === column.host.address ? '' : column.host.address;
    parts.push(
      `<line x1="${column.x}" x2="${column.x}" y1="0" y2="${scene.height - 12}" ` +
        `stroke="${column.host.self ? palette.accent : palette.line}"/>`,
      `<text x="${column.x}" y="-28" text-anchor="middle" font-weight="600" ` +
        `fill="${weight}">${escape(name)}</text>`,
      `<text x="${column.x}" y="-12" text-anchor="middle" font-size="10.5" ` +
        `fill="${palette.faint}">${escape(address)}</text>`,
    );
  }
  return parts;
}

function arrowPart(arrow: Arrow, palette: Palette): string {
  const colour = palette.classes[arrow.class];
  const dash = arrow.message.retransmission_of === null ? '' : ' stroke-dasharray="5 4"';
  const marks = arrow.marks.length ? ` (${arrow.marks.join(', ')})` : '';
  return (
    `<text x="-12" y="${arrow.y + 4}" text-anchor="end" font-size="11" ` +
    `fill="${palette.faint}">${offset(arrow.since_us)}</text>` +
    `<path d="${linePath(arrow)}" fill="none" stroke="${colour}" stroke-width="1.5"${dash}/>` +
    `<path d="${headPath(arrow)}" fill="${colour}"/>` +
    `<text x="${labelX(arrow)}" y="${arrow.y - 6}" text-anchor="middle" fill="${colour}">` +
    `${escape(arrow.label + marks)}</text>`
  );
}

/** A stream: its bar by the quality of its parts, and what was typed. */
function lanePart(lane: Lane, left: number, palette: Palette): string {
  const x = left + lane.x;
  const bar = (y1: number, y2: number, fill: string, more = '') =>
    `<rect x="${x}" y="${y1.toFixed(1)}" width="8" height="${Math.max(1, y2 - y1).toFixed(1)}" ` +
    `fill="${fill}"${more}/>`;
  const name = codecName(lane.stream.terms.codec);
  return [
    `<text x="${x + 4}" y="-12" text-anchor="middle" font-size="10.5" font-weight="600" ` +
      `fill="${palette.faint}">${laneTitle(lane.stream)}</text>`,
    bar(lane.y1, lane.y2, palette.grades[lane.grade], ' rx="4" fill-opacity=".3"'),
    ...lane.parts.map((part) => bar(part.y1, part.y2, palette.grades[part.grade])),
    ...lane.marks
      .filter(({ mark }) => mark.name === 'DigitTyped')
      .map(
        ({ y, mark }) =>
          `<text x="${x + 11}" y="${(y + 4).toFixed(1)}" font-size="10" ` +
          `fill="${palette.classes.request}">${escape(digitText(mark))}</text>`,
      ),
    `<text x="${x + 4}" y="${(lane.y1 - 6).toFixed(1)}" font-size="9" text-anchor="middle" ` +
      `fill="${palette.faint}">${escape(name)}</text>`,
  ].join('\n');
}
