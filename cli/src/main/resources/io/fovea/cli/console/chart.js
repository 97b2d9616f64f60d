import { h, svg } from './dom.js';

const WIDTH = 310;
const HEIGHT = 96;
const LEFT = 52;
const BOTTOM = 14;
export const SECONDS = 120;

// A round number not below the largest value: 1, 2 or 5 times a power of ten, in KiB, MiB and so on for bytes.
function ceiling(n, bytes) {
  const unit = bytes ? 1024 ** Math.max(0, Math.floor(Math.log2(n) / 10)) : 1;
  return unit * rounded(n / unit);
}

function rounded(n) {
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 5, 10].map(f => f * power).find(c => c >= n);
}

// A chart of up to two series over the last two minutes. A point is {at: seconds, values: [number or null]}.
export class Chart {
  constructor(title, series, format, { maximum = null, bytes = false } = {}) {
    this.bytes = bytes;
    this.series = series;
    this.format = format;
    this.maximum = maximum;
    this.now = h('span', { class: 'now' });
    this.plot = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': title });
    this.element = h('figure', { class: 'chart' }, h('figcaption', {}, h('span', {}, title), this.now), this.plot);
  }

  draw(points) {
    const end = points.length > 0 ? points.at(-1).at : 0;
    const largest = Math.max(0, ...points.flatMap(p => p.values.filter(v => v !== null)));
    const top = this.maximum ?? (largest > 0 ? ceiling(largest, this.bytes) : this.bytes ? 1024 : 1);
    const x = at => LEFT + (WIDTH - LEFT - 2) * (1 - (end - at) / SECONDS);
    const y = v => 6 + (HEIGHT - BOTTOM - 6) * (1 - v / top);
    const parts = [];
    for (const v of [0, top / 2, top]) {
      parts.push(svg('line', { class: 'grid', x1: LEFT, x2: WIDTH, y1: y(v), y2: y(v) }));
      parts.push(svg('text', { x: LEFT - 5, y: y(v) + 3.5, 'text-anchor': 'end' }, this.format(v)));
    }
    parts.push(svg('text', { x: LEFT, y: HEIGHT - 2 }, `${SECONDS / 60} min ago`));
    parts.push(svg('text', { x: WIDTH - 2, y: HEIGHT - 2, 'text-anchor': 'end' }, 'now'));
    this.series.forEach((name, i) => {
      let path = '';
      let open = false;
      for (const p of points) {
        const v = p.values[i];
        if (v === null) {
          open = false;
        } else {
          path += `${open ? 'L' : 'M'}${x(p.at).toFixed(1)} ${y(v).toFixed(1)}${open ? '' : 'h0'}`; // h0 shows a single point
          open = true;
        }
      }
      if (path) {
        parts.push(svg('path', { class: `s${i}`, d: path }));
      }
      const newest = points.at(-1);
      if (newest && newest.values[i] !== null) {
        parts.push(svg('circle', { class: `d${i}`, cx: x(newest.at), cy: y(newest.values[i]), r: 2.5 }));
      }
    });
    this.plot.replaceChildren(...parts);
    const last = points.at(-1)?.values ?? [];
    this.now.replaceChildren(...this.series.flatMap((name, i) => [
      i > 0 ? ' · ' : '', h('span', { class: `t${i}` }, `${name} ${last[i] === null || last[i] === undefined ? '-' : this.format(last[i])}`)]));
  }
}
