import { get, newest } from './api.js';
import { count, error, h, size, table } from './dom.js';
import { bar, follow, start } from './jobs.js';

const dark = () => matchMedia('(prefers-color-scheme: dark)').matches;
const FIXED = { free: ['#e2e5ea', '#3a414c'], 'never written': ['#f4f5f7', '#20252c'], superblock: ['#1c2026', '#e3e6eb'], damaged: ['#d00000', '#ff4d4d'] };

// The hue tells the tree, the lightness the type: inner nodes dark, leaves medium, long values pale.
function colors(kinds) {
  const trees = [...new Set(kinds.map(k => k.tree).filter(t => t))];
  return kinds.map(k => {
    if (!k.tree) {
      return (FIXED[k.type] ?? ['#888888', '#888888'])[dark() ? 1 : 0];
    }
    const hue = Math.round(222 + trees.indexOf(k.tree) * 137.5) % 360;
    const light = k.type === 'inner node' ? (dark() ? 78 : 28) : k.type === 'leaf' ? (dark() ? 58 : 55) : (dark() ? 38 : 76);
    return `hsl(${hue} 42% ${light}%)`;
  });
}

export async function pages(root, parts, signal) {
  const now = h('div');
  const problem = h('div');
  const by = h('select', { name: 'by', 'aria-label': 'Colors' }, h('option', { value: 'tree' }, 'Color by table and type'), h('option', { value: 'fill' }, 'Color by fill'));
  const draw = h('button', { type: 'button', name: 'draw', class: 'primary' }, 'Read the pages');
  const controls = h('div', { class: 'actions' }, draw, by);
  const map = h('div');
  root.append(h('h1', {}, 'Page map'),
    h('p', { class: 'muted' }, 'The pages of the data file in order, from left to right and from top to bottom. Changes that are only in the log or in memory are not shown.'),
    controls, problem, now, map);
  let result = null;

  const following = follow('pages', signal, j => {
    if (j.running) {
      now.replaceChildren(bar(j, 'pages', `${count(j.done)} of ${count(j.total)} pages`));
    } else {
      now.replaceChildren(...(j.error ? [error({ message: j.error })] : []));
      if (j.result) {
        result = j.result;
        render();
      }
    }
  });

  function render() {
    const { cells, fills, kinds, pagesPerCell } = result;
    const columns = Math.ceil(Math.sqrt(cells.length * 3));
    // A whole number of pixels, so that the lines are sharp; 42 are the padding and the border.
    const side = Math.max(2, Math.floor((document.getElementById('main').clientWidth - 42) / columns));
    const canvas = h('canvas', { class: 'map', role: 'img', 'aria-label': 'Map of the pages; the table below has the totals', width: columns * side, height: Math.ceil(cells.length / columns) * side });
    const paint = canvas.getContext('2d');
    const of = colors(kinds);
    const fill = n => (n < 0 ? (dark() ? '#2a303a' : '#eceef2') : `hsl(222 60% ${dark() ? 18 + n * 5.5 : 92 - n * 6}%)`);
    cells.forEach((kind, i) => {
      paint.fillStyle = by.value === 'fill' ? fill(fills[i]) : of[kind];
      const gap = side > 5 ? 1 : 0;
      paint.fillRect(i % columns * side, Math.floor(i / columns) * side, side - gap, side - gap);
    });
    const here = h('p', { class: 'muted', role: 'status' },
      `${pagesPerCell === 1 ? 'A cell is a page' : `A cell is ${count(pagesPerCell)} pages`} of ${size(result.pageSize)}. Select a cell to see what its page contains.`);
    const detail = h('div');
    const cellAt = e => Math.floor(e.offsetY * canvas.height / canvas.clientHeight / side) * columns + Math.floor(e.offsetX * canvas.width / canvas.clientWidth / side);
    canvas.addEventListener('mousemove', e => {
      const i = cellAt(e);
      if (i < cells.length) {
        const k = kinds[cells[i]];
        const first = i * pagesPerCell;
        here.textContent = `${pagesPerCell === 1 ? `Page ${count(first)}` : `Pages ${count(first)} to ${count(Math.min(result.pages, first + pagesPerCell) - 1)}`}: ${k.tree ? `${k.tree}, ` : ''}${k.type}${fills[i] >= 0 ? `, about ${fills[i] * 10} % full` : ''}`;
      }
    });
    canvas.addEventListener('click', e => { if (cellAt(e) < cells.length) { page(detail, cellAt(e) * pagesPerCell); } });
    const number = h('input', { name: 'page', type: 'number', min: '0', max: String(result.pages - 1), required: true });
    const swatch = i => { const s = h('span', { class: 'swatch' }); s.style.background = of[i]; return s; };
    map.replaceChildren(h('h2', {}, `${count(result.pages)} pages`), canvas, here,
      h('form', { class: 'bar', onsubmit: e => { e.preventDefault(); page(detail, number.value); } },
        h('label', {}, 'Page number', number), h('button', {}, 'Show')), detail,
      table(['Pages of', 'Type', 'Pages', 'Size', 'Fill'], kinds.map((k, i) => [h('span', {}, swatch(i), k.tree || '-'), k.type, count(k.pages), size(k.pages * result.pageSize),
        k.capacityBytes > 0 ? `${Math.round(100 * k.usedBytes / k.capacityBytes)} %` : '-']), [2, 3, 4]));
  }

  const requested = newest();
  async function page(detail, n) {
    const isNewest = requested();
    let shown;
    try {
      const of = await get('page', { number: n });
      shown = [h('h2', {}, `Page ${n}`), h('pre', { class: 'box' }, JSON.stringify(of, null, 2))];
    } catch (e) {
      shown = [error(e)];
    }
    if (isNewest()) {
      detail.replaceChildren(...shown);
    }
  }

  by.addEventListener('change', () => { if (result) { render(); } });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (result) { render(); } }, { signal });
  draw.addEventListener('click', async () => { if (await start('pages', {}, problem)) { await following.started(); } });
  await following.look();
  return 'Page map';
}
