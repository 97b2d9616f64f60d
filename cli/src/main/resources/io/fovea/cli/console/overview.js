import { count, facts, h, link, size, table, time } from './dom.js';
import { get } from './api.js';
import { state } from './main.js';

export async function overview(root) {
  const info = state.info;
  const { figures } = await get('stats');
  const header = info.header;
  const known = (a, b) => (a === null || b === null ? null : a + b);
  root.append(
    h('h1', {}, 'Overview'),
    h('h2', {}, 'Tables'),
    state.tables.length === 0
      ? h('p', { class: 'muted' }, 'The database has no tables.')
      : table(
        ['Table', 'Contains', 'Records', 'Data', 'Indexes', 'Index entries', 'Index data', 'Total'],
        state.tables.map(t => [
          h('a', { href: link('table', t.table) }, t.table), t.kind, count(t.records), size(t.bytes), count(t.indexes),
          count(t.indexEntries), size(t.indexBytes), size(known(t.bytes, t.indexBytes))]),
        [2, 3, 4, 5, 6, 7]),
    h('div', { class: 'split' },
      h('section', {}, h('h2', {}, 'File'), facts([
        ['File', h('span', { class: 'mono' }, info.file)],
        ['Identity', h('span', { class: 'mono' }, info.id)],
        ['Created', time(header.created)],
        ['Format version', count(header.formatVersion)],
        ['Page size', size(header.pageSize)],
        ['Data file', `${size(figures['storage.bytes'])}, ${size(figures['storage.freeBytes'])} free`],
        ['Log', size(figures['storage.logBytes'])],
      ])),
      h('section', {}, h('h2', {}, 'Open as'), facts([
        ['Access', info.write ? 'read and write' : info.copy ? 'read-only, a copy' : 'read-only'],
        ['Since', time(info.opened)],
        ['Health', h('span', { class: figures.health === 'OK' ? 'good' : 'bad' }, figures.health)],
        ['Protocol', figures.protocol],
        ['Buffer', `${size(figures['buffer.bytes'])} of ${size(figures['buffer.maxBytes'])}`],
        ['Device', figures['io.kind']],
        ['Recovery', figures['recovery.records'] > 0 ? `${count(figures['recovery.records'])} log records` : 'none needed'],
      ]))),
  );
  if (info.sequences.length > 0) {
    root.append(h('h2', {}, 'Sequences'),
      table(['Sequence', 'First', 'Last', 'Step', 'Cached', 'Next'],
        info.sequences.map(s => [s.sequence, `${s.first}`, `${s.last}`, `${s.step}`, `${s.cached}`, `${s.next ?? 'exhausted'}`]),
        [1, 2, 3, 4, 5]));
  }
  root.append(h('h2', {}, 'Options'),
    h('details', {}, h('summary', {}, 'Options with which this console opened the database'), h('pre', { class: 'box' }, info.options)));
  return 'Overview';
}
