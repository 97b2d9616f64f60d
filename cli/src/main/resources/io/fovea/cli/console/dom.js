// Creates elements. Texts become text nodes, never markup, so that values of records can't inject any.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) {
      element.addEventListener(name.slice(2), value);
    } else if (typeof value === 'boolean') {
      element.toggleAttribute(name, value);
    } else if (value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat().filter(c => c !== null && c !== undefined));
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function table(head, rows, numeric = []) {
  const side = i => (numeric.includes(i) ? 'num' : '');
  return h('div', { class: 'scroll narrow' }, h('table', {},
    h('thead', {}, h('tr', {}, head.map((c, i) => h('th', { scope: 'col', class: side(i) }, c)))),
    h('tbody', {}, rows.map(r => h('tr', {}, r.map((c, i) => h('td', { class: side(i) }, c)))))));
}

export function tile(name, text) {
  return h('div', { class: 'tile' }, h('b', {}, text), h('span', {}, name));
}

export function facts(pairs) {
  return h('dl', {}, pairs.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

export function error(e) {
  return h('div', { class: 'error', role: 'alert' }, e.message);
}

let timer;

// Shows a message for some seconds, and reads it to users of screen readers.
export function say(text) {
  const status = document.getElementById('status');
  status.textContent = text;
  clearTimeout(timer);
  timer = setTimeout(() => { status.textContent = ''; }, 4000);
}

export function count(n) {
  return n === null || n === undefined ? '?' : Number(n).toLocaleString('en-US');
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) {
    return '?';
  }
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let n = Number(bytes);
  let unit = 0;
  while (Math.abs(n) >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1).replace('.0', '')} ${units[unit]}`;
}

// A time as the clock of this machine shows it: 2026-11-30 14:03:07.
export function time(iso) {
  return new Date(iso).toLocaleString('sv-SE');
}

// The address of a view: its parts are names and keys, which may contain anything.
export function link(...parts) {
  return '#/' + parts.map(encodeURIComponent).join('/');
}
