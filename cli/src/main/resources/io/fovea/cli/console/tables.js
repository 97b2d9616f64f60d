import { h, link, table } from './dom.js';
import { browse } from './browse.js';
import { state } from './main.js';

export function find(name) {
  const found = state.tables.find(t => t.table === name);
  if (!found) {
    throw new Error(`There is no table ${name}.`);
  }
  return found;
}

// #/table/NAME and #/table/NAME/schema
export async function tableView(root, [name, tab = 'records'], signal) {
  const of = find(name);
  const tabs = [['records', 'Records'], ['schema', 'Schema']];
  root.append(
    h('h1', {}, name, h('span', { class: 'badge kind' }, of.kind)),
    h('div', { class: 'tabs', role: 'navigation', 'aria-label': 'Table' }, tabs.map(([id, text]) => h('a', {
      href: id === 'records' ? link('table', name) : link('table', name, id),
      'aria-current': tab === id ? 'page' : null,
    }, text))));
  const panel = h('div');
  root.append(panel);
  if (tab === 'schema') {
    schema(panel, of.schema);
  } else {
    await browse(panel, of, signal);
  }
  return name;
}

function type(f) {
  const size = f.type === 'DECIMAL' ? `(${f.precision}, ${f.scale})` : ['TEXT', 'BYTES'].includes(f.type) ? `(${f.bytes})` : '';
  return (f.variable ? 'VAR' : '') + f.type + size;
}

function schema(root, of) {
  const rows = (fields, part) => fields.map(f => [h('span', { class: part ? 'key' : '' }, f.name), type(f),
    part ? 'key' : f.nullable ? 'nullable' : '']);
  root.append(h('h2', {}, of.row ? 'Fields' : 'Key'),
    table(['Name', 'Type', ''], [...rows(of.key, true), ...rows(of.row ?? [], false)]));
  if (of.objects) {
    root.append(h('h2', {}, 'Objects'), h('pre', { class: 'box' }, of.objects));
  }
  root.append(h('h2', {}, 'Indexes'), of.indexes.length === 0
    ? h('p', { class: 'muted' }, 'The table has no indexes.')
    : table(['Index', 'Key', 'Unique', 'Computed by the application', 'Hints'], of.indexes.map(i => [
      i.index, (i.components ?? i.key.map(f => `${f.name} ${type(f)}`)).join(', '),
      i.unique ? 'yes' : 'no', i.computed ? 'yes' : 'no', String(i.hints)])));
  const more = [['Version', String(of.version)]];
  if (of.expires) {
    const { after, ...by } = of.expires;
    more.push(['Expiry', `${after} after ${Object.entries(by).map(([n, v]) => `${n} ${v}`).join(' ')}`]);
  }
  root.append(h('h2', {}, 'Options'), table(['Option', 'Value'], more));
}
